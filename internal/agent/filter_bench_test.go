package agent

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/agent/agenttest"
	"github.com/org/ralph-action/internal/agent/filter"
	"github.com/org/ralph-action/internal/agent/jsonscan"
	"github.com/org/ralph-action/internal/ralph"
)

// FuzzFilter feeds a filter any stream. What is JSON must be read as
// encoding/json reads it, and cutting the stream must not change the words.
func FuzzFilter(f *testing.F) {
	for _, s := range []string{
		`{"a":"b","c":[1,-2.5e+10,true,false,null,{}],"ü":"\u00e4\ud83d\ude00\n"}`,
		`[[[[]]]] `, `"x"`, `12345678901234567890`, `1-2`, `{"a":1,"a":"2"}`, "\xef\xbb\xbf{}", "{\"type\":\"say\",\"text\":\"hi\"}\nno\n\r\n[1",
		filterStream(f, "amp"), filterStream(f, "cline"), filterStream(f, "codex"),
	} {
		f.Add(s, uint8(7))
	}
	code, err := filter.Compile(`., (.. | strings), .text?`)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, stream string, size uint8) {
		if v, ok := jsonscan.Parse([]byte(stream)); json.Valid([]byte(stream)) && depth(stream) < 200 {
			var want any
			d := json.NewDecoder(strings.NewReader(stream))
			d.UseNumber()
			if err := d.Decode(&want); err != nil {
				t.Fatal(err)
			}
			// A lone half of a surrogate pair is read in two ways, both fair.
			if !ok || !reflect.DeepEqual(v, want) && !strings.Contains(strings.ToLower(stream), `\ud`) && !strings.Contains(stream, "\xef\xbf\xbd") && bytes.Equal([]byte(stream), bytes.ToValidUTF8([]byte(stream), nil)) {
				t.Errorf("parseJSON(%q) = %#v, %v, want %#v", stream, v, ok, want)
			}
		}
		known := drivers()
		c := &CLI{o: Options{Name: "text"}, driver: known["text"], filter: code}
		whole, pieces := filterWith(c, "a prompt that is long enough", stream, 0, 0), filterWith(c, "a prompt that is long enough", stream, int(size%32)+1, 0)
		if w, p := strings.Join(whole.Searchable(), "¦"), strings.Join(pieces.Searchable(), "¦"); w != p {
			t.Errorf("words in pieces = %q, want %q", p, w)
		}
		if agenttest.FailureKind(whole.Failure) != agenttest.FailureKind(pieces.Failure) {
			t.Errorf("failure in pieces = %v, want %v", pieces.Failure, whole.Failure)
		}
	})
}

// depth is at least how deep the brackets nest.
func depth(s string) int { return strings.Count(s, "[") + strings.Count(s, "{") }

// BenchmarkFilter filters 100 MB of stream-json with lines of one megabyte,
// beside the decoder of the stream.
func BenchmarkFilter(b *testing.B) {
	benchmarkFilter(b, agenttest.BigStream(100<<20))
}

// BenchmarkFilterSmall filters lines as short as most are.
func BenchmarkFilterSmall(b *testing.B) {
	benchmarkFilter(b, []byte(strings.Repeat(agenttest.Transcript(b, "success_tool"), 1000)))
}

func benchmarkFilter(b *testing.B, stream []byte) {
	c := newFilter(b, "claude", claudeFilter)
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		texts := 0
		d := c.newDecoder(ralph.Prompt{}, func(e ralph.Event) {
			if e.Kind == ralph.EventText {
				texts++
			}
		}, func() {})
		for rest := stream; len(rest) > 0; {
			n := min(len(rest), 64<<10)
			d.Stdout(rest[:n])
			rest = rest[n:]
		}
		d.Close()
		if texts < 50 || d.Failure(0) != nil {
			b.Fatalf("%d texts, failure %v", texts, d.Failure(0))
		}
	}
}

func mustCompile(t testing.TB, expr string) *filter.Code {
	t.Helper()
	code, err := filter.Compile(expr)
	if err != nil {
		t.Fatal(err)
	}
	return code
}
