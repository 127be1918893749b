package tasks_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/tasks"
)

// 003-31
func TestArchive(t *testing.T) {
	t.Parallel()
	f, project := folder(t)
	mustInit(t, f, "x")
	list := file(story("US-1", approved), story("US|2", autoState), story("US-3", open))
	put(t, list, project, "ralph/tasks.json")
	put(t, "my PRD", project, "ralph/prd.md")
	put(t, "my prompt", project, "ralph/prompt.md")
	put(t, "# Log\nStarted: 2026-02-27\n", project, "ralph/progress.txt")
	done, err := f.Archive(tasks.ArchiveOptions{At: noon, Rules: reviewed})
	path := done.Path
	if err != nil || path != "ralph-archive/2026-03-04-ralph-shop" {
		t.Fatalf("Archive = %s, %v", path, err)
	}
	same(t, "changed", done.Changed, []string{path, "ralph/prd.md", "ralph/tasks.json", "ralph/progress.txt"})
	if slurp(t, project, path, "tasks.json") != list || slurp(t, project, path, "prd.md") != "my PRD" ||
		!strings.HasPrefix(slurp(t, project, path, "progress.txt"), "# Log") {
		t.Error("something was not moved as it was")
	}
	if slurp(t, project, "ralph/prompt.md") != "my prompt" {
		t.Error("the prompt is gone")
	}
	if !strings.Contains(slurp(t, project, "ralph/tasks.json"), `"ralph/feature-name"`) || !strings.Contains(slurp(t, project, "ralph/progress.txt"), "Started: 2026-03-04") ||
		!strings.Contains(slurp(t, project, "ralph/prd.md"), "## 1. Summary") {
		t.Error("the folder does not begin anew")
	}
	want := `# Shop

- Date: 2026-02-27 to 2026-03-04
- Branch: ralph/shop
- Stories completed: 2 of 3
- Reviews: 6, 3.0 per reviewed story, at most 5
- Approved at the first review: 1 of 2 reviewed stories
- Stories by number of reviews: 1 with 0, 1 with 1, 1 with 5
- **Approved at the review cap, have a look:** US\|2

| Story | Title | State | Reviews |
| --- | --- | --- | ---: |
| US-1 | Title of US-1 | done | 1 |
| US\|2 | Title of US\|2 | approved at cap | 5 |
| US-3 | Title of US-3 | open | 0 |
`
	if got := slurp(t, project, path, "summary.md"); got != want {
		t.Errorf("summary.md =\n%s\nwant\n%s", got, want)
	}

	put(t, list, project, "ralph/tasks.json")
	for _, want := range []string{"ralph-archive/2026-03-04-etc-passwd", "ralph-archive/2026-03-04-etc-passwd-2"} {
		put(t, list, project, "ralph/tasks.json")
		if done, err := f.Archive(tasks.ArchiveOptions{At: noon, Label: "../../etc/passwd"}); err != nil || done.Path != want {
			t.Errorf("Archive = %s, %v, want %s", done.Path, err, want)
		}
	}
}

func TestArchiveRefuses(t *testing.T) {
	t.Parallel()
	f, project := folder(t)
	if _, err := f.Archive(tasks.ArchiveOptions{At: noon}); err == nil || !strings.Contains(err.Error(), "folder ralph is missing; make it with: ralph tasks init") {
		t.Errorf("without a folder: %v", err)
	}
	mustInit(t, f, "x")
	if _, err := f.Archive(tasks.ArchiveOptions{At: noon}); err == nil || !strings.Contains(err.Error(), "ralph/tasks.json cannot be summed up: ") {
		t.Errorf("with an unfinished list: %v", err)
	}
	put(t, file(story("A", open)), project, "ralph/tasks.json")
	if err := os.Remove(filepath.Join(project, "ralph/prd.md")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(project, "ralph/prd.md")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Archive(tasks.ArchiveOptions{At: noon}); err == nil || err.Error() != "ralph/prd.md is a symbolic link: it has to be a file of its own" {
		t.Errorf("with a link: %v", err)
	}
	if entries, err := os.ReadDir(filepath.Join(project, "ralph-archive")); err == nil && len(entries) > 0 {
		t.Errorf("something was archived: %v", entries)
	}
}
