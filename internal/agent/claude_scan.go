package agent

// envelope is what the decoder needs of one line.
type envelope struct {
	kind, subtype, session, parent, err, toolResult, replay, synthetic []byte

	id, model []byte // of the message
	usage     []byte // of the message, when it began
	content   []byte // of the message, when it is no list
	blocks    []block
}

// block is one content block of a message.
type block struct {
	kind, text, id, name, input, content, isErr []byte
}

// scan reads a line in one go, because the big things stand deep inside.
func (e *envelope) scan(s *scanner) {
	s.object(func(key []byte) {
		switch string(key) {
		case "type":
			e.kind = s.value()
		case "subtype":
			e.subtype = s.value()
		case "session_id":
			e.session = s.value()
		case "parent_tool_use_id":
			e.parent = s.value()
		case "error":
			e.err = s.value()
		case "tool_use_result":
			e.toolResult = s.value()
		case "isReplay":
			e.replay = s.value()
		case "isSynthetic":
			e.synthetic = s.value()
		case "message":
			e.id, e.model, e.usage, e.content, e.blocks = nil, nil, nil, nil, e.blocks[:0]
			if s.at('{') {
				e.scanMessage(s)
				return
			}
			s.value()
		default:
			s.value()
		}
	})
}

func (e *envelope) scanMessage(s *scanner) {
	s.object(func(key []byte) {
		switch string(key) {
		case "id":
			e.id = s.value()
		case "model":
			e.model = s.value()
		case "usage":
			e.usage = s.value()
		case "content":
			if s.at('"') {
				e.content, e.blocks = s.value(), e.blocks[:0]
				return
			}
			e.content, e.blocks = nil, scanBlocks(s, e.blocks[:0])
		default:
			s.value()
		}
	})
}

// scanBlocks appends the blocks of the content that follows, which may be a
// plain string instead: then there are none.
func scanBlocks(s *scanner, blocks []block) []block {
	if !s.at('[') {
		s.value()
		return blocks
	}
	s.array(func() {
		if !s.at('{') {
			s.value()
			return
		}
		var b block
		s.object(func(key []byte) {
			value := s.value()
			switch string(key) {
			case "type":
				b.kind = value
			case "text":
				b.text = value
			case "id", "tool_use_id":
				b.id = value
			case "name":
				b.name = value
			case "input":
				b.input = value
			case "content":
				b.content = value
			case "is_error":
				b.isErr = value
			}
		})
		if len(blocks) < maxBlocks {
			blocks = append(blocks, b)
		}
	})
	return blocks
}
