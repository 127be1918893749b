package redteam

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the list in docs/internals/redteam.md")

const (
	page  = "../../docs/internals/redteam.md"
	begin = "<!-- the list: go test ./e2e/redteam -update -->\n"
	end   = "<!-- end of the list -->\n"
)

// The list in the documentation is the data.
func TestDocs(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s: the list is not between %q and %q", page, begin, end)
	}
	want := before + begin + list() + end + after
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(data) != want {
		t.Errorf("%s: the list is not that of the attacks; run go test ./e2e/redteam -update", page)
	}
}

// list has a table for each way in which attacks are held off.
func list() string {
	var b strings.Builder
	all := attacks()
	fmt.Fprintf(&b, "\n%d attacks.\n", len(all))
	var defenses []string
	rows := map[string][]string{}
	for _, a := range all {
		if rows[a.Defense] == nil {
			defenses = append(defenses, a.Defense)
		}
		rows[a.Defense] = append(rows[a.Defense], fmt.Sprintf("|`%s`|%s|\n", a.ID, cell(a.Tries)))
	}
	for _, defense := range defenses {
		fmt.Fprintf(&b, "\n### %s\n\n|Attack|What it tries|\n|---|---|\n%s", defense, strings.Join(rows[defense], ""))
	}
	return b.String() + "\n"
}

// cell keeps a text within one cell.
func cell(s string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ", "\r", " ", "<", "&lt;", "*", "\\*").Replace(strings.ToValidUTF8(s, "?"))
}

var plainID = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`)

// Every attack says what it is, and can fail.
func TestAttacks(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, a := range attacks() {
		switch {
		case !plainID.MatchString(a.ID):
			t.Errorf("the ID %q is not made of small letters, digits and dashes", a.ID)
		case seen[a.ID]:
			t.Errorf("%s: twice", a.ID)
		case a.Tries == "" || a.Defense == "" || a.In == "":
			t.Errorf("%s: what it tries, its defense or its scenario is missing", a.ID)
		case a.Script == "" && a.Plant == "":
			t.Errorf("%s: it does nothing", a.ID)
		case a.Script == "" && len(a.Seen) == 0:
			t.Errorf("%s: nobody would see its success", a.ID)
		case strings.Contains(a.Script, "$RT_CONTROL") && len(a.Seen) == 0:
			t.Errorf("%s: its script succeeds in the control whatever happens", a.ID)
		}
		seen[a.ID] = true
	}
	if len(seen) < 60 {
		t.Errorf("%d attacks, want at least 60", len(seen))
	}
}

// The judge of logs obeys what a runner obeys.
func TestRunnerCommands(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, log, want string }{
		{"plain", "::set-env name=a::b\n", "set-env name=a b"},
		{"after white space", "  \t::ADD-MASK::b\n", "add-mask b"},
		{"behind a carriage return", "x\r::debug::b\n", "debug b"},
		{"older form, anywhere", "x ##[group]b\n", "group b"},
		{"stopped", "::stop-commands::w\n::debug::b\n::W::\n::debug::c\n", "stop-commands w|debug c"},
		{"behind a prefix", "│ ::debug::b\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := strings.Join(runnerCommands(c.log), "|"); got != c.want {
				t.Errorf("runnerCommands(%q) = %q, want %q", c.log, got, c.want)
			}
		})
	}
}
