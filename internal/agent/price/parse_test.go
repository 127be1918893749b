package price_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/agent/price"
	"github.com/org/ralph-action/internal/ralph"
)

func TestParseProblems(t *testing.T) {
	t.Parallel()
	one := func(fields string) string { return `{"models": {"m": {` + fields + `}}}` }
	for _, c := range []struct{ name, text, want string }{
		{"empty", ``, "the table of prices is no JSON: line 1: unexpected end of JSON input"},
		{"broken", "{\n\"models\": {]}\n}", "the table of prices is no JSON: line 2: invalid character ']' looking for beginning of object key string"},
		{"two documents", `{} {}`, "the table of prices is no JSON: line 1: invalid character '{' after top-level value"},
		{"no object", `[]`, `a table of prices is an object with "models"`},
		{"no models", `{"date": "2026-01-02"}`, `a table of prices is an object with "models"`},
		{"models are a list", `{"models": []}`, "models: write an object with a model's name before its prices"},
		{"a model is a number", `{"models": {"m": 3}}`, `m: write an object with "input" and "output"`},
		{"a date that is none", `{"date": "2026-02-30", "models": {}}`, `date: "2026-02-30" is no day; write it as 2026-12-31`},
		{"source", `{"source": {}, "models": {}}`, "source: write a list of texts"},
		{"unknown key of the table", `{"modells": {}, "models": {}}`, `unknown key modells (one of date, source, models)`},
		{"unknown key of a model", one(`"input": 1000000, "output": 1000000, "cache_read": 5`), `m: unknown key cache_read (one of input, output, cacheRead, cacheWrite, above, aliases, then)`},
		{"unknown key near nothing", one(`"input": 1000000, "output": 1000000, "reasoning": 5`), "m: unknown key reasoning (one of input, output, cacheRead, cacheWrite, above, aliases, then)"},
		{"nothing given", one(``), "m: input is missing: whole micro-dollars per million tokens, 1250000 for $1.25\nm: output is missing: whole micro-dollars per million tokens, 1250000 for $1.25"},
		{"dollars", one(`"input": 1.25, "output": 10`), "m.input: 1.25 is taken for dollars: write $1.25 as 1250000, in whole micro-dollars per million tokens\nm.output: 10 is taken for dollars: write $10 as 10000000, in whole micro-dollars per million tokens"},
		{"a fraction", one(`"input": 1250000.5, "output": 1e7`), "m.input: 1250000.5 is not written as a whole number: amounts are whole micro-dollars per million tokens, 1250000 for $1.25\nm.output: 1e7 is not written as a whole number: amounts are whole micro-dollars per million tokens, 1250000 for $1.25"},
		{"negative", one(`"input": -1, "output": 1000000`), "m.input: -1 is negative: amounts are whole micro-dollars per million tokens, 1250000 for $1.25"},
		{"huge", one(`"input": 1000000000001, "output": 99999999999999999999999`), "m.input: 1000000000001 is more than $1,000,000: amounts are whole micro-dollars per million tokens, 1250000 for $1.25\nm.output: 99999999999999999999999 is more than $1,000,000: amounts are whole micro-dollars per million tokens, 1250000 for $1.25"},
		{"infinite", one(`"input": 1e999, "output": 1000000`), "m.input: 1e999 is more than $1,000,000: amounts are whole micro-dollars per million tokens, 1250000 for $1.25"},
		{"a text", one(`"input": "1250000", "output": null`), "m.input: \"1250000\" is no number: amounts are whole micro-dollars per million tokens, 1250000 for $1.25\nm.output: null is no number: amounts are whole micro-dollars per million tokens, 1250000 for $1.25"},
		{"above", one(`"input": 1000000, "output": 1000000, "above": 0`), "m.above: 0 is no number of tokens; write a whole number above 0, 200000 for instance"},
		{"then without a day", one(`"input": 1000000, "output": 1000000, "then": {"input": 1000000, "output": 1000000}`), "m.then: from is missing: the day, as 2026-12-31"},
		{"then without prices", one(`"input": 1000000, "output": 1000000, "then": {"from": "soon", "output": 1000000}`), "m.then.from: \"soon\" is no day; write it as 2026-12-31\nm.then: input is missing: whole micro-dollars per million tokens, 1250000 for $1.25"},
		{"aliases", one(`"input": 1000000, "output": 1000000, "aliases": "n"`), "m.aliases: write a list of at most 20 names"},
		{"twice", `{"models": {"m": {"input": 1000000, "output": 1000000}, "m": {"input": 2000000, "output": 2000000}}}`, "m: stands there twice"},
		{"a key twice", one(`"input": 1000000, "output": 1000000, "input": 2000000`), "m: input stands there twice"},
		{"an alias that is a model", `{"models": {"m": {"input": 1000000, "output": 1000000, "aliases": ["n"]}, "n": {"input": 1000000, "output": 1000000}}}`, "m.aliases: n is a name of n already"},
		{"an alias of two", `{"models": {"m": {"input": 1000000, "output": 1000000, "aliases": ["x"]}, "n": {"input": 1000000, "output": 1000000, "aliases": ["x"]}}}`, "n.aliases: x is a name of m already"},
		{"a name that is none", `{"models": {"a b": {"input": 1000000, "output": 1000000}}}`, `"a b": is no name of a model: 1 to 200 visible ASCII characters`},
		{"a name that is a trick", `{"models": {"a\u001b[31m\n::set-env": {}}}`, `"a\x1b[31m\n::set-env": is no name of a model: 1 to 200 visible ASCII characters`},
		{"several models", `{"models": {"n": {"input": 1000000}, "m": {"output": 1000000}}}`, "m: input is missing: whole micro-dollars per million tokens, 1250000 for $1.25\nn: output is missing: whole micro-dollars per million tokens, 1250000 for $1.25"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := price.Parse([]byte(c.text))
			if err == nil || err.Error() != c.want {
				t.Errorf("Parse(%s) =\n%v\nwant\n%s", c.text, err, c.want)
			}
		})
	}
}

func TestParseBounds(t *testing.T) {
	t.Parallel()
	many := func(n int) string {
		var b strings.Builder
		b.WriteString(`{"models": {`)
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `"m%d": {"input": 1}`, i)
		}
		return b.String() + "}}"
	}
	for _, c := range []struct{ name, text, want string }{
		{"bytes", strings.Repeat(" ", 1<<20) + "{}", "the table of prices has 1048578 bytes; at most 1048576 are read"},
		{"models", many(2001), "models: there are 2001; at most 2000 are read"},
		{"problems", many(100), "\nand 180 more"},
		{"deep", strings.Repeat(`{"models":`, 20_000), "exceeded max depth"},
	} {
		_, err := price.Parse([]byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 4096 {
			t.Errorf("%s: Parse() = %.200v, want it to say %q", c.name, err, c.want)
		}
	}
}

// What the documentation shows can be read.
func TestDocumentedExample(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../../docs/pricing.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(doc), "```json\n")
	example, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("docs/pricing.md has no example")
	}
	if got := parse(t, example).Cost("my-model", ralph.Tokens{Input: 1_000_000, Output: 1_000_000}).String(); got != "about $11.25" {
		t.Errorf("the example says that a million tokens in and out cost %s", got)
	}
}

func FuzzParse(f *testing.F) {
	embedded, err := os.ReadFile("prices.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(embedded[:len(embedded)/8])
	base := price.Default()
	for _, text := range []string{own, `{}`, `{"models":{"m":{"input":-1.5e300,"output":"\ud800","above":1,"aliases":["m",""],"then":{"from":"2026-01-01"}}}}`, `{"models":{"":null}}`, "\xff"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		table, err := price.Parse(text)
		if err != nil {
			if message := err.Error(); len(message) > 64<<10 || strings.ContainsAny(message, "\x00\x1b\r") {
				t.Errorf("Parse() = %.200q", message)
			}
			return
		}
		if got := base.Over(table).Cost("gpt-5.5", ralph.Tokens{Input: 1 << 62, Output: 1 << 62}); got.Amount < 0 || got.Unknown && !got.Estimated {
			t.Errorf("Cost() = %+v", got)
		}
	})
}
