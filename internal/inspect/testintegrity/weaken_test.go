package testintegrity_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/org/ralph-action/internal/inspect/testintegrity"
	"github.com/org/ralph-action/internal/ralph"
)

var update = flag.Bool("update", false, "write the findings into testdata/*.txtar")

// pair is a change: NAME/old/PATH and NAME/new/PATH of an archive, and what is
// to be found in it, NAME/want. NAME/guardrails has one command a line,
// NAME/moved "FROM TO" lines, NAME/base/PATH files that did not change.
type pair struct {
	name     string
	old, now map[string][]byte
	base     map[string][]byte
	moved    map[string]string // by the new path
	options  testintegrity.Options
	want     int // index of its file in the archive
}

func (p *pair) files() []testintegrity.File {
	var list []testintegrity.File
	from := map[string]bool{}
	for _, path := range sortedKeys(p.now) {
		f := testintegrity.File{Path: path, From: p.moved[path], Old: p.old[path], New: p.now[path]}
		if f.From != "" {
			f.Old = p.old[f.From]
			from[f.From] = true
		}
		f.Added = f.Old == nil
		list = append(list, f)
	}
	for _, path := range sortedKeys(p.old) {
		if _, stays := p.now[path]; !stays && !from[path] {
			list = append(list, testintegrity.File{Path: path, Old: p.old[path], Deleted: true})
		}
	}
	return list
}

func sortedKeys(m map[string][]byte) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	for i := range keys {
		for j := i; j > 0 && keys[j] < keys[j-1]; j-- {
			keys[j], keys[j-1] = keys[j-1], keys[j]
		}
	}
	return keys
}

func pairs(t testing.TB, a *txtar.Archive) []*pair {
	t.Helper()
	var list []*pair
	for i, f := range a.Files {
		name, rest, _ := strings.Cut(f.Name, "/")
		if len(list) == 0 || list[len(list)-1].name != name {
			list = append(list, &pair{name: name, old: map[string][]byte{}, now: map[string][]byte{}, base: map[string][]byte{}, moved: map[string]string{}, want: -1})
		}
		p := list[len(list)-1]
		what, path, _ := strings.Cut(rest, "/")
		data := f.Data
		if data == nil {
			data = []byte{}
		}
		switch what {
		case "old":
			p.old[path] = data
		case "new":
			p.now[path] = data
		case "base":
			p.base[path] = data
			p.options.Base = func(path string) []byte { return p.base[path] }
		case "moved":
			for line := range strings.Lines(string(data)) {
				from, to, _ := strings.Cut(strings.TrimSpace(line), " ")
				p.moved[to] = from
			}
		case "guardrails":
			p.options.Guardrails = strings.Split(strings.TrimSpace(string(data)), "\n")
		case "want":
			p.want = i
		default:
			t.Fatalf("%s: what is that?", f.Name)
		}
	}
	return list
}

func told(list []ralph.Finding) string {
	var b strings.Builder
	for _, f := range list {
		fmt.Fprintf(&b, "%s %s:%d [%s] %s\n", f.Kind, f.Path, f.Line, f.Rule, f.Text)
	}
	return b.String()
}

func archives(t testing.TB) []string {
	t.Helper()
	list, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(list) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	return list
}

// Weakening of tests and checks is found, and refactorings are not taken for it.
func TestPairs(t *testing.T) {
	t.Parallel()
	n := 0
	for _, path := range archives(t) {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pairs(t, a) {
			n++
			if p.want < 0 {
				t.Fatalf("%s: %s has no want", path, p.name)
			}
			t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar")+"/"+p.name, func(t *testing.T) {
				found, _ := testintegrity.Look(p.files(), p.options)
				got := told(found)
				if *update {
					a.Files[p.want].Data = []byte(got)
				} else if want := string(a.Files[p.want].Data); got != want {
					t.Errorf("Look finds\n%s, want\n%s", got, want)
				}
			})
		}
		if *update {
			if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n < 80 {
		t.Errorf("%d pairs, want 80 or more", n)
	}
}

// Nothing is found in a change that changes nothing.
func TestNoChange(t *testing.T) {
	t.Parallel()
	for _, path := range archives(t) {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pairs(t, a) {
			var files []testintegrity.File
			for path, text := range p.now {
				files = append(files, testintegrity.File{Path: path, Old: text, New: bytes.Clone(text)})
			}
			found, tests := testintegrity.Look(files, testintegrity.Options{})
			if tests != (testintegrity.Tests{}) {
				t.Errorf("%s: %s: %s in a change that changes nothing", path, p.name, tests)
			}
			for _, f := range found {
				if f.Kind == ralph.FindingTests || f.Kind == ralph.FindingChecks {
					t.Errorf("%s: %s: %+v in a file that did not change", path, p.name, f)
				}
			}
		}
	}
}

// Tests are counted, whatever is said of them.
func TestCounts(t *testing.T) {
	t.Parallel()
	of := func(names ...string) []byte {
		text := "package a\n"
		for _, name := range names {
			text += "\nfunc Test" + name + "(t *testing.T) {\n\tcheck(t, `" + strings.ToLower(name) + "`)\n}\n"
		}
		return []byte(text)
	}
	for want, files := range map[string][]testintegrity.File{
		"":                             {{Path: "a.go", Added: true, New: []byte("package a")}, {Path: "a_test.go", Old: of("A"), New: of("A")}},
		"Tests: 2 added (in 1 file)":   {{Path: "a_test.go", Added: true, New: of("A", "B")}},
		"Tests: 1 deleted (in 1 file)": {{Path: "a.go", Old: []byte("package a\n\nfunc a() {}\n"), New: []byte("package a")}, {Path: "a_test.go", Old: of("A", "B"), New: of("A")}},
		"Tests: 1 added, 1 changed, 2 deleted (in 3 files)": {
			{Path: "a_test.go", Old: of("A"), New: bytes.Replace(of("A"), []byte("`a`"), []byte("`other`"), 1)},
			{Path: "b_test.go", Old: of("B", "C", "D"), New: of("B")}, {Path: "e_test.go", Added: true, New: of("E")},
		},
		"Configuration of checks changed in 1 file": {{Path: "package.json", Old: []byte(`{"scripts": {"test": "a && b"}}`), New: []byte(`{"scripts": {"test": "a"}}`)}},
		"Tests: 1 added (in 1 file); configuration of checks changed in 2 files": {
			{Path: "a_test.go", Added: true, New: of("A")}, {Path: ".golangci.yml", Old: []byte("linters:\n  enable: [a, b]\n"), New: []byte("linters:\n  enable: [a]\n")},
			{Path: "Makefile", Old: []byte("test:\n\tgo test ./...\n"), New: []byte("test:\n\tgo test ./a\n")}, {Path: "web/package.json", Old: []byte(`{"version": "1"}`), New: []byte(`{"version": "2"}`)},
		},
		"Tests: 1 changed (in 2 files)": {{Path: "a_test.go", Old: of("A", "B"), New: of("A")}, {Path: "c_test.go", Old: of("C"), New: of("C", "B")}},
	} {
		if _, got := testintegrity.Look(files, testintegrity.Options{}); got.String() != want {
			t.Errorf("Look counts %q, want %q", got, want)
		}
	}
}

func TestLargeFilesAreNotLookedAt(t *testing.T) {
	t.Parallel()
	got, _ := testintegrity.Look([]testintegrity.File{{Path: "big_test.go", Old: bytes.Repeat([]byte("a"), 1<<20+1), New: []byte("package a")}, {Path: "ok_test.go", Added: true, New: []byte("package a")}}, testintegrity.Options{})
	if len(got) != 1 || got[0].Kind != ralph.FindingUnknown || got[0].Path != "big_test.go" || !strings.Contains(got[0].Text, "1 file was not looked at") {
		t.Errorf("Look = %+v, want one finding of a file that was not looked at", got)
	}
}

// All files together are bounded, too.
func TestManyLargeFiles(t *testing.T) {
	t.Parallel()
	var files []testintegrity.File
	for n := range 40 {
		files = append(files, testintegrity.File{Path: fmt.Sprint(n, "/pom.xml"), Added: true, New: bytes.Repeat([]byte("a"), 1<<20)})
	}
	got, _ := testintegrity.Look(files, testintegrity.Options{})
	if len(got) != 1 || got[0].Path != "8/pom.xml" || !strings.Contains(got[0].Text, "32 files") {
		t.Errorf("Look = %+v, want 32 files that were not looked at", got)
	}
}

func TestFindingsAreBounded(t *testing.T) {
	t.Parallel()
	var files []testintegrity.File
	for n := range 400 {
		files = append(files, testintegrity.File{Path: fmt.Sprintf("a%03d_test.go", n), Old: []byte("package a\n\nfunc TestIt(t *testing.T) {\n\tt.Error(1)\n}\n"), New: []byte("package a\n\nfunc TestIt(t *testing.T) {\n\tt.Skip()\n\tt.Error(1)\n}\n")})
	}
	got, _ := testintegrity.Look(files, testintegrity.Options{})
	if len(got) != 26 || got[25].Path != "" || got[25].Text != "and 375 more of this kind" {
		t.Errorf("Look gives %d findings, the last %+v; want 25 and a sum", len(got), got[len(got)-1])
	}
}

// However a file is made, a look at it ends soon.
func TestHostileFilesEndSoon(t *testing.T) {
	t.Parallel()
	const size = 32 << 10
	fill := func(s string) []byte { return bytes.Repeat([]byte(s), size/len(s)) }
	for path, parts := range map[string][]string{
		"a.test.js": {"it('a',()=>{", "it.skip('a')\n", "test.each([", "{[(", "/a", "`${"}, "a_test.go": {"func TestA(t *testing.T) {\n", "\tt.Skip()\n", "{1, 2},\n", "// nolint "},
		"ATest.java": {"@Test ", "@Test @Disabled(", "\""}, "tests/a.rs": {"#[test]", "r#\"", "'"}, "test_a.py": {" def test_a():\n", "    "}, "a_spec.rb": {"it 'a' do\n"},
		"a_test.cc": {"TEST(a, b) {"}, "Makefile": {"a:\n\tb\n", "all: all\n\tmake all\n", "x || true\n"}, "tsconfig.json": {"{\"a\":", "//"},
	} {
		for _, part := range parts {
			started := time.Now()
			testintegrity.Look([]testintegrity.File{{Path: path, Old: fill(part), New: fill("x" + part)}}, testintegrity.Options{Guardrails: []string{"make all", "npm test", "task a"}})
			if d := time.Since(started); d > time.Minute {
				t.Errorf("Look at %s of %q took %v", path, part, d)
			}
		}
	}
}

func FuzzLook(f *testing.F) {
	for _, path := range archives(f) {
		a, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, p := range pairs(f, a) {
			for path, text := range p.now {
				f.Add(path, p.old[path], text, strings.Join(p.options.Guardrails, "\n"))
			}
		}
	}
	f.Fuzz(func(t *testing.T, path string, old, now []byte, guardrail string) {
		for _, file := range []testintegrity.File{{Path: path, Old: old, New: now}, {Path: path, Old: old, Deleted: true}, {Path: path, New: now, Added: true}, {Path: "x_test.go", From: path, Old: old, New: now}} {
			files := []testintegrity.File{file}
			found, _ := testintegrity.Look(files, testintegrity.Options{Guardrails: []string{guardrail, "npm test", "make", "./" + path}, Base: func(string) []byte { return old }})
			for _, finding := range found {
				if finding.Severity != ralph.Flag || finding.Rule == "" || finding.Text == "" || strings.ContainsAny(finding.Text, "\n\r\x1b") || !utf8.ValidString(finding.Text) || !utf8.ValidString(finding.Rule) || len(finding.Text) > 1000 || finding.Line < 0 {
					t.Errorf("finding %+v of %q", finding, path)
				}
			}
		}
	})
}
