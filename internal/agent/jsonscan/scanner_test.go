package jsonscan

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestStr(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{`"plain"`, "plain"},
		{`"a\nb\tc\r\b\f\/\\\""`, "a\nb\tc\r\b\f/\\\""},
		{`"\u00e9\u65e5"`, "é日"},
		{`"\ud83d\ude00"`, "😀"},
		{`"\ud83d"`, "\uFFFD"},
		{`"\ud83dx"`, "\uFFFDx"},
		{`"\ud83d\u0041"`, "\uFFFDA"},
		{`"\q"`, "\uFFFD"},
		{`"\u12"`, "\uFFFD12"},
		{"\"\xff\xfe\"", "\uFFFD"},
		{`"ends in a backslash \\"`, `ends in a backslash \`},
		{`"broken off`, "broken off"},
		{`"broken off \"`, `broken off "`},
		{`"broken off \`, "broken off \uFFFD"},
		{`"`, ""},
		{`12`, ""},
		{`null`, ""},
		{``, ""},
	} {
		if got := String([]byte(tt.in), 100); got != tt.want {
			t.Errorf("str(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
	if got, want := String([]byte(`"ä\nö\ud83d\ude00ü"`), 8), "ä\nö"; got != want {
		t.Errorf("str with limit 8 = %q, want %q", got, want)
	}
}

func TestMembers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in, want string // want: the members; "!" when the value is bad
	}{
		{"empty", `{}`, ``},
		{"spaces and CRLF", " { \"a\" : 1 ,\t\"b\" : [ 1 , 2 ] } \r", `a=1 b=[ 1 , 2 ]`},
		{"nested quotes", `{"a":"}\"{","b":{"c":"]"}}`, `a="}\"{" b={"c":"]"}`},
		{"literals", `{"a":true,"b":false,"c":null,"d":-1.5e+3}`, `a=true b=false c=null d=-1.5e+3`},
		{"missing colon", `{"a" 1}`, `!`},
		{"missing comma", `{"a":1 "b":2}`, `a=1 !`},
		{"broken inside", `{"a":{"b" 1},"c":2}`, `a={"b" 1},"c":2} !`},
		{"trailing comma", `{"a":1,}`, `a=1 !`},
		{"trailing garbage", `{"a":1} x`, `a=1 !`},
		{"two objects", `{"a":1}{"b":2}`, `a=1 !`},
		{"no object", `[1]`, `!`},
		{"text", `Error: x`, `!`},
		{"nothing", ``, `!`},
		{"cut in a string", `{"a":1,"b":"xy`, `a=1 b="xy !`},
		{"cut in a key", `{"a":1,"b`, `a=1 !`},
		{"cut behind a colon", `{"a":`, `!`},
		{"cut in nesting", `{"a":{"b":[1,`, `a={"b":[1, !`},
		{"bare word", `{"a":nope}`, `a=nope} !`},
		{"too deep", `{"a":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}`, "!"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			whole := Members([]byte(tt.in), func(key, value []byte) {
				got = append(got, string(key)+"="+string(value))
			})
			if !whole {
				got = append(got, "!")
			}
			joined := strings.Join(got, " ")
			if tt.name == "too deep" {
				joined = joined[len(joined)-1:]
			}
			if joined != tt.want {
				t.Errorf("members(%s) = %s, want %s", tt.in, joined, tt.want)
			}
		})
	}
}

// FuzzJSON compares the scanner with encoding/json: what that accepts as an
// object must be walked to the end, with the same members and strings.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{`{"a":"b\u00e9\ud83d\ude00","c":[1,{"d":null}]}`, `{"a":"\\"}`, `{"":""}`, `{"a":"\"`, "{\"a\":\"\xff\"}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		got := map[string]string{}
		whole := Members(in, func(key, value []byte) {
			s := String(value, len(in)*4)
			if !utf8.ValidString(s) {
				t.Errorf("str(%q) = %q, want valid UTF-8", value, s)
			}
			raw, _ := Inner(value)
			if n := utf8.RuneCountInString(s); n > len(raw) {
				t.Errorf("str(%q) has %d characters, want at most %d", value, n, len(raw))
			}
			got[Plain(key, len(in)*4)] = s
		})
		var want map[string]json.RawMessage
		if json.Unmarshal(in, &want) != nil || want == nil {
			return
		}
		if !whole {
			t.Fatalf("members(%q) = false, want what encoding/json accepts", in)
		}
		for key, raw := range want {
			var s string
			if json.Unmarshal(raw, &s) != nil || !utf8.Valid(in) || !utf8.ValidString(key) {
				continue
			}
			if got[key] != s {
				t.Errorf("members(%q)[%q] = %q, want %q", in, key, got[key], s)
			}
		}
	})
}
