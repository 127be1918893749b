package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/cli/demo/gitserver"
	"github.com/org/ralph-action/internal/fanout"
	"github.com/org/ralph-action/internal/testing/actionrun"
	"github.com/org/ralph-action/internal/testing/fakegithub"
	"github.com/org/ralph-action/internal/testing/fakeresults"
)

const laneAgent = `cat > .git/prompt
mode=$(sed -n 's/.*mode \*\*\([^*]*\)\*\*.*/\1/p' .git/prompt | head -1)
id=$(sed -n 's/.*story \*\*\([^*]*\)\*\*.*/\1/p' .git/prompt | head -1)
case $mode in
implement) echo "$id" > "$id.txt"; sed -i "/\"id\": \"$id\"/s/\"reviewStatus\": null/\"reviewStatus\": \"needs_review\"/" ralph/tasks.json; echo done ;;
review) sed -i "/\"id\": \"$id\"/{s/\"reviewStatus\": \"needs_review\"/\"reviewStatus\": \"approved\"/;s/\"passes\": false/\"passes\": true/;s/\"reviewCount\": 0/\"reviewCount\": 1/}" ralph/tasks.json
  echo '<verdict>approved</verdict>' ;;
esac
`

func laneList(ids []string) string {
	var stories []string
	for _, id := range ids {
		stories = append(stories, fmt.Sprintf(`{"id": %q, "title": %q, "acceptanceCriteria": ["x"], "priority": 1, "passes": false, "reviewStatus": null, "reviewCount": 0, "reviewFeedback": "", "notes": "n"}`, id, "Story "+id))
	}
	return "{\"project\": \"p\", \"branchName\": \"ralph/p\", \"description\": \"d\", \"userStories\": [\n" + strings.Join(stories, ",\n") + "\n]}\n"
}

// Killed with SIGKILL before or after whatever a lane sends, and run again with the artifacts
// that arrived, a lane hands over what it does undisturbed, and does no story again whose
// artifact had arrived.
func TestLaneKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	ids := []string{"A", "B"} // one that had arrived, and one that had not
	if long {
		ids = []string{"A", "B", "C"}
	}
	make := func(t *testing.T) actionrun.Action {
		r, token := actionrun.Place(t, laneAgent, fakegithub.Options{})
		if _, err := r.Commit("main", "list", map[string]gitserver.File{
			"agent.sh": {Content: laneAgent}, "ralph/tasks.json": {Content: laneList(ids)}, "ralph/prompt.md": {Content: "mode **{{MODE}}**, story **{{STORY_ID}}**\n"},
		}); err != nil {
			t.Fatal(err)
		}
		return actionrun.Action{Program: binary(t), Repo: r, Token: token, Inputs: map[string]string{
			"mode": "tasks", "agent": "text", "agent-command": "sh agent.sh", "stories": strings.Join(ids, ","), "publish": "bundle", "lane": "w1-L001-0123456789ab", "github-token": "",
		}}
	}
	var steps []string
	clean := make(t)
	want, _ := runLane(t, clean, t.TempDir(), nil, func(step string, n int, after bool) bool {
		if !after {
			steps = append(steps, fmt.Sprintf("%s %d", step, n))
		}
		return false
	})
	if len(steps) < 4*len(ids)+4 || want.Outcome != "completed" {
		t.Fatalf("%d steps and %s, want four for each of %d stories and the end: %s", len(steps), want.Outcome, len(ids), want.Reason)
	}
	for i, step := range steps {
		for n, after := range []bool{false, true} {
			if (2*i+n)%5 != 1 && !long {
				continue // each request is met, and so is each state of an artifact
			}
			t.Run(fmt.Sprintf("%s after=%t", step, after), func(t *testing.T) {
				t.Parallel()
				a, dir := make(t), t.TempDir()
				first, artifacts := runLane(t, a, filepath.Join(dir, "1"), nil, func(s string, n int, ended bool) bool {
					return fmt.Sprintf("%s %d", s, n) == step && ended == after
				})
				a.RunID, a.Env = 2, map[string]string{"GITHUB_RUN_ATTEMPT": "2"}
				again := filepath.Join(dir, "2")
				if err := a.Checkout(again); err != nil {
					t.Fatal(err)
				}
				if err := os.CopyFS(filepath.Join(actionrun.Workspace(again), "in"), os.DirFS(artifacts)); err != nil {
					t.Fatal(err)
				}
				a.Inputs["lanes"] = "in"
				got, _ := runLane(t, a, again, first, nil)
				if a, b := told(got), told(want); a != b {
					t.Errorf("after the kill and another attempt:\n%s\nwant, as without the kill:\n%s", a, b)
				}
			})
		}
	}
}

// told is what must be the same whether a lane was killed or not.
func told(r *fanout.Result) string {
	text := r.Outcome
	for _, s := range r.Stories {
		text += fmt.Sprintf("\n%s %s %v, reviews %d, iterations %d", s.ID, s.State, s.Paths, s.Reviews, s.Iterations)
	}
	return text
}

// runLane runs a lane, kills it at a request of which kill is true, and returns its newest
// result that arrived and where all lie. Of what before has, no story is worked on.
func runLane(t *testing.T, a actionrun.Action, dir string, before *fanout.Result, kill func(step string, n int, after bool) bool) (*fanout.Result, string) {
	t.Helper()
	artifacts := filepath.Join(dir, "artifacts")
	if err := os.MkdirAll(artifacts, 0o755); err != nil {
		t.Fatal(err)
	}
	server := fakeresults.New(t, artifacts)
	var running *actionrun.Running
	ready, killed := make(chan struct{}), false
	end := func() {
		<-ready
		killed = true
		running.Kill()
	}
	server.Faults(func(step string, n int) int {
		if kill != nil && !killed && kill(step, n, false) {
			end()
			return 500
		}
		return 0
	})
	server.Afters(func(step string, n int) {
		if kill != nil && !killed && kill(step, n, true) {
			end()
		}
	})
	if a.Env == nil {
		a.Env = map[string]string{}
	}
	a.Env["ACTIONS_RESULTS_URL"], a.Env["ACTIONS_RUNTIME_TOKEN"] = server.URL, fakeresults.Token
	var err error
	running, err = a.Start(dir)
	close(ready)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	res, err := running.Wait(ctx)
	if err != nil || res.Code != 0 && !killed {
		t.Fatalf("exit code %d, %v\n%s", res.Code, err, res.Log)
	}
	if killed { // the step after it has nothing to publish
		post := a
		post.Post = true
		if res, err := post.Run(ctx, dir); err != nil || res.Code != 0 {
			t.Errorf("post: exit code %d, %v\n%s", res.Code, err, res.Log)
		}
		if branches := a.Repo.Branches(); !slices.Equal(branches, []string{"main"}) || len(a.Repo.Pulls()) > 0 {
			t.Errorf("branches %q and pull requests %v, want none of the lane", branches, a.Repo.Pulls())
		}
	}
	if before != nil {
		for _, s := range before.Stories {
			if s.Commit != "" && strings.Contains(res.Log, "implement "+s.ID) {
				t.Errorf("story %s had arrived and was done again:\n%s", s.ID, res.Log)
			}
		}
	}
	return newest(t, a, artifacts, server.Finished()), artifacts
}

// newest is the artifact with the highest sequence, of which git must take the bundle.
func newest(t *testing.T, a actionrun.Action, dir string, names []string) *fanout.Result {
	t.Helper()
	var list []*fanout.Result
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, name, fanout.ResultName))
		if err != nil {
			t.Fatal(err)
		}
		r, err := fanout.DecodeResult(data)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if r.Bundle != "" {
			clone := t.TempDir()
			for _, args := range [][]string{{"clone", "-q", "--bare", a.Repo.URL(), clone}, {"-C", clone, "fetch", "-q", filepath.Join(dir, name, fanout.BundleName), "refs/heads/" + r.Key + ":refs/heads/lane"}, {"-C", clone, "fsck", "--strict"}} {
				cmd := exec.Command("git", args...)
				cmd.Env = append(os.Environ(), "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http.extraheader", "GIT_CONFIG_VALUE_0=Authorization: Bearer "+a.Token)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("git %v: %v\n%s", args, err, out)
				}
			}
		}
		list = append(list, r)
	}
	if len(list) == 0 {
		return &fanout.Result{}
	}
	return slices.MaxFunc(list, func(a, b *fanout.Result) int { return cmp.Compare(a.Sequence, b.Sequence) })
}
