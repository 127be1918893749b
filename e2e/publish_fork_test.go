//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// fork makes a fork in the name of an account. Gitea makes it beside the answer.
func (r *repository) fork(t *testing.T, a account, name string) *repository {
	t.Helper()
	if _, err := r.callAs("token "+a.Token, http.MethodPost, "/repos/"+r.Name+"/forks", map[string]any{"name": name}, nil); err != nil {
		t.Fatal(err)
	}
	f := &repository{gitea: r.gitea, Name: a.Name + "/" + name, Seed: r.Seed, Base: r.Base}
	await(t, 30*time.Second, "the fork is there", func() bool {
		status, _ := r.call(http.MethodGet, "/repos/"+f.Name+"/branches/main", nil, nil)
		return status == http.StatusOK
	})
	return f
}

// forkPull is where a pull request comes from.
type forkPull struct {
	Number int    `json:"number"`
	State  string `json:"state"`
	Head   struct {
		Label string `json:"label"`
		Ref   string `json:"ref"`
		Repo  struct {
			FullName string `json:"full_name"`
		} `json:"repo"`
	} `json:"head"`
	AllowMaintainers bool `json:"allow_maintainer_edit"`
	User             struct {
		Login string `json:"login"`
	} `json:"user"`
}

func (r *repository) forkPulls(t *testing.T) []forkPull {
	t.Helper()
	var ps []forkPull
	if _, err := r.call(http.MethodGet, "/repos/"+r.Name+"/pulls?state=all", nil, &ps); err != nil {
		t.Fatal(err)
	}
	return ps
}

// The work goes to a fork with the fork's own token, and the pull request comes
// from there. A branch of the same name in the repository and in another fork,
// each with a pull request, is left alone.
func TestPublishToFork(t *testing.T) {
	t.Parallel()
	r := forge(t).newRepository(t, program)
	ann, bob := r.newAccount(t, "ann"), r.newAccount(t, "bob")
	for _, who := range []account{ann, bob} {
		r.collaborator(t, who.Name, "read") // the repository is private
	}
	anns, bobs := r.fork(t, ann, "anns"), r.fork(t, bob, "work")
	person := r.clone(t, "main")
	r.pushFile(t, person, "ralph/mul", "own.txt", "own")
	bobs.pushFile(t, r.clone(t, "main"), "ralph/mul", "bobs.txt", "bobs")
	for _, head := range []string{"ralph/mul", bob.Name + ":ralph/mul"} {
		if _, err := r.call(http.MethodPost, "/repos/"+r.Name+"/pulls", map[string]any{"head": head, "base": "main", "title": "of " + head}, nil); err != nil {
			t.Fatal(err)
		}
	}
	own, other := r.fetch(t, "ralph/mul"), bobs.fetch(t, "ralph/mul")

	night := func(file, operation string) {
		j := newNight(t, r, writes(file, "ours"))
		j.Inputs["push-to-fork"], j.Inputs["ci-token"] = anns.Name, ann.Token
		j.must(t, 0, "completed").outputs(t, map[string]string{"pull-request-operation": operation, "pull-request-number": "3", "branch": "ralph/mul"})
	}
	night("one.txt", "created")
	r.moveBase(t, "base.txt", "moved") // the fork's main stays behind
	night("two.txt", "updated")

	if got := anns.tree(t, "ralph/mul"); !slices.Contains(got, "one.txt") || !slices.Contains(got, "two.txt") || slices.Contains(got, "own.txt") {
		t.Errorf("the fork's branch has %q, want one.txt and two.txt and nothing of the others", got)
	}
	if r.fetch(t, "ralph/mul") != own || bobs.fetch(t, "ralph/mul") != other {
		t.Error("a branch of the same name was changed elsewhere")
	}
	ps := r.forkPulls(t)
	if len(ps) != 3 || ps[0].Number != 3 || ps[0].Head.Repo.FullName != anns.Name || ps[0].State != "open" || !ps[0].AllowMaintainers {
		t.Errorf("pull requests = %+v, want the third from %s, which maintainers may push to", ps, anns.Name)
	}
	for _, p := range r.pulls(t)[1:] {
		if !strings.HasPrefix(p.Title, "of ") || p.Body != "" {
			t.Errorf("#%d, another's, was changed: %q", p.Number, p.Title)
		}
	}
}

// What cannot work is said before the agent starts.
func TestPublishToForkRefused(t *testing.T) {
	t.Parallel()
	r := forge(t).newRepository(t, program)
	ann := r.newAccount(t, "ann")
	r.collaborator(t, ann.Name, "read")
	anns := r.fork(t, ann, "work")
	stranger := r.newRepository(t, program)
	for _, c := range []struct {
		name, fork, token string
		says              []string
	}{
		{"a fork that is not there", ann.Name + "/nothing", ann.Token, []string{"push-to-fork", ann.Name + "/nothing"}},
		{"no fork", stranger.Name, r.Token, []string{"push-to-fork", "is no fork of"}},
		{"the repository itself", r.Name, r.Token, []string{"push-to-fork", "the repository itself"}},
		{"a token that may only read the fork", anns.Name, r.newToken(t, ann.Name, "read:repository"), []string{"may not push"}},
		{"somebody else's token", anns.Name, r.newAccount(t, "carol").Token, []string{anns.Name}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			j := newNight(t, r, writes("one.txt", "ours"))
			j.Inputs["push-to-fork"], j.Inputs["ci-token"] = c.fork, c.token
			res := j.must(t, 2, "invalid")
			wants(t, "log", res.Log, c.says...)
			j.untouched(t, "one.txt")
		})
	}
}

// Gitea gives an owner one fork of a repository, and another one of a fork of it:
// two in one network, which a head "owner:branch" does not tell apart. The work
// goes to the one that was named and comes from there, or the run is refused.
func TestPublishForksOfOneOwner(t *testing.T) {
	t.Parallel()
	r := forge(t).newRepository(t, program)
	ann, bob := r.newAccount(t, "ann"), r.newAccount(t, "bob")
	r.collaborator(t, ann.Name, "read")
	r.collaborator(t, bob.Name, "read")
	direct, anns := r.fork(t, bob, "direct"), r.fork(t, ann, "anns")
	if status, err := r.callAs("token "+bob.Token, http.MethodPost, "/repos/"+r.Name+"/forks", map[string]any{"name": "another"}, nil); err == nil || status != http.StatusConflict {
		t.Errorf("a second fork of one owner: %d %v, want a conflict", status, err)
	}
	if _, err := r.callAs("token "+ann.Token, http.MethodPut, fmt.Sprintf("/repos/%s/collaborators/%s", anns.Name, bob.Name), map[string]any{"permission": "read"}, nil); err != nil {
		t.Fatal(err)
	}
	far := anns.fork(t, bob, "far")
	tip := far.pushFile(t, r.clone(t, "main"), "ralph/mul", "far.txt", "far")

	// Between siblings, where the owner has a nearer fork of the same network.
	j := newNight(t, anns, writes("one.txt", "ours"))
	j.Inputs["push-to-fork"], j.Inputs["ci-token"] = direct.Name, bob.Token
	j.must(t, 0, "completed").outputs(t, map[string]string{"pull-request-operation": "created"})
	if ps := anns.forkPulls(t); len(ps) != 1 || ps[0].Head.Repo.FullName != direct.Name {
		t.Errorf("pull requests of %s = %+v, want one from %s", anns.Name, ps, direct.Name)
	}
	if far.fetch(t, "ralph/mul") != tip || direct.content(t, "ralph/mul", "one.txt") != "ours" {
		t.Error("the work is not in the fork that was named")
	}

	j = newNight(t, r, writes("one.txt", "ours"))
	j.Inputs["push-to-fork"], j.Inputs["ci-token"] = far.Name, bob.Token
	wants(t, "log", j.must(t, 2, "invalid").Log, "push-to-fork", "is no fork of "+r.Name)
	j.untouched(t, "one.txt")
	if got := len(r.pulls(t)); got != 0 {
		t.Errorf("%d pull requests, want none", got)
	}
}
