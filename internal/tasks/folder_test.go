package tasks_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/run/stories"
	"github.com/org/ralph-action/internal/tasks"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.FixedZone("", 3600))

func folder(t *testing.T) (*tasks.Folder, string) {
	t.Helper()
	project := filepath.Join(t.TempDir(), "shop")
	if err := os.Mkdir(project, 0o755); err != nil {
		t.Fatal(err)
	}
	return reopen(t, project), project
}

func reopen(t *testing.T, project string) *tasks.Folder {
	t.Helper()
	f, err := tasks.OpenFolder(project, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func slurp(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func put(t *testing.T, text string, path ...string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(path...), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func mustInit(t *testing.T, f *tasks.Folder, name string) tasks.Initialized {
	t.Helper()
	done, err := f.Init(tasks.InitOptions{Name: name, At: noon})
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// 003-29, 003-30
func TestInit(t *testing.T) {
	t.Parallel()
	f, project := folder(t)
	put(t, "/bin", project, ".gitignore")
	done := mustInit(t, f, "checkout")
	same(t, "created", done.Created, []string{"ralph/prd.md", "ralph/tasks.json", "ralph/progress.txt", "ralph/prompt.md", ".gitignore"})
	if got := slurp(t, project, ".gitignore"); got != "/bin\n.ralph-active\n" {
		t.Errorf(".gitignore = %q", got)
	}
	if got := slurp(t, project, "ralph/progress.txt"); !strings.HasPrefix(got, "# Ralph Progress Log\nStarted: 2026-03-04\nPRD: checkout\n\n## Codebase Patterns\n") {
		t.Errorf("progress.txt = %s", got)
	}
	list := unmarshal(t, []byte(slurp(t, project, "ralph/tasks.json"))).(object)
	if list["branchName"] != "ralph/checkout" || len(list["verifyCommands"].([]any)) != 0 {
		t.Errorf("tasks.json = %v", list)
	}
	first := list["userStories"].([]any)[0].(object)
	for _, field := range []string{"id", "title", "description", "acceptanceCriteria", "priority", "passes", "reviewStatus", "reviewCount", "reviewFeedback", "notes", "dependsOn"} {
		if _, ok := first[field]; !ok {
			t.Errorf("the first story has no %s", field)
		}
	}
	// What is left to fill in is said, and nothing else.
	_, err := tasks.Read([]byte(slurp(t, project, "ralph/tasks.json")))
	if err == nil || !strings.HasSuffix(err.Error(), "Story US-001: acceptanceCriteria is an empty array: give at least one criterion") || strings.Contains(err.Error(), "\n") {
		t.Errorf("the template: %v", err)
	}

	put(t, "mine", project, "ralph/prompt.md")
	again := mustInit(t, f, "other")
	if len(again.Created) > 0 || len(again.Kept) != 5 || slurp(t, project, "ralph/prompt.md") != "mine" {
		t.Errorf("init again: %+v", again)
	}
	if prompt, err := f.Read(tasks.PromptName); err != nil || prompt != "mine" {
		t.Errorf("Prompt = %q, %v", prompt, err)
	}
}

func TestInitNames(t *testing.T) {
	t.Parallel()
	f, project := folder(t)
	if _, err := f.Init(tasks.InitOptions{Name: "a b", At: noon}); err == nil || !strings.Contains(err.Error(), `name "a b" makes no branch`) {
		t.Errorf("Init = %v", err)
	}
	if _, err := os.Stat(filepath.Join(project, "ralph")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a refused init left a folder: %v", err)
	}
	mustInit(t, f, "")
	if !strings.Contains(slurp(t, project, "ralph/progress.txt"), "PRD: shop\n") || !strings.Contains(slurp(t, project, "ralph/tasks.json"), `"ralph/feature-name"`) {
		t.Error("without a name the folder's is used, and the branch is left open")
	}
}

// 003-28, 003-32, 003-26, 003-06
func TestTemplates(t *testing.T) {
	t.Parallel()
	f, project := folder(t)
	mustInit(t, f, "x")
	prd := slurp(t, project, "ralph/prd.md")
	for i, section := range []string{"Summary", "Problem Statement", "Goals", "Non-Goals", "Background & Context", "Technical Design", "Constraints",
		"Edge Cases & Error Handling", "Risks & Mitigations", "Open Questions"} {
		if heading := fmt.Sprintf("\n## %d. %s\n", i+1, section); !strings.Contains(prd, heading) {
			t.Errorf("prd.md has no section %s", section)
		}
	}
	if n := strings.Count(prd, "\n## "); n != 10 {
		t.Errorf("prd.md has %d sections", n)
	}
	prompt := slurp(t, project, "ralph/prompt.md")
	s := snapshot(t, reviewed, story("US-7", waiting))
	prompt = stories.Values{Iteration: 2, MaxIterations: 9, Dir: "ralph", Snapshot: s}.Expand(prompt)
	if strings.Contains(prompt, "{{") {
		t.Errorf("a variable has no value:\n%s", prompt)
	}
	for _, want := range []string{"iteration 2 of 9", "mode **review**", "**US-7**", "<promise>COMPLETE</promise>", tasks.CapMark,
		"`feat: [US-7] - Title of US-7`", "`review: [US-7] - approved`", "`review: [US-7] - changes requested`", "`fix: [US-7] - address review feedback`",
		"One story per iteration", "never sets `passes`", "Never weaken", "read-only", "A review mends nothing", "leaves nothing of the feedback out",
		"Below this text there may be sections", "verifyCommands", "git diff", "git log", "Codebase Patterns", "progress.txt", "`dependsOn`", "CLAUDE.md",
		"If you are stuck", "does no harm"} {
		if !strings.Contains(prompt, want) {
			t.Errorf("prompt.md does not say %s", want)
		}
	}
}

// Whatever stands in the place of tasks.json is not followed, and is replaced by
// the list that was there before.
func TestPlantedTasks(t *testing.T) {
	t.Parallel()
	text := file(story("A", open))
	for _, c := range []struct {
		name  string
		plant func(project, path string) error
		want  string
	}{
		{"missing", func(_, path string) error { return os.Remove(path) }, "ralph/tasks.json is missing"},
		{"a link elsewhere", func(project, path string) error {
			return errors.Join(os.Remove(path), os.Symlink(filepath.Join(project, "..", "secret"), path))
		}, "ralph/tasks.json is a symbolic link: it has to be a file of its own"},
		{"a link inside", func(_, path string) error { return errors.Join(os.Remove(path), os.Symlink("prd.md", path)) },
			"ralph/tasks.json is a symbolic link: it has to be a file of its own"},
		{"a pipe", func(_, path string) error { return errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o644)) },
			"ralph/tasks.json is a special file: it has to be a file of its own"},
		{"a folder", func(_, path string) error { return errors.Join(os.Remove(path), os.MkdirAll(path+"/x", 0o755)) },
			"ralph/tasks.json is a directory: it has to be a file of its own"},
		{"huge", func(_, path string) error { return os.Truncate(path, 9<<20) }, "read ralph/tasks.json: it is larger than 8 MiB"},
		{"no folder", func(project, _ string) error { return os.RemoveAll(filepath.Join(project, "ralph")) },
			"folder ralph is missing; make it with: ralph tasks init"},
		{"a folder that is a link", func(project, _ string) error {
			dir := filepath.Join(project, "ralph")
			return errors.Join(os.Rename(dir, dir+"2"), os.Symlink("ralph2", dir))
		}, "ralph is a symbolic link: it has to be a folder of the project"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f, project := folder(t)
			put(t, "untouched", project, "..", "secret")
			mustInit(t, f, "x")
			put(t, text, project, "ralph/tasks.json")
			s := tasks.Take(read(t, text), reviewed)
			if err := c.plant(project, filepath.Join(project, "ralph/tasks.json")); err != nil {
				t.Fatal(err)
			}
			_, err := f.Tasks()
			if err == nil || err.Error() != c.want {
				t.Fatalf("Tasks = %v, want %s", err, c.want)
			}
			r := s.Restore(err)
			same(t, "problems", texts(r.Problems), []string{c.want})
			if err := f.Write(tasks.TasksName, r.List.Bytes()); err != nil {
				t.Fatal(err)
			}
			if data, err := f.Tasks(); err != nil || string(data) != text {
				t.Errorf("Tasks = %q, %v", data, err)
			}
			if slurp(t, project, "..", "secret") != "untouched" {
				t.Error("a file outside was written")
			}
		})
	}
}

func TestOpenFolder(t *testing.T) {
	t.Parallel()
	project := t.TempDir()
	for dir, want := range map[string]string{"": "ralph/tasks.json", "./work/ralph/": "work/ralph/tasks.json", filepath.Join(project, "x"): "x/tasks.json"} {
		f, err := tasks.OpenFolder(project, dir)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Path(tasks.TasksName); got != want {
			t.Errorf("%q: %s, want %s", dir, got, want)
		}
		mustInit(t, f, "x")
		slurp(t, project, want)
		f.Close()
	}
	for _, dir := range []string{"..", ".", "../x", "/etc", project} {
		if _, err := tasks.OpenFolder(project, dir); err == nil || !strings.Contains(err.Error(), "does not lie in the project") {
			t.Errorf("%q: %v", dir, err)
		}
	}
	if _, err := tasks.OpenFolder(filepath.Join(project, "none"), ""); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("no project: %v", err)
	}
}
