package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
)

// ending is an entry of testdata/NAME/index.json: what a parser should find in
// each transcript, worked out apart from this package.
type ending struct {
	Case         string
	ExitCode     *int     `json:"exit_code"`
	NotJSON      int      `json:"not_json"`
	SessionIDs   []string `json:"session_ids"`
	MainTextLast string   `json:"main_text_last"`
	Marker       bool     `json:"marker_in_main_text"`
	Ends         []struct {
		Status string
		Usage  map[string]float64
	}
}

// each decodes every transcript of an agent, whole and in small pieces, and
// compares it with the index.
func each(t *testing.T, name string, decode func(stream string, size, exit int) decoded, failures map[string]ralph.FailureKind, more func(t *testing.T, got decoded, want ending)) {
	b, err := os.ReadFile(filepath.Join("testdata", name, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []ending
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("no transcripts")
	}
	for _, want := range all {
		t.Run(want.Case, func(t *testing.T) {
			t.Parallel()
			stream := recording(t, name, want.Case)
			exit := 137
			if want.ExitCode != nil {
				exit = *want.ExitCode
			}
			got := decode(stream, 0, exit)
			for _, size := range []int{1, 7} {
				if small := decode(stream, size, exit); small.render() != got.render() {
					t.Errorf("decode in pieces of %d bytes = %s, want %s", size, small.render(), got.render())
				}
			}
			if got.turn.Malformed != want.NotJSON || got.turn.Unknown != 0 {
				t.Errorf("Malformed, Unknown = %d, %d, want %d, 0", got.turn.Malformed, got.turn.Unknown, want.NotJSON)
			}
			if g := got.says(marker); g != want.Marker {
				t.Errorf("marker in the agent's own text = %v, want %v", g, want.Marker)
			}
			if n := len(want.SessionIDs); n > 0 && got.turn.Session != want.SessionIDs[n-1] {
				t.Errorf("Session = %q, want %q", got.turn.Session, want.SessionIDs[n-1])
			}
			if got.turn.FinalText != want.MainTextLast {
				t.Errorf("FinalText = %q, want %q", got.turn.FinalText, want.MainTextLast)
			}
			wantKind := "none"
			if k, ok := failures[want.Case]; ok {
				wantKind = k.String()
			}
			if g := kind(got.failure); g != wantKind {
				t.Errorf("Failure(%d) = %s (%+v), want %s", exit, g, got.failure, wantKind)
			}
			if got.failure != nil && got.failure.Message == "" {
				t.Errorf("Failure(%d).Message is empty", exit)
			}
			for _, e := range got.events {
				if e.Kind == ralph.EventToolEnd && e.Tool == "" {
					t.Errorf("tool end %q has no start", e.ToolID)
				}
			}
			more(t, got, want)
		})
	}
}

func recording(t testing.TB, name, which string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name, which+".ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// decodeWith feeds a stream to a new decoder in pieces of size bytes; 0 is all
// at once.
func decodeWith(stream string, size, exit int, newDecoder func(emit func(ralph.Event), finished func()) decoder) decoded {
	var got decoded
	d := newDecoder(func(e ralph.Event) { got.events = append(got.events, e) }, func() { got.finished++ })
	feed(d, stream, size)
	got.turn, got.failure, got.done = d.Turn(), d.Failure(exit), d.Done()
	return got
}

func decodeCodex(stream string, size, exit int) decoded {
	return decodeWith(stream, size, exit, func(emit func(ralph.Event), finished func()) decoder { return newCodexDecoder(emit, finished) })
}

// 001-42, 001-39, 000-21, 000-27
func TestCodexTranscripts(t *testing.T) {
	t.Parallel()
	each(t, "codex", decodeCodex, map[string]ralph.FailureKind{
		"api_400":                 ralph.FailureRequest,
		"api_401":                 ralph.FailureAuth,
		"api_403":                 ralph.FailureAuth,
		"api_404":                 ralph.FailureAPI,
		"api_429":                 ralph.FailureAPI,
		"api_429_quota":           ralph.FailureQuota,
		"api_429_usage_limit":     ralph.FailureQuota,
		"api_500":                 ralph.FailureAPI,
		"api_500_after_tool":      ralph.FailureAPI,
		"api_503":                 ralph.FailureAPI,
		"api_refused":             ralph.FailureCrash,
		"bad_config":              ralph.FailureCrash,
		"bad_flag":                ralph.FailureCrash,
		"empty_answer":            ralph.FailureEmpty,
		"full_auto":               ralph.FailureCrash,
		"no_git_readonly":         ralph.FailureCrash,
		"no_key":                  ralph.FailureAuth,
		"no_prompt":               ralph.FailureCrash,
		"resume_missing":          ralph.FailureCrash,
		"sigint_tool":             ralph.FailureCrash,
		"sigkill_group":           ralph.FailureCrash,
		"sigkill_tool":            ralph.FailureCrash,
		"sigterm_tool":            ralph.FailureCrash,
		"slow_429_long":           ralph.FailureCrash,
		"slow_api_500_default":    ralph.FailureAPI,
		"slow_refused_default":    ralph.FailureCrash,
		"slow_stream_cut_default": ralph.FailureAPI,
		"stream_cut":              ralph.FailureAPI,
		"stream_failed_context":   ralph.FailureRequest,
		"stream_failed_event":     ralph.FailureAPI,
		"stream_failed_quota":     ralph.FailureQuota,
	}, func(t *testing.T, got decoded, want ending) {
		var tokens ralph.Tokens
		tokens.Unknown = true
		for _, end := range want.Ends {
			if u := end.Usage; u != nil {
				tokens = ralph.Tokens{
					Input:     int64(u["input_tokens"] - u["cached_input_tokens"] - u["cache_write_input_tokens"]),
					CacheRead: int64(u["cached_input_tokens"]), CacheWrite: int64(u["cache_write_input_tokens"]),
					Output: int64(u["output_tokens"]),
				}
			}
		}
		if wantUsage := (ralph.Usage{Cost: ralph.Cost{Unknown: true}, Tokens: tokens}); got.turn.Usage != wantUsage {
			t.Errorf("Usage = %+v, want %+v", got.turn.Usage, wantUsage)
		}
		if got.done != (len(want.Ends) > 0) || got.finished != len(want.Ends) {
			t.Errorf("Done, finished = %v, %d, want %d ends", got.done, got.finished, len(want.Ends))
		}
	})
}

// golden compares the events of recordings, one by one.
func golden(t *testing.T, name string, decode func(stream string, size, exit int) decoded, which ...string) {
	for _, which := range which {
		t.Run(which, func(t *testing.T) {
			t.Parallel()
			got := decode(recording(t, name, which), 0, 0)
			for i := range got.events {
				got.events[i].Text = clip(got.events[i].Text, 300)
			}
			path := filepath.Join("testdata", name, which+".golden")
			if *update {
				if err := os.WriteFile(path, []byte(got.render()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got.render() != string(want) {
				t.Errorf("events of %s =\n%s\nwant\n%s", which, got.render(), want)
			}
		})
	}
}

// 001-38, 001-42
func TestCodexEvents(t *testing.T) {
	t.Parallel()
	golden(t, "codex", decodeCodex, "success_tool", "todo", "file_change", "mcp", "web_search", "subagent", "tool_error", "thinking_marker", "two_final_texts", "background_left", "stream_cut_once", "unicode")
}

func TestCodexLines(t *testing.T) {
	t.Parallel()
	const answer = `{"type":"item.completed","item":{"id":"a","type":"agent_message","text":"<promise>COMPLETE</promise>"}}` + "\n"
	const end = `{"type":"turn.completed","usage":{"input_tokens":10,"cached_input_tokens":4,"output_tokens":3}}` + "\n"
	for _, tt := range []struct {
		name, stream       string
		malformed, unknown int
		says               bool
		tools, toolErrors  int
		failure            string
	}{
		{name: "keys in another order, a byte order mark", stream: "\xef\xbb\xbf" + `{"item":{"text":"<promise>COMPLETE</promise>","type":"agent_message"},"type":"item.completed"}` + "\r\n" + end, says: true, failure: "none"},
		{name: "a line that is no JSON", stream: "Reading prompt from stdin...\n" + answer + end, malformed: 1, says: true, failure: "none"},
		{name: "a kind of the future", stream: `{"type":"thread.renamed"}` + "\n" + answer + end, unknown: 1, says: true, failure: "none"},
		{name: "an item of the future with the marker", stream: `{"type":"item.completed","item":{"type":"plan","text":"<promise>COMPLETE</promise>"}}` + "\n" + end, unknown: 1, failure: "empty-answer"},
		{name: "the last line breaks off", stream: answer[:len(answer)-4], malformed: 1, failure: "malformed"},
		{name: "a command breaks off", stream: `{"type":"item.completed","item":{"id":"c","type":"command_execution","command":"ls","aggregated_output":"<promise>COMPLETE`, malformed: 1, tools: 1, failure: "malformed"},
		{name: "an answer that only began", stream: strings.Replace(answer, "completed", "started", 1) + end, failure: "empty-answer"},
		{name: "a command without a beginning", stream: `{"type":"item.completed","item":{"id":"c","type":"command_execution","command":"ls","aggregated_output":"x","exit_code":2}}` + "\n" + end, tools: 1, toolErrors: 1, failure: "none"},
		{name: "the seed's own lines", stream: `{"type": "thread.started", "thread_id": "t"}` + "\n" + `{"type": "item.started", "item": {"id": "c", "type": "command_execution", "command": "ls"}}` + "\n" +
			`{"type": "item.completed", "item": {"id": "c", "type": "command_execution", "aggregated_output": "x", "exit_code": 0}}` + "\n" + answer + end, says: true, tools: 1, failure: "none"},
	} {
		got := decodeCodex(tt.stream, 0, 0)
		if got.turn.Malformed != tt.malformed || got.turn.Unknown != tt.unknown || got.turn.Tools != tt.tools || got.turn.ToolErrors != tt.toolErrors {
			t.Errorf("%s: Malformed, Unknown, Tools, ToolErrors = %d, %d, %d, %d, want %d, %d, %d, %d", tt.name,
				got.turn.Malformed, got.turn.Unknown, got.turn.Tools, got.turn.ToolErrors, tt.malformed, tt.unknown, tt.tools, tt.toolErrors)
		}
		if got.says(marker) != tt.says || kind(got.failure) != tt.failure {
			t.Errorf("%s: says = %v, Failure(0) = %+v, want %v, %s", tt.name, got.says(marker), got.failure, tt.says, tt.failure)
		}
	}
}

// Markers that come in pieces of one message are found, in the memory of one
// line.
func TestCodexLongText(t *testing.T) {
	t.Parallel()
	stream := `{"type":"item.completed","item":{"id":"a","type":"agent_message","text":"` + strings.Repeat("x", 3*maxText-5) + marker + `"}}` + "\n"
	got := decodeCodex(stream, 4096, 0)
	if !got.says(marker) || len(got.events) < 3 {
		t.Errorf("%d events, marker found = %v, want it over several", len(got.events), got.says(marker))
	}
	for _, e := range got.events {
		if len(e.Text) > maxText {
			t.Errorf("an event of %d bytes, want at most %d", len(e.Text), maxText)
		}
	}
}

// What the decoders keep does not grow with the stream. This test is not
// parallel: it measures the heap.
func TestMemoryIsFlat(t *testing.T) {
	big := quote(strings.Repeat("all work and no play\n", 50<<10)) // 1 MiB
	for name, tt := range map[string]struct {
		d     decoder
		lines string
	}{
		"codex": {newCodexDecoder(func(ralph.Event) {}, func() {}), `{"type":"item.completed","item":{"id":"a","type":"agent_message","text":` + big + `}}` + "\n" +
			`{"type":"item.completed","item":{"id":"b","type":"command_execution","command":"x","aggregated_output":` + big + `,"exit_code":0}}` + "\n"},
		"cline": {newClineDecoder("p", func(ralph.Event) {}, func() {}), `{"type":"agent_event","event":{"type":"content_start","contentType":"text","text":` + big + `}}` + "\n" +
			`{"type":"agent_event","event":{"type":"content_end","contentType":"tool","toolCallId":"b","output":[{"result":` + big + `,"success":true}]}}` + "\n"},
	} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for range 32 { // 64 MiB
			for chunk := range slices.Chunk([]byte(tt.lines), 64<<10) {
				tt.d.Stdout(chunk)
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 6<<20 {
			t.Errorf("%s: the decoder keeps %d bytes after 64 MiB, want at most 6 MiB", name, kept)
		}
		runtime.KeepAlive(tt.d)
	}
}

func fuzzDecoder(f *testing.F, names []string, newDecoder func(emit func(ralph.Event)) decoder) {
	for _, name := range names {
		files, err := filepath.Glob(filepath.Join("testdata", name, "*.ndjson"))
		if err != nil {
			f.Fatal(err)
		}
		for i, path := range files {
			if b, err := os.ReadFile(path); err == nil && len(b) < 8<<10 {
				f.Add(b, uint8(i))
			}
		}
	}
	f.Fuzz(func(t *testing.T, stream []byte, size uint8) {
		var events []ralph.Event
		d := newDecoder(func(e ralph.Event) { events = append(events, e) })
		for chunk := range slices.Chunk(stream, int(size)+1) {
			d.Stdout(chunk)
		}
		d.Close()
		turn := d.Turn()
		u := turn.Usage
		if u.Cost.Amount < 0 || u.Tokens.Input < 0 || u.Tokens.Output < 0 || u.Tokens.CacheRead < 0 || turn.ToolErrors > max(turn.Tools, len(events)) {
			t.Errorf("Turn() = %+v", turn)
		}
		kept := slices.DeleteFunc(slices.Clone(events), func(e ralph.Event) bool { return e.Kind != ralph.EventKept })
		if turn.Kept != len(kept) {
			t.Errorf("Kept = %d, with %d events", turn.Kept, len(kept))
		}
		for _, e := range events {
			if len(e.Text) > maxText || strings.ToValidUTF8(e.Text, "") != e.Text || len(e.Tool) > 8*maxName || len(e.Todos) > maxOpen {
				t.Errorf("event %+v is not bounded or not valid", e)
			}
		}
		if f := d.Failure(0); f != nil && f.Kind == 0 {
			t.Error("a failure without a kind")
		}
	})
}

func FuzzCodex(f *testing.F) {
	fuzzDecoder(f, []string{"codex"}, func(emit func(ralph.Event)) decoder { return newCodexDecoder(emit, func() {}) })
}
