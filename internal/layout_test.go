// Package internal_test holds the import table of the rooms.
package internal_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/org/ralph-action/internal/"

// rooms lists what each package may import of ours. Draw a new arrow here, with
// its reason, in the commit that needs it, or don't draw it.
var rooms = map[string]struct {
	may []string
	why string
}{
	"ralph":   {nil, "the domain knows nobody"},
	"secret":  {nil, "everybody holds secrets"},
	"rundir":  {nil, "files of ours in the workspace, for whoever writes one"},
	"taskdir": {nil, "a task folder's signals and message bus; no domain in it"},
	"sandbox": {nil, "what a child may touch; no domain in it"},
	"hosts":   {nil, "which addresses a pattern means; pure, for configuration, agents and the proxy"},
	"egress":  {[]string{"hosts", "secret"}, "the way out: a proxy of ours, the door that adds a key; no domain in it"},
	"proc":    {[]string{"sandbox"}, "starts children inside the walls"},
	"config":  {[]string{"ralph", "secret", "hosts", "lazyregexp"}, "inputs become policies, secrets and lists of hosts"},
	"prompt":  {[]string{"ralph", "secret"}, "feedback is built from verdicts"},
	"agent":   {[]string{"ralph", "proc", "secret"}, "a CLI's stream becomes events"},
	"guard":   {[]string{"ralph", "proc", "secret"}, "a command becomes a verdict"},
	"scm":     {[]string{"ralph", "proc", "secret"}, "the team's own commit commands"},
	"repo":    {[]string{"ralph", "secret"}, "a tree becomes commits"},
	"forge":   {[]string{"ralph", "secret", "lazyregexp"}, "a record becomes a pull request"},
	"report":  {[]string{"ralph", "secret"}, "a record becomes text"},
	"runner":  {[]string{"ralph", "secret", "trigger", "lazyregexp"}, "a record becomes outputs, the event file an event"},
	"install": {[]string{"proc", "lazyregexp"}, "npm runs as a guest; no domain in it"},
	"tasks":   {[]string{"ralph", "secret"}, "a task list: its schema, its transitions, its story to do next"},
	"price":   {[]string{"ralph"}, "tokens of a model become an estimate of their cost"},
	"trigger": {[]string{"ralph", "lazyregexp"}, "what started the run, and what of it becomes a prompt; pure"},
	"hook":    {[]string{"ralph", "secret", "lazyregexp"}, "answers to the agent CLI's hooks"},
	"content": {[]string{"ralph", "lazyregexp"}, "what of a change may be published: paths, limits, claims; pure"},
	"weaken":  {[]string{"ralph"}, "what of a change makes tests and checks say less; pure"},
	"leak":    {[]string{"ralph", "secret"}, "what must not be published, found in it; pure"},
	"starter": {nil, "what ralph init proposes and writes"},
	"openapi": {nil, "what tests check against GitHub's description; imported by tests only"},
	"demo":    {nil, "a forge and an agent for `ralph demo`; knows nothing of the pipeline"},

	"forgetest": {[]string{"demo", "openapi"}, "GitHub for tests, on the demo's git and checked by GitHub's own description; tests alone import it"},

	"inspect": {[]string{"config", "content", "leak", "ralph", "repo", "secret", "weaken"}, "judges what is about to be published"},
	"run": {[]string{
		"agent", "config", "content", "dockersandbox", "egress", "forge", "guard", "hook", "hosts", "inspect", "install", "lazyregexp", "price", "proc", "prompt",
		"ralph", "repo", "report", "rundir", "runner", "sandbox", "scm", "secret", "starter", "taskdir", "tasks", "trigger",
	}, "one run, from what was asked for to what was published: it wires the others"},
	"cli": {[]string{
		"agent", "config", "demo", "hook", "lazyregexp", "proc", "ralph", "repo", "report", "run", "rundir", "runner", "sandbox", "secret", "starter", "taskdir", "tasks",
	}, "commands, flags and what is printed"},

	"gen": {[]string{"config"}, "writes documents and sources from the program's tables; a program of its own"},

	"lazyregexp": {nil, "expressions that most starts of the program do not need"},

	"dockersandbox": {[]string{"proc"}, "an agent's room in docker's own virtual machine; no domain in it"},
}

// owners lists the packages that only one room may import.
var owners = map[string]struct{ room, why string }{
	"os/exec":                                {"proc", "a child is started and ended in one place"},
	"gopkg.in/yaml.v3":                       {"config", "one reader of configuration"},
	"github.com/go-git/go-git/v5":            {"repo", "one owner of the branch"},
	"github.com/google/go-github/v60/github": {"forge", "one client of the forge"},
	"github.com/getkin/kin-openapi":          {"openapi", "a library of tests, kept out of the binary"},
	"github.com/yuin/goldmark":               {"trigger", "one reader of Markdown; other tests render what we publish"},
	"github.com/itchyny/gojq":                {"agent", "one interpreter of users' expressions"},
	"github.com/zricethezav/gitleaks/v8":     {"leak", "one reader of its rules"},
	"github.com/pelletier/go-toml/v2":        {"leak", "reads the rules of gitleaks; configuration is YAML"},
	"github.com/sethvargo/go-githubactions":  {"runner", "one voice to the runner"},
}

// testSupport lists the packages for tests: what is theirs alone is not in the
// binary, and may start git as a test may.
var testSupport = []string{"forgetest", "openapi"}

func TestProgramsHaveNoTestSupport(t *testing.T) {
	t.Parallel()
	err := filepath.WalkDir("../cmd", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			room, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module)
			if ours && slices.Contains(testSupport, room) {
				t.Errorf("%s imports %s, which is for tests", path, room)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestImports(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		room := strings.Split(filepath.ToSlash(path), "/")[0]
		seen[room] = true
		rule, ok := rooms[room]
		if !ok {
			t.Errorf("%s: no room %q in the table", path, room)
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			imported := strings.Trim(spec.Path.Value, `"`)
			if ours, found := strings.CutPrefix(imported, module); found && strings.Split(ours, "/")[0] != room && !slices.Contains(rule.may, ours) {
				t.Errorf("%s imports %s, but %s may import %v: %s", path, ours, room, rule.may, rule.why)
			}
			for owned, by := range owners {
				if (imported == owned || strings.HasPrefix(imported, owned+"/")) && room != by.room && !slices.Contains(testSupport, room) {
					t.Errorf("%s imports %s, which only %s may: %s", path, imported, by.room, by.why)
				}
			}
			if room == "ralph" && strings.Contains(imported, ".") {
				t.Errorf("%s imports %s: the domain is std only", path, imported)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for room := range rooms {
		if !seen[room] {
			t.Errorf("the table names a room %q that does not exist", room)
		}
	}
}
