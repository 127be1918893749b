package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/cli/demo/gitserver"
	"github.com/org/ralph-action/internal/testing/actionrun"
	"github.com/org/ralph-action/internal/testing/fakegithub"
)

// An integration that is killed with SIGKILL at a step that others see, and run again, leaves
// the branch and the pull request that it leaves undisturbed.
func TestIntegrationKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	program := binary(t)
	files := map[string]gitserver.File{
		"hot":             {Content: "cold\n"},
		"check.sh":        {Content: "test ! -e broken\n"},
		"ralph/prompt.md": {Content: "Work.\n"}, "ralph/progress.txt": {Content: "# Log\n"},
		"lane.sh": {Content: `echo "$1 is done" >>ralph/progress.txt; echo work >"$1"
case $1 in US-1) echo 1 >hot;; US-2) echo 2 >hot;; US-4) echo oh >broken;; esac
sed -i "/\"$1\"/s/\"passes\": false, \"reviewStatus\": null, \"reviewCount\": 0/\"passes\": true, \"reviewStatus\": \"approved\", \"reviewCount\": 1/" ralph/tasks.json
`},
	}
	list := `{"project": "p", "branchName": "ralph/shop", "description": "A shop", "verifyCommands": ["sh check.sh"], "userStories": [`
	for i := 1; i <= 6; i++ {
		if i > 1 {
			list += ","
		}
		list += fmt.Sprintf("\n{\"id\": \"US-%d\", \"title\": \"Story %d\", \"acceptanceCriteria\": [\"it works\"], \"priority\": %d, \"passes\": false, \"reviewStatus\": null, \"reviewCount\": 0, \"reviewFeedback\": \"\", \"notes\": \"done\"}", i, i, i)
	}
	files["ralph/tasks.json"] = gitserver.File{Content: list + "\n]}\n"}
	place := func(t testing.TB, o fakegithub.Options) (*fakegithub.Repository, string) {
		r, token := actionrun.Place(t, "", o)
		if _, err := r.Commit("main", "the list", files); err != nil {
			t.Fatal(err)
		}
		return r, token
	}
	// What the lanes hand over is the same for every forge, as the ids of commits are.
	dir := t.TempDir()
	forge, clone, artifacts := filepath.Join(dir, "forge"), filepath.Join(dir, "clone"), filepath.Join(dir, "lanes")
	place(t, fakegithub.Options{Dir: forge})
	if out, err := exec.Command("git", "clone", "-q", filepath.Join(forge, "octo", "work.git"), clone).CombinedOutput(); err != nil {
		t.Fatalf("git clone: %v\n%s", err, out)
	}
	if err := lanes([]string{artifacts, clone, "1", "L001=US-1", "L002=US-2,US-3", "L003=US-4,US-5,US-6"}); err != nil {
		t.Fatal(err)
	}
	handedOver := maps.Clone(files)
	err := filepath.WalkDir(artifacts, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		handedOver[filepath.ToSlash(rel)] = gitserver.File{Content: string(data)}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	actionrun.KillAtEveryStep(t, actionrun.Scenario{Name: "integration", Make: func(t testing.TB) actionrun.Action {
		r, token := place(t, fakegithub.Options{})
		if _, err := r.Commit("main", "what the lanes handed over", handedOver); err != nil {
			t.Fatal(err)
		}
		return actionrun.Action{Program: program, Repo: r, Token: token, Inputs: map[string]string{"mode": "integrate", "lanes": "lanes"}, Depth: 10}
	}, State: func(r *fakegithub.Repository) string { // what lanes hand over has times in it
		text := ""
		for _, c := range r.Log("main", "ralph/shop") {
			text += c.Subject + "\n"
		}
		for _, path := range r.Files("ralph/shop") {
			if !strings.HasPrefix(path, "lanes/") {
				text += "-- " + path + "\n" + r.Content("ralph/shop", path)
			}
		}
		for _, p := range r.Pulls() {
			text += fmt.Sprintf("#%d %s %s draft %t\n", p.Number, p.Title, p.State, p.Draft)
		}
		return text
	}}, func(m actionrun.Moment) bool { // of the pushes in between one, of the first pull request the moment before
		return long && m.After || m.Write == 0 && !m.After || m.After && m.Write > 0 && m.Write != 2
	})
}
