//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func (r *repository) protect(t *testing.T, rule map[string]any) {
	t.Helper()
	if _, err := r.call(http.MethodPost, "/repos/"+r.Name+"/branch_protections", rule, nil); err != nil {
		t.Fatal(err)
	}
}

// A base that nobody may push to and that wants a review gets a pull request,
// and no more.
func TestPublishProtectedBase(t *testing.T) {
	t.Parallel()
	r := forge(t).newRepository(t, program)
	r.protect(t, map[string]any{"rule_name": "main", "enable_push": false, "required_approvals": 1, "block_on_rejected_reviews": true})
	bot := r.newAccount(t, "bot")
	r.collaborator(t, bot.Name, "write")
	j := newNight(t, r, writes("mul.txt", "mul"))
	j.Inputs["github-token"] = bot.Token
	j.must(t, 0, "completed").outputs(t, map[string]string{"pull-request-operation": "created", "pull-request-number": "1"})
	if got := r.fetch(t, "main"); got != r.Base {
		t.Errorf("main is at %s, want %s as before", got, r.Base)
	}
	var p struct {
		State  string `json:"state"`
		Merged bool   `json:"merged"`
		Draft  bool   `json:"draft"`
	}
	if _, err := r.call(http.MethodGet, "/repos/"+r.Name+"/pulls/1", nil, &p); err != nil {
		t.Fatal(err)
	}
	if p.State != "open" || p.Merged || p.Draft {
		t.Errorf("pull request = %+v, want it open, ready and not merged", p)
	}
	// The protection is a real one: not even the owner merges without the review.
	if status, err := r.call(http.MethodPost, "/repos/"+r.Name+"/pulls/1/merge", map[string]any{"Do": "merge"}, nil); err == nil {
		t.Errorf("the forge merged it without a review (%d)", status)
	}
}

// A head branch that the token may not push to: the work stays in the workspace,
// and the message says what to do.
func TestPublishProtectedHead(t *testing.T) {
	t.Parallel()
	r := forge(t).newRepository(t, program)
	r.protect(t, map[string]any{"rule_name": "ralph/**", "enable_push": false})
	j := newNight(t, r, writes("mul.txt", "mul"))
	res := j.must(t, 5, "git-failed")
	res.outputs(t, map[string]string{"pull-request-number": "", "pull-request-operation": "none"})
	if got := r.branches(t); !slices.Equal(got, []string{"main"}) {
		t.Errorf("branches = %q, want main alone", got)
	}
	if len(r.pulls(t)) != 0 {
		t.Error("there is a pull request of a branch that was not pushed")
	}
	for where, text := range map[string]string{"log": res.Log, "summary": res.Summary} {
		wants(t, where, text, "ralph/mul", "protected")
	}
	if got := git(t, j.Workspace, "log", "-1", "--format=%s", "ralph/mul"); got != "Add mul.txt" {
		t.Errorf("the workspace's branch ends with %q, want the commit of iteration 1", got)
	}
	if got := git(t, j.Workspace, "show", "ralph/mul:mul.txt"); got != "mul" {
		t.Errorf("mul.txt in the workspace's branch = %q, want mul", got)
	}
}

// What a token lacks is found before the agent starts, or is a warning that
// names it, and then the work is published.
func TestPublishScopes(t *testing.T) {
	t.Parallel()
	shared := forge(t).newRepository(t, program)
	shared.newLabel(t, "ralph")
	milestone := fmt.Sprint(shared.newMilestone(t, "next"))
	for _, c := range []struct {
		name   string
		scopes []string
		inputs map[string]string
		code   int
		says   []string // in the log
	}{
		{"nothing of repositories", []string{"write:issue", "read:user"}, nil, 2, []string{"read the repository", "read:repository"}},
		{"read only", []string{"read:repository", "write:issue", "read:user"}, nil, 2, []string{"write:repository"}},
		{"read only, no pull request", []string{"read:repository"}, map[string]string{"pull-request": "none"}, 2, []string{"token"}},
		{"no issues, nothing asked of them", []string{"write:repository"}, nil, 0, nil},
		{"no issues, labels", []string{"write:repository"}, map[string]string{"labels": "ralph"}, 0, []string{"add labels to #", "write:issue"}},
		{"read issues, labels and people", []string{"write:repository", "read:issue"}, map[string]string{"labels": "ralph", "assignees": "octo"}, 0,
			[]string{"add labels to #", "assign octo to #", "write:issue"}},
		{"no issues, a milestone", []string{"write:repository"}, map[string]string{"milestone": "yes"}, 0, []string{"set milestone", "write:issue"}},
		{"enough", []string{"write:repository", "write:issue"}, map[string]string{"labels": "ralph", "assignees": "octo"}, 0, nil},
		{"of a reader", []string{"all"}, map[string]string{"reader": "yes"}, 2, []string{"push"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := shared.view(t)
			bot := r.newAccount(t, "bot")
			permission, branch := "write", "ralph/"+bot.Name
			j := newNight(t, r, writes("mul.txt", "mul"))
			j.Inputs["branch"], j.Inputs["guardrails"] = branch, "true" // without any there is a warning
			for name, value := range c.inputs {
				switch name {
				case "milestone":
					value = milestone
				case "reader":
					permission = "read"
					continue
				}
				j.Inputs[name] = value
			}
			r.collaborator(t, bot.Name, permission)
			j.Inputs["github-token"] = r.newToken(t, bot.Name, c.scopes...)
			status := map[int]string{0: "completed", 2: "invalid"}[c.code]
			res := j.must(t, c.code, status)
			wants(t, "log", res.Log, c.says...)
			wants(t, "summary", strings.ReplaceAll(res.Summary, "\\#\u200d", "#"), c.says...)
			if c.code != 0 {
				j.untouched(t, "mul.txt")
				if got := r.branches(t); slices.Contains(got, branch) {
					t.Errorf("branches = %q, want no %s", got, branch)
				}
				return
			}
			if len(c.says) == 0 && strings.Contains(res.Log, "⚠") {
				t.Error("there is a warning although nothing is missing")
			}
			if len(r.pullsOf(t, branch)) != 1 || r.content(t, branch, "mul.txt") != "mul" {
				t.Error("the work and its pull request are not there")
			}
			if got := readFile(t, filepath.Join(j.Workspace, ".git", "config")); got != j.config {
				t.Errorf(".git/config was changed: %q", got)
			}
		})
	}
}
