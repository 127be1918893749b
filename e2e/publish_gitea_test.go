//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// E1-1: ci-token that may not push: the message is about the wrong token and place.
func TestPublishForkTokenMessage(t *testing.T) {
	t.Parallel()
	r := forge(t).newRepository(t, program)
	ann := r.newAccount(t, "ann")
	r.collaborator(t, ann.Name, "read")
	anns := r.fork(t, ann, "work")
	j := newNight(t, r, writes("one.txt", "ours"))
	j.Inputs["push-to-fork"], j.Inputs["ci-token"] = anns.Name, r.newToken(t, ann.Name, "read:repository")
	res := j.must(t, 2, "invalid")
	wants(t, "log", res.Log, anns.Name, "ci-token")
	if strings.Contains(res.Log, `permissions: contents: write" to the job`) {
		t.Error("the job's permissions have nothing to do with ci-token")
	}
}

// E1-2: Gitea's jobs are told which labels were set (changes.added_labels): an
// issue that has "ralph" and gets another one starts nothing.
func TestPublishOtherLabel(t *testing.T) {
	t.Parallel()
	r := forge(t).newRepository(t, program)
	r.newLabel(t, "ralph")
	e := r.listen(t)
	n := r.newIssue(t, r.Token, "Add mul", "It should multiply.")
	r.label(t, n, "ralph")
	var payload map[string]any
	if err := json.Unmarshal([]byte(e.next(t, "issues", `"label_updated"`)), &payload); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		changes map[string]any
		status  string
	}{
		"ralph is added":        {map[string]any{"added_labels": []any{map[string]any{"name": "ralph"}}, "removed_labels": []any{}}, "completed"},
		"another is added":      {map[string]any{"added_labels": []any{map[string]any{"name": "bug"}}, "removed_labels": []any{}}, "skipped"},
		"another is taken away": {map[string]any{"added_labels": nil, "removed_labels": []any{map[string]any{"name": "bug"}}}, "skipped"},
	} {
		payload["changes"] = c.changes
		b, err := json.Marshal(payload)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := onEvent(t, r, "issues", string(b), writes("mul.txt", "mul"))
			j.Inputs["on-incomplete"] = "succeed"
			j.must(t, 0, c.status)
		})
	}
}

// E1-3: the base is a fork itself: its own fork is one of its network.
func TestPublishForkOfFork(t *testing.T) {
	t.Parallel()
	r := forge(t).newRepository(t, program)
	ann, bob := r.newAccount(t, "ann"), r.newAccount(t, "bob")
	r.collaborator(t, ann.Name, "read")
	anns := r.fork(t, ann, "anns")
	if _, err := r.callAs("token "+ann.Token, http.MethodPut, fmt.Sprintf("/repos/%s/collaborators/%s", anns.Name, bob.Name), map[string]any{"permission": "read"}, nil); err != nil {
		t.Fatal(err)
	}
	bobs := anns.fork(t, bob, "bobs")
	j := newNight(t, anns, writes("one.txt", "ours"))
	j.Inputs["push-to-fork"], j.Inputs["ci-token"] = bobs.Name, bob.Token
	j.must(t, 0, "completed")
	if ps := anns.forkPulls(t); len(ps) != 1 || ps[0].Head.Repo.FullName != bobs.Name {
		t.Errorf("pull requests = %+v, want one from %s", ps, bobs.Name)
	}
}

// E1-4: a token that may not read its own user still writes one comment only.
func TestPublishCommentWithoutReadUser(t *testing.T) {
	t.Parallel()
	r := forge(t).newRepository(t, program)
	r.newLabel(t, "ralph")
	e := r.listen(t)
	bot := r.newAccount(t, "bot")
	r.collaborator(t, bot.Name, "admin")
	n := r.newIssue(t, r.Token, "Add mul", "It should multiply.")
	r.label(t, n, "ralph")
	body := e.next(t, "issues", `"label_updated"`)
	token := r.newToken(t, bot.Name, "write:repository", "write:issue")
	for _, file := range []string{"one", "two"} {
		j := onEvent(t, r, "issues", body, writes(file, "x"))
		j.Inputs["github-token"] = token
		j.must(t, 0, "completed")
	}
	if got := r.comments(t, n); len(got) != 1 {
		t.Errorf("%d comments, want one that is kept up to date", len(got))
	}
}

// E1-5: owners whose names hold an underscore or a dot (Gitea; GitHub's managed
// users have one) can own a fork.
func TestPublishForkOwnerName(t *testing.T) {
	t.Parallel()
	r := forge(t).newRepository(t, program)
	ann := r.newAccount(t, "ann_b.c")
	r.collaborator(t, ann.Name, "read")
	anns := r.fork(t, ann, "work")
	j := newNight(t, r, writes("one.txt", "ours"))
	j.Inputs["push-to-fork"], j.Inputs["ci-token"] = anns.Name, ann.Token
	j.must(t, 0, "completed")
}

// E1-6: a repository whose owner has such a name is a repository.
func TestPublishOwnerName(t *testing.T) {
	t.Parallel()
	r := forge(t).newRepository(t, program)
	ann := r.newAccount(t, "ann_b.c")
	r.collaborator(t, ann.Name, "read")
	anns := r.fork(t, ann, "work.x_y")
	j := newNight(t, anns, writes("one.txt", "ours"))
	j.Inputs["reviewers"], j.Inputs["assignees"] = r.Owner, ann.Name
	res := j.must(t, 0, "completed")
	t.Log(res.Outputs)
}

// E1-7: git-lfs itself writes into .git/config; that is no change of the agent's.
func TestPublishLFSNote(t *testing.T) {
	t.Parallel()
	r := lfsRepository(t)
	j := newNight(t, r, writes("model.bin", "x"))
	if res := j.must(t, 0, "completed"); strings.Contains(res.Summary, "was changed during the run and put back") {
		t.Error("the summary blames the run for what git-lfs does by itself")
	}
}

// E1-8: draft: true says what a new pull request is; one that is ready stays ready.
func TestPublishDraftTrue(t *testing.T) {
	t.Parallel()
	r := forge(t).newRepository(t, program)
	newNight(t, r, writes("one", "1")).must(t, 0, "completed")
	j := newNight(t, r, "cat >/dev/null\necho 2 >two\necho Working.\n")
	j.Inputs["draft"], j.Inputs["max-iterations"], j.Inputs["on-incomplete"] = "true", "1", "succeed"
	j.must(t, 0, "max-iterations")
	if ps := r.pulls(t); len(ps) != 1 || ps[0].Draft || strings.HasPrefix(ps[0].Title, "WIP") {
		t.Errorf("pull requests = %+v, want it ready as before", ps)
	}
}
