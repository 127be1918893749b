package testintegrity

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/org/ralph-action/internal/ralph"
)

// File is a file of a change, with its content before and after.
type File struct {
	Path string // after the change, or before it where Deleted; relative to the top, with slashes
	From string // where it was moved from; empty when it was not moved
	// Old is the content before, nil when Added; New the content after, nil when
	// Deleted. Neither is written to.
	Old, New       []byte
	Deleted, Added bool
}

// Options is what the files themselves do not tell.
type Options struct {
	// Guardrails are the command lines that judge the work, as the team wrote them.
	Guardrails []string
	// Base reads a file of the commit the change begins at, by its path from the
	// top, and returns nil if there is none. It is asked for a few files through which a
	// guardrail leads to others, such as package.json. May be nil.
	Base func(path string) []byte
}

// Bounds of what Look returns: of one rule no more than maxOfRule, and all in
// all no more than MaxFindings.
const (
	MaxFindings = 200
	maxOfRule   = 25
)

// The ranks, the gravest first.
const (
	rankGuardrail = iota
	rankDeleted
	rankOnly
	rankRemoved
	rankSilenced // a check that cannot fail any more
	rankSkipped
	rankEmptied
	rankThreshold
	rankFewer
	rankConfig
	rankNewSkipped
	rankUnknown
)

// look is one look at a change.
type look struct {
	files   []File
	options Options
	found   []ranked
	counts  Tests

	// Of the files with tests: how much more often a line stands there than before, the
	// words of tests that are new or changed, and those of new lines.
	balance       map[string]int
	fresh, spoken map[string]bool

	silent   map[string]bool    // tests in other files now that stood in a group that was skipped; see id
	gained   map[*language]int  // how many tests are new
	came     int                // how many lines of tests, and of what they read
	codeOut  map[*language]bool // whether lines were taken out of code; see recoded
	subjects map[string]string  // what files are about, by their names
	asked    int                // for how many files the base was asked
	linters  func() bool        // linterCame, once
}

type ranked struct {
	rank int
	ralph.Finding
}

// Tests counts what became of tests in a change: a fact, whatever it means.
type Tests struct {
	Added, Changed, Deleted int
	Files                   int // that hold or held them
	Configurations          int // files that configure tests and checks and changed
}

// String is a line such as "Tests: 12 added, 3 deleted (in 2 files)"; empty when
// nothing became of any.
func (t Tests) String() string {
	if t.Files == 0 && t.Configurations == 0 {
		return ""
	}
	checks := "configuration of checks changed in " + plural(t.Configurations, "file")
	if t.Files == 0 {
		return "C" + checks[1:]
	}
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{{t.Added, " added"}, {t.Changed, " changed"}, {t.Deleted, " deleted"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprint(part.n)+part.what)
		}
	}
	text := fmt.Sprintf("Tests: %s (in %s)", strings.Join(parts, ", "), plural(t.Files, "file"))
	if t.Configurations > 0 {
		text += "; " + checks
	}
	return text
}

// Look lists what in a change makes tests and checks say less: findings of the
// kinds tests, checks and not-looked-at, all of severity Flag, the
// gravest first, at most MaxFindings. Paths are as the change has them: foreign
// text. Texts are one line of printable characters, and quote no more of a file
// than names of tests, of keys and of commands, and a line of configuration, cut
// at 80 bytes. It counts the tests that the change adds, changes and deletes, too.
func Look(files []File, o Options) ([]ralph.Finding, Tests) {
	k := &look{options: o, subjects: map[string]string{}}
	k.linters = sync.OnceValue(k.linterCame)
	k.choose(files)
	k.guardrails()
	k.tests()
	k.config()
	return k.list(), k.counts
}

// choose keeps the files that are small enough and not vendored or generated; tests
// and configuration before others.
func (k *look) choose(files []File) {
	large, room := 0, maxTotal
	var first string
	speaks := func(f File) bool { // of tests or checks
		was := cmp.Or(f.From, f.Path)
		return configurationOf(was) != nil || configurationOf(f.Path) != nil || isTest(was) || isTest(f.Path)
	}
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b File) int {
		switch x, y := speaks(a), speaks(b); {
		case x == y:
			return 0
		case x:
			return -1
		}
		return 1
	})
	for _, f := range files {
		was := cmp.Or(f.From, f.Path)
		text := f.Old
		if f.Added {
			text = f.New
		}
		if foreignPlace(was, text) && foreignPlace(f.Path, text) {
			continue
		}
		size := len(f.Old) + len(f.New)
		if len(f.Old) > maxFile || len(f.New) > maxFile || size > room {
			if speaks(f) {
				if large++; large == 1 {
					first = f.Path
				}
			}
			continue
		}
		room -= size
		k.files = append(k.files, f)
	}
	if large > 0 {
		k.add(rankUnknown, ralph.FindingUnknown, first, 0, "too large", were(large)+" not looked at for weakened tests: more than 1 MiB, or 8 MiB together")
	}
}

func (k *look) add(rank int, kind ralph.FindingKind, path string, line int, rule, text string) {
	k.found = append(k.found, ranked{rank, ralph.Finding{Kind: kind, Severity: ralph.Flag, Path: path, Line: line, Rule: rule, Text: text}})
}

// list sorts what was found, and sums up what is too much of one kind.
func (k *look) list() []ralph.Finding {
	slices.SortStableFunc(k.found, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Text, b.Text))
	})
	type kind struct {
		rank int
		rule string
	}
	var out []ralph.Finding
	count, sums := map[kind]int{}, map[kind]int{}
	for _, f := range slices.Compact(k.found) {
		of := kind{f.rank, f.Rule}
		switch count[of]++; {
		case count[of] == maxOfRule+1:
			sums[of] = len(out)
			f.Path, f.Line = "", 0
			out = append(out, f.Finding)
		case count[of] <= maxOfRule:
			out = append(out, f.Finding)
		}
	}
	for of, at := range sums {
		out[at].Text = fmt.Sprintf("and %d more of this kind", count[of]-maxOfRule)
	}
	return out[:min(len(out), MaxFindings)]
}

func were(files int) string {
	if files == 1 {
		return "1 file was"
	}
	return plural(files, "file") + " were"
}

func printable(r rune) bool { return unicode.IsPrint(r) && !unicode.Is(unicode.Cf, r) }

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprint(n, " ", what, "s")
}
