package tasks_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/org/ralph-action/internal/tasks"
)

const full = `{
  "$schema": "../docs/tasks.schema.json",
  "project": "Shop",
  "branchName": "ralph/shop",
  "description": "A shop.",
  "verifyCommands": ["make test", "make lint"],
  "owner": {"name": "Ann <ann@example.org>"},
  "userStories": [
    {
      "id": "US-001",
      "title": "Filter",
      "description": "People \"filter\" \u00e9.",
      "acceptanceCriteria": ["Options: All, Active", "b"],
      "priority": 2.5,
      "passes": false,
      "reviewStatus": "changes_requested",
      "reviewCount": 2,
      "reviewFeedback": "Line 3",
      "notes": "n",
      "dependsOn": ["US-002"],
      "touches": ["src/**/*.go", "docs/"],
      "estimate": 1e2
    },
    {"id":"US-002","title":"","acceptanceCriteria":[""],"priority":-1,"passes":true,"reviewStatus":"approved","reviewCount":1,"reviewFeedback":"","notes":"done"}
  ]
}
`

// Everything is read, and written back byte by byte.
func TestRead(t *testing.T) {
	t.Parallel()
	l := read(t, full)
	if l.Project != "Shop" || l.BranchName != "ralph/shop" || l.Description != "A shop." || !slices.Equal(l.VerifyCommands, []string{"make test", "make lint"}) {
		t.Errorf("list = %+v", l)
	}
	s := l.Stories[0]
	if s.ID != "US-001" || s.Title != "Filter" || s.Description != `People "filter" é.` || len(s.AcceptanceCriteria) != 2 || s.Priority != 2.5 || s.Passes ||
		s.Status != tasks.ChangesRequested || s.ReviewCount != 2 || s.ReviewFeedback != "Line 3" || s.Notes != "n" || !slices.Equal(s.DependsOn, []string{"US-002"}) || len(s.Touches) != 2 {
		t.Errorf("story = %+v", s)
	}
	if s := l.Stories[1]; !s.Passes || s.Status != tasks.Approved || s.Priority != -1 {
		t.Errorf("story = %+v", s)
	}
	if got := string(l.Bytes()); got != full {
		t.Errorf("written back as\n%s", got)
	}
}

// change replaces one thing in the full list.
func change(old, now string) string { return strings.Replace(full, old, now, 1) }

// What is wrong is said with its place, all of it at once, and the schema agrees
// with the reader. Only what a schema cannot say is the reader's alone. 003-18
func TestReadAgreesWithSchema(t *testing.T) {
	t.Parallel()
	schema := compile(t)
	for _, c := range []struct {
		name, text string
		want       string // of the error, its lines joined by " | "; "" when it is good
		beyond     bool   // a schema cannot say that
	}{
		{"full", full, "", false},
		{"as little as possible", `{"project":"","branchName":"","description":"","userStories":[{"id":"a","title":"","acceptanceCriteria":["x"],"priority":0,"passes":false,"reviewStatus":null,"reviewCount":0,"reviewFeedback":""}]}`, "", false},
		{"empty arrays", change(`["make test", "make lint"]`, "[]"), "", false},
		{"count 2.0", change(`"reviewCount": 2`, `"reviewCount": 2.0`), "", false},
		{"count 1e1", change(`"reviewCount": 2`, `"reviewCount": 1e1`), "", false},
		{"no object", `[]`, "1:1: the file is an empty array: give an object with project, branchName, description and userStories", false},
		{"null", `null`, "1:1: the file is null: give an object with project, branchName, description and userStories", false},
		{"nothing there", `{}`, "4 problems: | 1:1: project is missing | 1:1: branchName is missing | 1:1: description is missing | 1:1: userStories is missing", false},
		{"project", change(`"Shop"`, `1`), "3:14: project is 1: give a string", false},
		{"verifyCommands", change(`["make test", "make lint"]`, `"make"`), `6:21: verifyCommands is "make": give an array of strings`, false},
		{"a command", change(`"make lint"`, `null`), "6:21: verifyCommands is an array: give an array of strings only", false},
		{"stories", `{"project":"","branchName":"","description":"","userStories":{}}`, "1:62: userStories is an object: give an array of stories", false},
		{"no stories", `{"project":"","branchName":"","description":"","userStories":[]}`, "1:62: userStories is an empty array: give at least one story", false},
		{"a story", change("    {\"id\"", "    7, {\"id\""), "24:5: userStories[1] is 7: give an object", false},
		{"id missing", change(`"id": "US-001"`, `"Id": "US-001"`), "9:5: userStories[0]: id is missing", false},
		{"id", change(`"id": "US-001"`, `"id": 1`), "10:13: userStories[0]: id is 1: give a string", false},
		{"id blank", change(`"id": "US-001"`, `"id": " \t"`), `10:13: userStories[0]: id is " \t": give an id that is not empty`, false},
		{"id long", change(`"id": "US-001"`, `"id": "`+strings.Repeat("é", 201)+`"`),
			`10:13: userStories[0]: id is "` + strings.Repeat("é", 80) + `"…: give an id of at most 200 characters`, false},
		{"title", change(`"Filter"`, `null`), "11:16: Story US-001: title is null: give a string", false},
		{"passes", change(`"passes": false`, `"passes": "yes"`), `15:17: Story US-001: passes is "yes": give true or false`, false},
		{"priority", change(`2.5`, `"high"`), `14:19: Story US-001: priority is "high": give a number from -1000000000 to 1000000000, 1 for what comes first`, false},
		{"priority huge", change(`2.5`, `1e999`), `14:19: Story US-001: priority is 1e999: give a number from -1000000000 to 1000000000, 1 for what comes first`, false},
		{"criteria", change(`["Options: All, Active", "b"]`, `[]`), "13:29: Story US-001: acceptanceCriteria is an empty array: give at least one criterion", false},
		{"criteria kinds", change(`"b"]`, `1]`), "13:29: Story US-001: acceptanceCriteria is an array: give an array of strings only", false},
		{"status", change(`"changes_requested"`, `"rejected"`), `16:23: Story US-001: reviewStatus is "rejected": give null, "needs_review", "changes_requested" or "approved"`, false},
		{"status empty", change(`"changes_requested"`, `""`), `16:23: Story US-001: reviewStatus is "": give null, "needs_review", "changes_requested" or "approved"`, false},
		{"count negative", change(`"reviewCount": 2`, `"reviewCount": -1`), "17:22: Story US-001: reviewCount is -1: give a non-negative integer, at most 1000000", false},
		{"count broken", change(`"reviewCount": 2`, `"reviewCount": 1.5`), "17:22: Story US-001: reviewCount is 1.5: give a non-negative integer, at most 1000000", false},
		{"count text", change(`"reviewCount": 2`, `"reviewCount": "2"`), `17:22: Story US-001: reviewCount is "2": give a non-negative integer, at most 1000000`, false},
		{"feedback", change(`"Line 3"`, `null`), "18:25: Story US-001: reviewFeedback is null: give a string", false},
		{"dependsOn", change(`["US-002"]`, `"US-002"`), `20:20: Story US-001: dependsOn is "US-002": give an array of strings`, false},
		{"touches", change(`["src/**/*.go", "docs/"]`, `"src"`), `21:18: Story US-001: touches is "src": give an array of strings`, false},
		{"too many touches", change(`["src/**/*.go", "docs/"]`, `[`+strings.Repeat(`"a",`, 50)+`"a"]`), `21:18: Story US-001: touches is an array: give at most 50 patterns of paths`, false},
		{"no pattern", change(`["src/**/*.go", "docs/"]`, `["src", "../x"]`), `21:18: Story US-001: touches is an array: "../x": give a path from the top of the repository, such as src/auth/**, in which no part is empty, a dot or two`, true},
		{"passes without notes", change(`,"notes":"done"`, ``), "24:80: Story US-002 has passes=true but its notes are empty: write in notes what was done", false},
		{"passes with blank notes", change(`"notes":"done"`, `"notes":" \n"`), "24:80: Story US-002 has passes=true but its notes are empty: write in notes what was done", false},
		{"several", strings.NewReplacer(`"Shop"`, `1`, `2.5`, `[1]`, `"US-002","title":""`, `"US-002","title":{}`).Replace(full),
			"3 problems: | 3:14: project is 1: give a string | 14:19: Story US-001: priority is an array: give a number from -1000000000 to 1000000000, 1 for what comes first | " +
				"24:28: Story US-002: title is an object: give a string", false},
		{"ids twice", strings.ReplaceAll(full, "US-002", "US-001"), "24:5: Story US-001: Duplicate id, in userStories[0] and [1]: give each story an id of its own", true},
		{"key twice", change(`"passes": false`, `"passes": true, "passes": false`), "15:23: Story US-001: passes is there twice", true},
		{"unknown dependency", change(`["US-002"]`, `["US-00\u001b2"]`), `20:20: Story US-001 depends on "US-00\x1b2", which is no story`, true},
		{"and something else", strings.Replace(change(`["US-002"]`, `["US-9"]`), `"Shop"`, `1`, 1), `2 problems: | 3:14: project is 1: give a string | 20:20: Story US-001 depends on "US-9", which is no story`, false},
		{"on itself", change(`["US-002"]`, `["US-001"]`), "20:20: stories depend on each other in a circle: US-001 → US-001", true},
		{"circle", change(`"notes":"done"`, `"notes":"done","dependsOn":["US-001"]`),
			"20:20: stories depend on each other in a circle: US-001 → US-002 → US-001", true},
		{"too deep", change(`1e2`, strings.Repeat("[", 40)+strings.Repeat("]", 40)), "22:48: arrays and objects are nested more than 32 deep: in a task list they are not", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := tasks.Read([]byte(c.text))
			got := ""
			if err != nil {
				got = strings.ReplaceAll(err.Error(), "\n ", " |")
			}
			if got != c.want {
				t.Errorf("Read = %s\nwant   %s", got, c.want)
			}
			instance, err := jsonschema.UnmarshalJSON(strings.NewReader(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(instance); (err == nil) != (c.want == "" || c.beyond) {
				t.Errorf("the schema says: %v", err)
			}
		})
	}
}

func compile(t *testing.T) *jsonschema.Schema {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "tasks.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("tasks.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("tasks.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// What is no JSON is said with the place where it stops being some.
func TestReadSyntax(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"", "1:1: it is not valid JSON: the file ends too early, a value is expected"},
		{"\n  ", "2:3: it is not valid JSON: the file ends too early, a value is expected"},
		{"{\n  \"é\": 1,\n}", "3:1: it is not valid JSON: a name in double quotes is expected"},
		{"{\"é\" 1}", "1:6: it is not valid JSON: a colon is expected"},
		{"[1 2]", "1:4: it is not valid JSON: a comma or ] is expected"},
		{"[1,]", "1:4: it is not valid JSON: a value is expected"},
		{"{} {}", "1:4: it is not valid JSON: the end of the file is expected"},
		{`["a`, "1:4: it is not valid JSON: the file ends within a string"},
		{`["a\`, "1:5: it is not valid JSON: the file ends within a string"},
		{"[\"a\nb\"]", "1:4: it is not valid JSON: a control character in a string has to be escaped"},
		{`["\x"]`, "1:2: it is not valid JSON: an escape in this string is not one"},
		{"[01]", "1:3: it is not valid JSON: a comma or ] is expected"},
		{"[1.]", "1:4: it is not valid JSON: a digit is expected"},
		{"[-]", "1:3: it is not valid JSON: a digit is expected"},
		{"[1e+]", "1:5: it is not valid JSON: a digit is expected"},
		{"[tru]", "1:2: it is not valid JSON: a value is expected"},
		{"[\"\xff\"]", "1:3: it is not valid JSON: write it as UTF-8"},
		{"\ufeff{}", "1:1: it is not valid JSON: the file begins with a byte order mark: save it as UTF-8 without one"},
		{strings.Repeat("[", 100_000), "1:33: arrays and objects are nested more than 32 deep: in a task list they are not"},
		{"[" + strings.Repeat("0,", 500_000) + "0]", "1:1000000: the file has more than 500000 values: a task list has not"},
		{strings.Repeat(" ", 8<<20+1), "the file is larger than 8 MiB: a task list is not"},
	} {
		_, err := tasks.Read([]byte(c.text))
		if err == nil || err.Error() != c.want {
			t.Errorf("Read(%.20q) = %v, want %s", c.text, err, c.want)
		}
	}
}

// A file that is wrong throughout is not told in full.
func TestReadManyProblems(t *testing.T) {
	t.Parallel()
	_, err := tasks.Read([]byte(`{"userStories":[` + strings.Repeat("1,", 999) + "1]}"))
	var all *tasks.Problems
	if !errors.As(err, &all) || len(all.List) != 50 || all.More != 953 || !strings.HasSuffix(err.Error(), "\n  and 953 more") {
		t.Errorf("%d problems, %d more", len(all.List), all.More)
	}
	// As many circles as there are pairs.
	n := 400
	ids := make([]string, n)
	for i := range ids {
		ids[i] = `"` + strings.Repeat("i", i+1)[:min(i+1, 3)] + strings.Repeat("x", i%7) + `-` + string(rune('A'+i%26)) + strings.Repeat("y", i/26) + `"`
	}
	stories := make([]string, n)
	for i := range stories {
		stories[i] = story(strings.Trim(ids[i], `"`), open, `"dependsOn": [`+strings.Join(ids, ",")+"]")
	}
	start := time.Now()
	_, err = tasks.Read([]byte(file(stories...)))
	if !errors.As(err, &all) || len(all.List) != 50 {
		t.Fatalf("%d problems", len(all.List))
	}
	if d := time.Since(start); d > time.Minute {
		t.Errorf("it took %s", d)
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{"", "{}", "[", full, file(story("A", open)), `{"a":[1,-2.5e+3,"\u00e9\ud800",true,null,{"b":{}}]}`, "\ufeff{}", `{"userStories":[{},{}]}`} {
		f.Add([]byte(seed))
	}
	before := tasks.Take(read(f, file(story("A", waiting), story("B", open))), reviewed)
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := tasks.Read(data)
		if err == nil {
			if !bytes.Equal(l.Bytes(), data) {
				t.Errorf("written back as %q", l.Bytes())
			}
			if !json.Valid(data) {
				t.Error("it is not JSON")
			}
		} else if strings.Contains(err.Error(), "not valid JSON") && json.Valid(data) && utf8.Valid(data) {
			t.Errorf("it is JSON: %v", err)
		}
		r := before.Repair(data)
		_, problems := before.Verify(r.List.Bytes())
		for _, p := range problems {
			if p.Kind != tasks.Stuck {
				t.Errorf("repaired, and still %s", p)
			}
		}
	})
}
