package content_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/inspect/content"
	"github.com/org/ralph-action/internal/ralph"
)

const (
	file    = 0o100644
	program = 0o100755
	link    = 0o120000
)

func patterns(t testing.TB, list ...string) content.Patterns {
	t.Helper()
	p, err := content.Parse(list)
	if err != nil {
		t.Fatalf("Parse(%q) = %v", list, err)
	}
	return p
}

// lines are findings as "kind severity path where rule: the first word".
func lines(found []ralph.Finding) []string {
	var list []string
	for _, f := range found {
		word, _, _ := strings.Cut(f.Text, " ")
		list = append(list, strings.Join(strings.Fields(fmt.Sprintf("%s %s %s %s %s: %s", f.Kind, f.Severity, f.Path, f.Where, f.Rule, strings.TrimRight(word, ",:"))), " "))
	}
	return list
}

func equal(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestProtectedPathsAreFound(t *testing.T) {
	t.Parallel()
	const wf = ".github/workflows/ci.yml"
	const rule = ".github/workflows/"
	changed := func(files ...content.File) content.Work { return content.Work{Total: files, Run: files, Since: files} }
	for _, tt := range []struct {
		name string
		on   ralph.Severity
		work content.Work
		want []string
	}{
		{"added", ralph.Block, changed(content.File{Path: wf, NewMode: file}), []string{"protected block " + wf + " " + rule + ": added"}},
		{"changed", ralph.Block, changed(content.File{Path: wf, OldMode: file, NewMode: file}), []string{"protected block " + wf + " " + rule + ": changed"}},
		{"deleted", ralph.Block, changed(content.File{Path: wf, OldMode: file}), []string{"protected block " + wf + " " + rule + ": deleted"}},
		{"mode", ralph.Block, changed(content.File{Path: ".husky/pre-commit", OldMode: file, NewMode: program}), []string{"protected block .husky/pre-commit .husky/: changed"}},
		{"moved away", ralph.Block, changed(content.File{Path: "old/ci.yml", From: wf, NewMode: file}), []string{"protected block " + wf + " " + rule + ": moved"}},
		{"moved there", ralph.Block, changed(content.File{Path: wf, From: "ci.yml", NewMode: file}), []string{"protected block " + wf + " " + rule + ": added"}},
		{"a link in place of the folder", ralph.Block, changed(content.File{Path: ".github", NewMode: link}, content.File{Path: ".github/workflows", NewMode: link}), []string{"protected block .github/workflows " + rule + ": added"}},
		{"committed and taken back", ralph.Block, content.Work{Since: []content.File{{Path: wf, NewMode: file, Commit: "0123456789abcdef"}}}, []string{"protected block " + wf + " commit 0123456 " + rule + ": added"}},
		{"in two commits", ralph.Block, content.Work{Since: []content.File{{Path: wf, NewMode: file, Commit: "a"}, {Path: wf, OldMode: file, Commit: "b"}}}, []string{"protected block " + wf + " commit a " + rule + ": added"}},
		{"by others, before", ralph.Block, content.Work{Total: []content.File{{Path: wf, NewMode: file}}, Run: []content.File{{Path: "a", NewMode: file}}}, nil},
		{"by others, before, draft", ralph.Draft, content.Work{Total: []content.File{{Path: wf, NewMode: file}}}, []string{"protected draft " + wf + " " + rule + ": added"}},
		{"only named", ralph.Flag, changed(content.File{Path: wf, NewMode: file}), []string{"protected flag " + wf + " " + rule + ": added"}},
		{"allowed", "", changed(content.File{Path: wf, NewMode: file}), nil},
		{"something else", ralph.Block, changed(content.File{Path: "src/main.go", NewMode: file}), nil},
		{"prose for agents", ralph.Block, changed(content.File{Path: "AGENTS.md", OldMode: file, NewMode: file}, content.File{Path: "docs/CLAUDE.md", NewMode: file}), []string{"agent-config flag AGENTS.md AGENTS.md: changed", "agent-config flag docs/CLAUDE.md CLAUDE.md: added"}},
		{"prose for other agents", ralph.Block, changed(content.File{Path: "QWEN.md", NewMode: file}, content.File{Path: "a/.junie/guidelines.md", NewMode: file}), []string{"agent-config flag QWEN.md QWEN.md: added", "agent-config flag a/.junie/guidelines.md .junie/: added"}},
		{"told by their lines", ralph.Block, changed(content.File{Path: ".gitattributes", NewMode: file}, content.File{Path: ".env", NewMode: file}), nil},
		{"once each", ralph.Block, changed(content.File{Path: ".claude/settings.json", NewMode: file}), []string{"protected block .claude/settings.json .claude/: added"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := content.Policy{Protected: patterns(t, content.Protected()...), OnProtected: tt.on}
			equal(t, lines(p.Judge(tt.work)), tt.want)
		})
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	some := func(prefix string, n int, size int64) []content.File {
		var list []content.File
		for i := range n {
			list = append(list, content.File{Path: fmt.Sprint(prefix, i), NewMode: file, Size: size})
		}
		return list
	}
	in := func(commit string, files []content.File) []content.File {
		for i := range files {
			files[i].Commit = commit
		}
		return files
	}
	p := content.Policy{MaxFiles: 10, MaxBytes: 100}
	for _, tt := range []struct {
		name string
		work content.Work
		want []string
	}{
		{"within", content.Work{Total: some("a", 10, 10), Run: some("a", 10, 10)}, nil},
		{"files", content.Work{Total: some("a", 11, 1), Run: some("a", 1, 1)}, []string{"max-changed-files: 11 files"}},
		{"bytes", content.Work{Total: some("a", 2, 51), Run: some("a", 2, 51)}, []string{"max-changed-bytes: 102 bytes"}},
		{"deleted files count, their bytes do not", content.Work{Total: some("a", 11, 0), Run: some("a", 11, 0)}, []string{"max-changed-files: 11 files"}},
		{"sizes that are not known", content.Work{Total: some("a", 5, -1)}, nil},
		{"large before the run", content.Work{Total: append(some("theirs", 30, 100), some("a", 2, 1)...), Run: some("a", 2, 1)}, nil},
		{"large before the run, and this is, too", content.Work{Total: append(some("theirs", 30, 100), some("a", 11, 10)...), Run: some("a", 11, 10)}, []string{"max-changed-files: 11 files", "max-changed-bytes: 110 bytes"}},
		{"files that a commit has and a later one removes", content.Work{Since: append(in("1", some("a", 11, 1)), in("2", some("a", 11, 0))...)}, []string{"max-changed-files: 11 files"}},
		{"bytes that a commit has and a later one removes", content.Work{Since: append(in("1", some("a", 1, 60)), in("2", some("a", 1, 60))...)}, []string{"max-changed-bytes: 120 bytes"}},
		{"commits within", content.Work{Total: some("a", 10, 10), Since: append(some("a", 10, 10), in("1", some("a", 10, 10))...)}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, f := range p.Judge(tt.work) {
				if f.Kind != ralph.FindingSize || f.Severity != ralph.Block || !strings.Contains(f.Text, f.Rule) {
					t.Errorf("finding %+v, want a blocking one of size that names its input", f)
				}
				what := "files"
				if f.Rule == "max-changed-bytes" {
					what = "bytes"
				}
				number := strings.FieldsFunc(f.Text, func(c rune) bool { return c < '0' || c > '9' })[0]
				got = append(got, fmt.Sprintf("%s: %s %s", f.Rule, number, what))
			}
			equal(t, got, tt.want)
		})
	}
	if got := (content.Policy{}).Judge(content.Work{Total: some("a", 100_000, 1<<30)}); len(got) != 0 {
		t.Errorf("Judge() without limits = %v", lines(got))
	}
}

// What is left out is picked by the same patterns, and blocks where it was not left out.
func TestProtectedPathsAreLeftOut(t *testing.T) {
	t.Parallel()
	p := content.Policy{Protected: patterns(t, content.Protected()...), OnProtected: ralph.LeftOut}
	for path, want := range map[string]bool{".github/workflows/ci.yml": true, ".GitHub/Workflows": true, "docs/CODEOWNERS": true, "src/main.go": false, "": false} {
		if got := p.LeavesOut(path); got != want {
			t.Errorf("LeavesOut(%q) = %t, want %t", path, got, want)
		}
	}
	for _, on := range []ralph.Severity{ralph.Block, ralph.Draft, ralph.Flag, ""} {
		if (content.Policy{Protected: p.Protected, OnProtected: on}).LeavesOut("CODEOWNERS") {
			t.Errorf("LeavesOut(CODEOWNERS) with %q = true, want false", on)
		}
	}
	equal(t, lines([]ralph.Finding{p.LeftOut(content.File{Path: "CODEOWNERS", OldMode: file})}), []string{"protected left-out CODEOWNERS CODEOWNERS: deleted"})
	work := []content.File{{Path: "CODEOWNERS", NewMode: file}}
	equal(t, lines(p.Judge(content.Work{Total: work, Run: work, Since: work})), []string{"protected block CODEOWNERS CODEOWNERS: added"})
}
