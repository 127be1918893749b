package redteam

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
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

// list counts the attacks that each protection has to hold, by where they run, and
// names those that are known to get through, by the reason.
func list() string {
	type counts [len(columns)]int
	type gap struct{ where, why string }
	var b strings.Builder
	var defenses []string
	var gaps []gap
	rows, names := map[string]*counts{}, map[gap][]string{}
	all := attacks()
	for _, a := range all {
		if rows[a.Defense] == nil {
			defenses = append(defenses, a.Defense)
			rows[a.Defense] = new(counts)
		}
		var open []string
		for _, where := range a.columns() {
			rows[a.Defense][where]++
			if a.Known != "" && (len(a.KnownIn) == 0 || slices.Contains(a.KnownIn, where)) {
				open = append(open, columns[where])
			}
		}
		if open == nil {
			continue
		}
		g := gap{strings.Join(open, ", "), a.Known}
		if len(open) == len(columns) {
			g.where = "everywhere"
		}
		if names[g] == nil {
			gaps = append(gaps, g)
		}
		names[g] = append(names[g], "`"+a.ID+"`")
	}
	fmt.Fprintf(&b, "\n%d attacks: how many each protection has to hold, by where they run.\n\n", len(all))
	fmt.Fprintf(&b, "|Protection|%s|\n|---|%s\n", strings.Join(columns[:], "|"), strings.Repeat("--:|", len(columns)))
	for _, defense := range defenses {
		fmt.Fprintf(&b, "|%s", cell(defense))
		for _, n := range rows[defense] {
			fmt.Fprintf(&b, "|%d", n)
		}
		b.WriteString("|\n")
	}
	b.WriteString("\nNot covered:\n\n|Attack|Where|Why|\n|---|---|---|\n")
	for _, g := range gaps {
		fmt.Fprintf(&b, "|%s|%s|%s|\n", strings.Join(names[g], ", "), g.where, cell(g.why))
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
