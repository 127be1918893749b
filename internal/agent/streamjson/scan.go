package streamjson

import (
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/agent/jsonscan"
)

// envelope is what the decoder needs of one line.
type envelope struct {
	kind, subtype, session, parent, err, toolResult, replay, synthetic []byte

	id, model []byte // of the message
	usage     []byte // of the message, when it began
	content   []byte // of the message, when it is no list
	blocks    []driver.Block
}

// scan reads a line in one go, because the big things stand deep inside.
func (e *envelope) scan(s *jsonscan.Scanner) {
	s.Object(func(key []byte) {
		switch string(key) {
		case "type":
			e.kind = s.Value()
		case "subtype":
			e.subtype = s.Value()
		case "session_id":
			e.session = s.Value()
		case "parent_tool_use_id":
			e.parent = s.Value()
		case "error":
			e.err = s.Value()
		case "tool_use_result":
			e.toolResult = s.Value()
		case "isReplay":
			e.replay = s.Value()
		case "isSynthetic":
			e.synthetic = s.Value()
		case "message":
			e.id, e.model, e.usage, e.content, e.blocks = nil, nil, nil, nil, e.blocks[:0]
			if s.At('{') {
				e.scanMessage(s)
				return
			}
			s.Value()
		default:
			s.Value()
		}
	})
}

func (e *envelope) scanMessage(s *jsonscan.Scanner) {
	s.Object(func(key []byte) {
		switch string(key) {
		case "id":
			e.id = s.Value()
		case "model":
			e.model = s.Value()
		case "usage":
			e.usage = s.Value()
		case "content":
			if s.At('"') {
				e.content, e.blocks = s.Value(), e.blocks[:0]
				return
			}
			e.content, e.blocks = nil, driver.ScanBlocks(s, e.blocks[:0])
		default:
			s.Value()
		}
	})
}
