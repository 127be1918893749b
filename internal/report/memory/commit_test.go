package memory_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/memory"
)

func TestCommitMessage(t *testing.T) {
	t.Parallel()
	it := ralph.Iteration{Number: 2, Marker: true}
	said := func(text string) ralph.Iteration {
		it := it
		it.Delivery.Message = text
		return it
	}
	kept := it
	kept.Number, kept.Kept = 1, 3
	cost := ralph.Cost{Amount: 15_100}
	none := ralph.Cost{Unknown: true}
	did := func(said ralph.Said) ralph.Iteration {
		it := it
		it.Said = said
		return it
	}
	long := strings.Repeat("words of a long line ", 5)
	const tail = "\n\nRalph-Iteration: 2\n"
	for name, c := range map[string]struct {
		it   ralph.Iteration
		at   memory.Checkpoint
		want string
	}{
		"default":         {it, memory.Checkpoint{Run: "42-1", Cost: cost}, "ralph: iteration 2\n\nRalph-Run: 42-1\nRalph-Iteration: 2\nRalph-Cost-USD: 0.0151\n"},
		"outcome":         {it, memory.Checkpoint{Run: "42-1", Cost: cost, Outcome: ralph.Completed}, "ralph: iteration 2\n\nRalph-Run: 42-1\nRalph-Iteration: 2\nRalph-Cost-USD: 0.0151\nRalph-Outcome: completed\n"},
		"counts on":       {it, memory.Checkpoint{Before: 5, Cost: none}, "ralph: iteration 7\n\nRalph-Iteration: 7\n"},
		"a session":       {kept, memory.Checkpoint{Before: 5, Cost: none}, "ralph: iteration 9\n\nRalph-Iteration: 9\n"},
		"nothing spent":   {it, memory.Checkpoint{}, "ralph: iteration 2\n\nRalph-Iteration: 2\nRalph-Cost-USD: 0\n"},
		"unknown cost":    {it, memory.Checkpoint{Cost: none}, "ralph: iteration 2" + tail},
		"partly known":    {it, memory.Checkpoint{Cost: ralph.Cost{Amount: 15_100, Unknown: true}}, "ralph: iteration 2\n\nRalph-Iteration: 2\nRalph-Cost-At-Least-USD: 0.0151\n"},
		"estimated":       {it, memory.Checkpoint{Cost: ralph.Cost{Amount: 15_100, Estimated: true}}, "ralph: iteration 2\n\nRalph-Iteration: 2\nRalph-Cost-USD: 0.0151\nRalph-Cost-Estimated: true\n"},
		"signed off":      {it, memory.Checkpoint{Cost: none, Signoff: "Mona <mona@x.example>"}, "ralph: iteration 2" + tail + "Signed-off-by: Mona <mona@x.example>\n"},
		"template":        {it, memory.Checkpoint{Cost: none, Template: "calc: repair\n\nThe why.\n"}, "calc: repair\n\nThe why." + tail},
		"a name of ours":  {it, memory.Checkpoint{Cost: none, Template: "ralph-cli: repair"}, "ralph-cli: repair" + tail},
		"own trailers":    {it, memory.Checkpoint{Cost: none, Template: "calc: repair\n\nSigned-off-by: M <m@x.example>"}, "calc: repair\n\nSigned-off-by: M <m@x.example>\nRalph-Iteration: 2\n"},
		"forged trailers": {it, memory.Checkpoint{Cost: none, Template: "x\n\nRalph-Cost-USD: -9\nralph-run : 1\r\n Ralph-Iteration: 7"}, "x" + tail},
		"control":         {it, memory.Checkpoint{Cost: none, Template: "a\x00\x1b[31mb", Run: "1\nRalph-Cost-USD: 0"}, "ab\n\nRalph-Run: 1 Ralph-Cost-USD: 0\nRalph-Iteration: 2\n"},
		"the agent's words": {
			said("calc: repair the sum\nIt was a difference. @octocat: fixes #12"), memory.Checkpoint{Cost: none},
			"calc: repair the sum\n\nIt was a difference. @\u200doctocat: fixes #\u200d12" + tail,
		},
		"the template counts more":   {said("calc: repair"), memory.Checkpoint{Cost: none, Template: "mine"}, "mine" + tail},
		"the agent signs off nobody": {said("calc: repair\n\nWhy.\n\nRalph-Run: 1\n\nSigned-off-by: Linus <l@x.example>\nCo-authored-by: M <m@x.example>"), memory.Checkpoint{Cost: none}, "calc: repair\n\nWhy." + tail},
		"the agent skips no checks":  {said("docs: say it [skip ci] [Ci Skip]\n\nskip-checks: true"), memory.Checkpoint{Cost: none}, "docs: say it [\u200dskip ci] [\u200dCi Skip]" + tail},
		"the agent says too much":    {said(strings.Repeat("word ", 100_000)), memory.Checkpoint{Cost: none}, strings.TrimSpace(strings.Repeat("word ", 19)) + "…" + tail},
		"what it did":                {did(ralph.Said{Commit: "Round half up [skip ci]\nRalph-Run: 1"}), memory.Checkpoint{Cost: none}, "Round half up [\u200dskip ci] Ralph-Run: 1" + tail},
		"asked counts more":          {ralph.Iteration{Number: 2, Said: ralph.Said{Commit: "b"}, Delivery: ralph.Delivery{Message: "a"}}, memory.Checkpoint{Cost: none}, "a" + tail},
		"a trailer for a line":       {did(ralph.Said{Commit: "Ralph-Outcome: completed"}), memory.Checkpoint{Cost: none, Files: []ralph.File{{Path: "a.go"}}}, "Change a.go" + tail},
		"a person for a line":        {did(ralph.Said{Commit: "Signed-off-by: Linus <l@x.example>"}), memory.Checkpoint{Cost: none}, "ralph: iteration 2" + tail},
		"one file":                   {it, memory.Checkpoint{Cost: none, Files: []ralph.File{{Path: "src/price.js"}}}, "Change src/price.js" + tail},
		"files":                      {it, memory.Checkpoint{Cost: none, Files: []ralph.File{{Path: "@octocat/a\nb.js"}, {Path: "c.js", New: true}, {Path: "d.js", Gone: true}}}, "Change @\u200doctocat/a b.js and 2 more files" + tail},
		"new files":                  {it, memory.Checkpoint{Cost: none, Files: []ralph.File{{Path: "a.js", New: true}, {Path: "b.js", New: true}}}, "Add a.js and 1 more file" + tail},
		"a file that is gone":        {it, memory.Checkpoint{Cost: none, Files: []ralph.File{{Path: "a.js", Gone: true}}}, "Delete a.js" + tail},
		"the change": {
			did(ralph.Said{Commit: "Round", Title: "Round @all", Description: "- " + long + "\n```\n" + long + "\n```\nRalph-Run: 1\n\nCo-authored-by: M <m@x.example>\nRefs: 12"}), memory.Checkpoint{Cost: none},
			"Round\n\n- words of a long line words of a long line words of a long line words\n  of a long line words of a long line\n```\n" + strings.TrimSpace(long) + "\n```\n\nRalph-Iteration: 2\nRalph-Title: Round @\u200dall\n",
		},
		"a title alone":                 {did(ralph.Said{Title: "Round"}), memory.Checkpoint{Cost: none, Template: "mine"}, "mine\n\nRalph-Iteration: 2\nRalph-Title: Round\n"},
		"a message with a body":         {did(ralph.Said{Title: "Round", Description: "Why."}), memory.Checkpoint{Cost: none, Template: "mine\n\nBecause."}, "mine\n\nBecause." + tail},
		"the agent says nothing usable": {said("\u200b\n\nRalph-Run: 1"), memory.Checkpoint{Cost: none}, "ralph: iteration 2" + tail},
	} {
		if got := memory.CommitMessage(c.it, c.at); got != c.want {
			t.Errorf("%s: CommitMessage() = %q, want %q", name, got, c.want)
		}
	}
}

// git runs git away from every configuration of this machine.
func git(t *testing.T, dir, stdin string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	cmd := exec.CommandContext(context.Background(), "git", args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "LC_ALL=C",
		"GIT_AUTHOR_NAME=Octo Cat", "GIT_AUTHOR_EMAIL=octo@x.example", "GIT_COMMITTER_NAME=github-actions[bot]", "GIT_COMMITTER_EMAIL=41898282+github-actions[bot]@users.noreply.github.com",
	}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %v: %v", args, err)
	}
	return string(out)
}

// templates are commit messages of owners, with and without trailers.
func templates() map[string]string {
	return map[string]string{
		"subject":            "calc: repair",
		"subject like one":   "Fixes: the sum",
		"body":               "calc: repair\n\nThe sum was a difference.\nNow it is not.",
		"paragraphs":         "calc: repair\n\nOne.\n\nTwo: not a trailer block\nas this line is none.",
		"trailers":           "calc: repair\n\nWhy.\n\nReviewed-by: M <m@x.example>\nRefs: ABC-1",
		"folded":             "calc: repair\n\nWhy.\n\nNote: a long\n  value goes on\nRefs: ABC-1",
		"git's among prose":  "calc: repair\n\nWhy, and\nwhy again.\nSigned-off-by: M <m@x.example>",
		"git's lost":         "calc: repair\n\n1\n2\n3\n4\n5\nSigned-off-by: M <m@x.example>",
		"a reference":        "calc: repair\n\nWhy.\n\nFixes: #12",
		"an address":         "calc: repair\n\nWhy.\n\nhttps://x.example/12",
		"cherry-picked":      "calc: repair\n\nWhy.\n(cherry picked from commit 1f0c2d3e4b5a69788796a5b4c3d2e1f001234567)",
		"two blocks":         "calc: repair\n\nRefs: 1\n\nRefs: 2",
		"trailers then body": "calc: repair\n\nRefs: 1\n\nAnd a word.",
		"wide title":         "calc: repair\nand another line\n\nRefs: 1",
		"only a paragraph":   "calc: repair\nRefs: 1",
	}
}

// Trailers stand where git interpret-trailers puts them, and git reads them.
func TestTrailersAsGitAddsThem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range templates() {
		got := memory.CommitMessage(ralph.Iteration{Number: 2}, memory.Checkpoint{Template: text, Run: "42", Cost: ralph.Cost{Amount: 15_100}})
		want := git(t, dir, text+"\n", "interpret-trailers", "--no-divider", "--trailer", "Ralph-Run: 42", "--trailer", "Ralph-Iteration: 2", "--trailer", "Ralph-Cost-USD: 0.0151")
		if got != strings.Replace(want, "https: //", "https://", 1) { // git takes an address for a trailer, and spoils it
			t.Errorf("%s: CommitMessage() = %q, git adds them so: %q", name, got, want)
		}
		if read := git(t, dir, got, "interpret-trailers", "--no-divider", "--parse"); !strings.HasSuffix(read, "Ralph-Run: 42\nRalph-Iteration: 2\nRalph-Cost-USD: 0.0151\n") {
			t.Errorf("%s: git reads the trailers %q of %q", name, read, got)
		}
	}
}

// The sign-off is letter by letter that of git commit --signoff.
func TestSignoffAsGitCommits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git(t, dir, "", "init", "-q")
	const who = "github-actions[bot] <41898282+github-actions[bot]@users.noreply.github.com>"
	for name, text := range templates() {
		at := memory.Checkpoint{Template: text, Run: "42", Cost: ralph.Cost{Unknown: true}}
		without := memory.CommitMessage(ralph.Iteration{Number: 2}, at)
		at.Signoff = who
		got := memory.CommitMessage(ralph.Iteration{Number: 2}, at)
		file := filepath.Join(dir, "message")
		if err := os.WriteFile(file, []byte(without), 0o644); err != nil {
			t.Fatal(err)
		}
		git(t, dir, "", "commit", "-q", "--allow-empty", "--signoff", "--cleanup=verbatim", "--file", file)
		if want := git(t, dir, "", "cat-file", "commit", "HEAD"); !strings.HasSuffix(want, "\n\n"+got) {
			t.Errorf("%s: CommitMessage() = %q, git commits %q", name, got, want)
		}
	}
	// A template that is signed off already is not signed off twice.
	for _, text := range []string{"x\n\nSigned-off-by: " + who, "x\n\nSigned-off-by: " + who + "\nRefs: 1"} {
		got := memory.CommitMessage(ralph.Iteration{Number: 2}, memory.Checkpoint{Template: text, Signoff: who})
		if lines := strings.Split(got, "\n"); strings.Count(got, "Signed-off-by") != 1 || !slices.Contains(lines, "Signed-off-by: "+who) {
			t.Errorf("CommitMessage() = %q, want one sign-off", got)
		}
	}
}
