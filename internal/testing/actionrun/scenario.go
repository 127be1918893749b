package actionrun

import (
	"maps"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/cli/demo/gitserver"
	"github.com/org/ralph-action/internal/testing/fakegithub"
)

const (
	jobToken = "ghs_0123456789abcdefghijklmnopqrstuvwxyz"

	// twoSteps is an agent that works in two iterations, and sees by the files how
	// far it came. Killed between the making and the writing of a file, it leaves an
	// empty one.
	twoSteps = `cat >/dev/null
if [ ! -s one ]; then echo 1 >one; echo "The first half is there."; exit; fi
[ -s two ] || echo 2 >two
echo '<promise>COMPLETE</promise>'
`
	// slowSecond is twoSteps with time to push the first half, and to propose it,
	// while the second is worked at.
	slowSecond = `cat >/dev/null
if [ ! -s one ]; then echo 1 >one; echo "The first half is there."; exit; fi
sleep 1
[ -s two ] || echo 2 >two
echo '<promise>COMPLETE</promise>'
`
)

// Place is a forge with the repository octo/work: an agent in agent.sh, people,
// a milestone, and the job's own token.
func Place(t testing.TB, agent string, o fakegithub.Options) (*fakegithub.Repository, string) {
	t.Helper()
	f := fakegithub.New(t, o)
	f.AddToken(fakegithub.Token{Value: jobToken})
	r, err := f.NewRepository("octo", "work")
	if err == nil {
		_, err = r.Commit("main", "first", map[string]gitserver.File{"agent.sh": {Content: agent}, "README.md": {Content: "hello\n"}})
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, login := range []string{"ann", "bob", "carol"} {
		r.SetPermission(login, "write")
	}
	r.AddMilestone(3, "next")
	return r, jobToken
}

// Scenarios are the ways of publishing whose steps a killed run must survive. The
// first is the plain one; in the second all of the first push and of the draft that
// it makes goes on beside a turn. program is ralph's binary.
func Scenarios(program string) []Scenario {
	inputs := map[string]string{
		"prompt": "Do both halves", "agent": "text", "agent-command": "sh agent.sh", "branch": "ralph/work", "guardrails": "test -s two",
		"labels": "night,ralph", "reviewers": "ann,bob", "assignees": "carol", "milestone": "3",
	}
	with := func(more map[string]string) map[string]string {
		all := maps.Clone(inputs)
		maps.Copy(all, more)
		return all
	}
	agent := func(t testing.TB, agent string, more map[string]string) Action {
		r, token := Place(t, agent, fakegithub.Options{})
		return Action{Program: program, Repo: r, Token: token, Inputs: with(more)}
	}
	action := func(t testing.TB, more map[string]string) Action { return agent(t, twoSteps, more) }
	onePull := func(t testing.TB, r *fakegithub.Repository) { wantPulls(t, r, 1) }
	return []Scenario{
		{Name: "plain", Make: func(t testing.TB) Action { return action(t, nil) }, True: onePull},
		{Name: "beside a turn", Make: func(t testing.TB) Action { return agent(t, slowSecond, nil) }, True: onePull},
		{Name: "signed", Make: func(t testing.TB) Action { return action(t, map[string]string{"sign-commits": "true"}) }, True: onePull},
		{Name: "squashed", Make: func(t testing.TB) Action {
			a := action(t, nil)
			if _, err := a.Repo.Commit("main", "squash", map[string]gitserver.File{
				"agent.sh": {Content: twoSteps}, "README.md": {Content: "hello\n"}, ".github/ralph.yml": {Content: "squash: true\n"},
			}); err != nil {
				t.Fatal(err)
			}
			return a
		}, True: onePull},
		{Name: "auto-merge", Make: func(t testing.TB) Action {
			return action(t, map[string]string{"merge": "auto", "labels": "", "reviewers": "", "assignees": "", "milestone": "0"})
		}, True: onePull},
		{Name: "update", Make: func(t testing.TB) Action {
			// An earlier night left a first half and a draft.
			a := action(t, nil)
			if _, err := a.Repo.Commit("ralph/work", "ralph: iteration 1\n\nRalph-Run: 99\nRalph-Iteration: 1", map[string]gitserver.File{
				"agent.sh": {Content: twoSteps}, "README.md": {Content: "hello\n"}, "one": {Content: "1\n"},
			}); err != nil {
				t.Fatal(err)
			}
			a.Repo.SetDraft(a.Repo.NewPull(fakegithub.ActionsBot, "ralph/work", "main", "ralph: Do both halves", "<!-- ralph-action -->\n### Not complete"))
			return a
		}, True: onePull},
		{Name: "somebody's pull request", Make: func(t testing.TB) Action {
			a := action(t, map[string]string{"branch": "feature", "base": "main", "prompt": "", "labels": "", "reviewers": "", "assignees": "", "milestone": "0"})
			if _, err := a.Repo.Commit("feature", "ann's work", map[string]gitserver.File{
				"agent.sh": {Content: twoSteps}, "README.md": {Content: "hello\n"}, "anns": {Content: "x\n"},
			}); err != nil {
				t.Fatal(err)
			}
			number := a.Repo.NewPull("ann", "feature", "main", "Ann's feature", "Ann wrote this.")
			a.Event, a.Actor, a.Payload = "issue_comment", "ann", map[string]any{
				"action":  "created",
				"issue":   map[string]any{"number": number, "title": "Ann's feature", "body": "Ann wrote this.", "user": map[string]any{"login": "ann", "type": "User"}, "pull_request": map[string]any{"url": "x"}, "state": "open"},
				"comment": map[string]any{"id": a.Repo.NewComment(number, "ann", "/ralph do both halves"), "body": "/ralph do both halves", "user": map[string]any{"login": "ann", "type": "User"}},
				"sender":  map[string]any{"login": "ann", "type": "User"},
			}
			return a
		}, True: func(t testing.TB, r *fakegithub.Repository) {
			wantPulls(t, r, 1)
			if p := r.Pulls()[0]; !strings.Contains(p.Body, "Ann wrote this.") || p.Title != "Ann's feature" {
				t.Errorf("pull request of ann: %q, %q, want her words kept", p.Title, p.Body)
			}
			wantComments(t, r, 1)
		}},
		{Name: "issue", Make: func(t testing.TB) Action {
			a := action(t, map[string]string{"prompt": ""})
			number := a.Repo.NewIssue("ann", "Do both halves", "Please.", "ralph")
			a.Event, a.Actor, a.Payload = "issues", "ann", map[string]any{
				"action": "labeled", "label": map[string]any{"name": "ralph"}, "sender": map[string]any{"login": "ann", "type": "User"},
				"issue": map[string]any{"number": number, "title": "Do both halves", "body": "Please.", "state": "open", "user": map[string]any{"login": "ann", "type": "User"}, "labels": []any{map[string]any{"name": "ralph"}}},
			}
			return a
		}, True: func(t testing.TB, r *fakegithub.Repository) {
			wantPulls(t, r, 1)
			if p := r.Pulls(); len(p) > 0 && !strings.Contains(p[0].Body, "Fixes #1") {
				t.Errorf("the pull request does not close the issue:\n%s", p[0].Body)
			}
			wantComments(t, r, 1)
		}},
	}
}

func wantPulls(t testing.TB, r *fakegithub.Repository, n int) {
	t.Helper()
	list := r.Pulls()
	if len(list) != n {
		t.Errorf("%d pull requests, want %d", len(list), n)
	}
	for _, p := range list {
		if p.State != "open" || p.Draft {
			t.Errorf("#%d is %s, draft %v, want open and ready", p.Number, p.State, p.Draft)
		}
		if p.Author == fakegithub.ActionsBot && !strings.Contains(p.Body, "Completed") {
			t.Errorf("#%d does not say that the work is complete:\n%s", p.Number, p.Body)
		}
	}
}

// wantComments wants one comment of ours on #1, which tells the end.
func wantComments(t testing.TB, r *fakegithub.Repository, number int) {
	t.Helper()
	var ours []fakegithub.Comment
	for _, c := range r.Comments(number) {
		if c.Author == fakegithub.ActionsBot {
			ours = append(ours, c)
		}
	}
	if len(ours) != 1 || !strings.Contains(ours[0].Body, "Completed") {
		t.Errorf("comments of ours on #%d: %+v, want one that says the work is complete", number, ours)
	}
}
