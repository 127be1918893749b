package text

import (
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/agent/agenttest"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/ralph"
)

func decodeText(o driver.Options, prompt, stream string, size, exit int) agenttest.Decoded {
	var got agenttest.Decoded
	d := Driver{}.Decoder(o, ralph.Prompt{Text: prompt}, func(e ralph.Event) { got.Events = append(got.Events, e) }, nil)
	agenttest.Feed(d, stream, size)
	got.Turn, got.Failure = d.Turn(), d.Failure(exit)
	return got
}

const echoPrompt = "Fix the tests.\nWhen all is done, answer <promise>COMPLETE</promise>.\n"

// 000-27, 000-28
func TestTextEcho(t *testing.T) {
	t.Parallel()
	trimmed := strings.TrimSpace(echoPrompt)
	for _, tt := range []struct {
		name, out  string
		own, echo  string
		wantMarker bool
	}{
		{"no echo", "working\n<promise>COMPLETE</promise>\n", "working\n<promise>COMPLETE</promise>\n", "", true},
		{"echo only", echoPrompt, "\n", trimmed, false},
		{"echo then work", "> " + echoPrompt + "not yet\n", "> \nnot yet\n", trimmed, false},
		{"echo then marker", echoPrompt + "<promise>COMPLETE</promise>\n", "\n<promise>COMPLETE</promise>\n", trimmed, true},
		{"echo with CRLF", strings.ReplaceAll(echoPrompt, "\n", "\r\n") + "no\r\n", "\r\nno\r\n", trimmed, false},
		{"only one copy", echoPrompt + echoPrompt, "\n" + echoPrompt, trimmed, true},
		{"false start", "Fix the teFix the tests.\nWhen I am " + echoPrompt, "Fix the teFix the tests.\nWhen I am \n", trimmed, false},
		{"half an echo at the end", "Fix the tests.\nWhen", "Fix the tests.\nWhen", "", false},
		{"the marker is not made by taking out the echo", "<promise>COMP" + trimmed + "LETE</promise>", "<promise>COMPLETE</promise>", trimmed, false},
		{"no line end", "done <promise>COMPLETE</promise>", "done <promise>COMPLETE</promise>", "", true},
	} {
		for _, size := range []int{0, 1, 3} {
			got := decodeText(driver.Options{}, echoPrompt, tt.out, size, 0)
			if own := got.Words(false); own != tt.own {
				t.Errorf("%s, size %d: own words = %q, want %q", tt.name, size, own, tt.own)
			}
			if echo := got.Words(true); echo != tt.echo {
				t.Errorf("%s, size %d: echo = %q, want %q", tt.name, size, echo, tt.echo)
			}
			if g := got.Says(agenttest.Marker); g != tt.wantMarker {
				t.Errorf("%s, size %d: marker found = %v, want %v", tt.name, size, g, tt.wantMarker)
			}
		}
	}
	if got := decodeText(driver.Options{TextScanFull: true}, echoPrompt, echoPrompt, 0, 0); !got.Says(agenttest.Marker) {
		t.Error("TextScanFull: the marker in the echo is not found, want found")
	}
	if got := decodeText(driver.Options{}, "be brief", "be brief\n", 0, 0); got.Words(true) != "" {
		t.Errorf("a prompt of 8 characters: echo = %q, want none", got.Words(true))
	}
}

// A prompt that repeats itself makes the search fall back again and again.
func TestTextEchoOfRepeatingPrompt(t *testing.T) {
	t.Parallel()
	prompt := strings.Repeat("ab", 40) + "c"
	out := strings.Repeat("ab", 43) + "c" + "tail"
	for _, size := range []int{0, 1} {
		got := decodeText(driver.Options{}, prompt, out, size, 0)
		if got.Words(false) != "abababtail" || got.Words(true) != prompt {
			t.Errorf("size %d: own words, echo = %q, %q, want %q, %q", size, got.Words(false), got.Words(true), "abababtail", prompt)
		}
	}
}

func TestTextEchoOfHugePrompt(t *testing.T) {
	t.Parallel()
	prompt := strings.Repeat("All work and no play makes Jack a dull boy. "+agenttest.Marker+"\n", 5<<20/72)
	got := decodeText(driver.Options{}, prompt, prompt+"No.\n", 32<<10, 0)
	if got.Says(agenttest.Marker) || !strings.Contains(got.Words(false), "No.") {
		t.Errorf("5 MB prompt echoed: own words = %q, want %q", driver.Clip(got.Words(false), 200), "No.")
	}
	for _, e := range got.Events {
		if len(e.Text) > driver.MaxText {
			t.Fatalf("an event holds %d bytes, want at most %d", len(e.Text), driver.MaxText)
		}
	}
}

// FuzzEcho checks that own words and echo together are what came, in order,
// and that the first copy of the prompt is found however the stream is split.
func FuzzEcho(f *testing.F) {
	f.Add("abcabcabcabcabcabd", "abcabcabcabcabcabcabcabdx", 3)
	f.Add("aaaaaaaaaaaaaaaaab", "aaaaaaaaaaaaaaaaaaaaaaab", 1)
	f.Fuzz(func(t *testing.T, prompt, out string, size int) {
		e := newEcho(prompt)
		if e == nil || strings.Contains(out, "\r") {
			return
		}
		var all, echoed strings.Builder
		take := func(p []byte, isEcho bool) {
			all.Write(p)
			if isEcho {
				echoed.Write(p)
			}
		}
		for rest := out; len(rest) > 0; {
			n := min(max(1, size), len(rest))
			e.feed([]byte(rest[:n]), take)
			rest = rest[n:]
		}
		e.close(take)
		if all.String() != out {
			t.Errorf("feed(%q) passed on %q", out, all.String())
		}
		want := ""
		if strings.Contains(out, string(e.prompt)) {
			want = string(e.prompt)
		}
		if echoed.String() != want {
			t.Errorf("feed(%q) with prompt %q: echo = %q, want %q", out, prompt, echoed.String(), want)
		}
	})
}

func TestTextDecoder(t *testing.T) {
	t.Parallel()
	got := decodeText(driver.Options{}, echoPrompt, "one\ntwo\nthree", 0, 0)
	if len(got.Events) != 2 || got.Events[0].Text != "one\ntwo\n" || got.Events[1].Text != "three" {
		t.Errorf("events = %q, want whole lines, then the rest", got.Render())
	}
	if got.Turn.FinalText != "one\ntwo\nthree" || got.Turn.CountsTools || !got.Turn.Usage.Cost.Unknown || !got.Turn.Usage.Tokens.Unknown {
		t.Errorf("Turn = %+v, want the text, no count of tools, unknown usage", got.Turn)
	}
	for _, tt := range []struct {
		name, out string
		exit      int
		want      string
	}{
		{"well", "done\n", 0, "none"},
		{"nothing", "", 0, "empty-answer"},
		{"white space", " \n\t\n", 0, "empty-answer"},
		{"the echo only", echoPrompt, 0, "empty-answer"},
		{"exit code", "no such model\n", 3, "crash"},
		{"signal", "", -1, "crash"},
	} {
		if got := decodeText(driver.Options{}, echoPrompt, tt.out, 0, tt.exit); agenttest.FailureKind(got.Failure) != tt.want {
			t.Errorf("%s: Failure(%d) = %s, want %s", tt.name, tt.exit, agenttest.FailureKind(got.Failure), tt.want)
		}
	}
}

func TestTextLongLine(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("größer ", 100<<10) + agenttest.Marker
	got := decodeText(driver.Options{}, echoPrompt, long, 4<<10, 0)
	if !got.Says(agenttest.Marker) || got.Words(false) != long {
		t.Error("a line of 800 KiB is not passed on whole")
	}
	for _, e := range got.Events {
		if len(e.Text) > driver.MaxText || strings.Contains(e.Text, "\uFFFD") {
			t.Fatalf("an event of %d bytes splits a character or is longer than %d", len(e.Text), driver.MaxText)
		}
	}
	if n := len(got.Turn.FinalText); n > driver.MaxText || !strings.HasSuffix(got.Turn.FinalText, agenttest.Marker) {
		t.Errorf("FinalText has %d bytes, want the last %d at most", n, driver.MaxText)
	}
}
