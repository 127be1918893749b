package forge_test

import (
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/ralph"
)

func everything() forge.PullRequest {
	return forge.PullRequest{
		Title: "Fix greet", Body: "It is fixed.\n", Head: "ralph/x", Base: "main",
		Labels: []string{"ralph", "night"}, Assignees: []string{"ann"}, Reviewers: []string{"@ann", "bob", "ann"}, TeamReviewers: []string{"octo/core"}, Milestone: 3,
	}
}

func TestPeople(t *testing.T) {
	t.Parallel()
	h := newHub(t, appToken)
	for step := range 2 {
		h.sent.reset()
		done, warnings, err := h.client.Upsert(t.Context(), everything())
		if err != nil || len(warnings) > 0 || done.Number != 1 {
			t.Fatalf("step %d: Upsert() = %+v, %q, %v", step, done, warnings, err)
		}
		pr := h.repo.Pulls()[0]
		if !slices.Equal(pr.Labels, []string{"ralph", "night"}) || !slices.Equal(pr.Assignees, []string{"ann"}) || !slices.Equal(pr.Reviewers, []string{"ann", "bob"}) || !slices.Equal(pr.Teams, []string{"core"}) || pr.Milestone != 3 {
			t.Errorf("step %d: the pull request is %+v", step, pr)
		}
		// Once all is there, only title and body are set anew.
		if calls, want := h.sent.calls, []int{6, 2}[step]; len(calls) != want {
			t.Errorf("step %d: %d calls, want %d: %v", step, len(calls), want, calls)
		}
	}
}

// Who can be asked is asked; the rest is named, with what is missing. The pull
// request is never lost.
func TestPeopleNeverLoseThePullRequest(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		token  string
		change func(*forge.PullRequest)
		fault  func(*hub)
		asked  []string // and teams, in the end
		wants  []string // one for each warning
		asks   int      // requests for reviews; 0: whatever it takes
	}{
		{
			name: "one is no collaborator", token: appToken, change: func(p *forge.PullRequest) { p.Reviewers = []string{"ann", "mallory"}; p.TeamReviewers = nil }, asked: []string{"ann"},
			wants: []string{`ask for reviews of #1 by "mallory" in octo/greet at HOST: the forge refused it (422): Reviews may only be requested from collaborators. One or more of the users or teams you specified is not a collaborator of the octo/greet repository.`},
		},
		{
			name: "the author", token: personalToken, change: func(p *forge.PullRequest) { p.Reviewers = []string{"maria", "ann"} }, asked: []string{"ann", "core"},
			wants: []string{`ask for reviews of #1 in octo/greet at HOST: "maria" is not asked: who opened a pull request cannot review it; leave the name out of reviewers, or let another token open it`},
		},
		{
			name: "a user and a team that never resolve", token: appToken, change: func(p *forge.PullRequest) { p.Reviewers = []string{"ann"} }, fault: func(h *hub) {
				h.on("POST", "/requested_reviewers", 1, jsonAnswer(422, `{"message":"Could not resolve to a node with the global id of 'T_kwDO'."}`))
				h.on("POST", "/requested_reviewers", 1, jsonAnswer(422, `{"message":"Could not resolve to a node with the global id of 'U_kgDO'."}`))
				h.on("POST", "/requested_reviewers", -1, jsonAnswer(422, `{"message":"Could not resolve to a node with the global id of 'MDQ6VGVhbTEyMzQ='."}`))
			}, asks: 3,
			wants: []string{`by "ann" in octo/greet at HOST: the forge refused it (422): Could not resolve to a node`, `by team "core" in octo/greet at HOST: the forge refused it (422): Could not resolve to a node`},
		},
		{
			name: "a team and GITHUB_TOKEN", token: jobToken, asks: 3, change: func(p *forge.PullRequest) { p.Reviewers = []string{"ann"} }, asked: []string{"ann"},
			wants: []string{`a team needs access to the repository, and a token that may see it: an App's with members: read or a classic one with repo and read:org, not GITHUB_TOKEN`},
		},
		{
			name: "reviews forbidden", token: appToken, fault: func(h *hub) {
				h.on("POST", "/requested_reviewers", -1, jsonAnswer(403, `{"message":"Resource not accessible by integration"}`))
			},
			wants: []string{`ask for reviews of #1 by "ann", "bob", team "core" in octo/greet at HOST: not permitted (the forge says "Resource not accessible by integration"): github-token lacks pull-requests: write and, for a team, the organization's members: read: add it to the workflow's permissions, or to the token`},
		},
		{
			name: "assignee dropped without a word", token: appToken, change: func(p *forge.PullRequest) { p.Assignees = []string{"mallory", "ann"} }, asked: []string{"ann", "bob", "core"},
			wants: []string{`assign mallory, ann to #1 in octo/greet at HOST: the forge did not assign "mallory": they need access to the repository, the token push access, and ten is the most`},
		},
		{
			name: "assigning forbidden", token: appToken, fault: func(h *hub) {
				h.on("POST", "/assignees", -1, jsonAnswer(403, `{"message":"Resource not accessible by integration"}`))
			}, asked: []string{"ann", "bob", "core"},
			wants: []string{`assign ann to #1 in octo/greet at HOST: not permitted (the forge says "Resource not accessible by integration"): github-token lacks pull-requests: write (or issues: write): add it to the workflow's permissions, or to the token`},
		},
		{
			name: "no such milestone", token: appToken, change: func(p *forge.PullRequest) { p.Milestone = 99 }, asked: []string{"ann", "bob", "core"},
			wants: []string{`set milestone 99 on #1 in octo/greet at HOST: the forge refused it (422): Validation Failed: milestone invalid`},
		},
		{
			name: "milestone forbidden", token: appToken, fault: func(h *hub) { h.on("PATCH", "/issues/1", -1, jsonAnswer(403, `{"message":"no"}`)) }, asked: []string{"ann", "bob", "core"},
			wants: []string{`github-token lacks issues: write (or pull-requests: write)`},
		},
		{
			name: "not known yet", token: appToken, fault: func(h *hub) {
				h.on("POST", "/requested_reviewers", 2, jsonAnswer(422, `{"message":"Could not resolve to a node with the global id of 'PR_kwDO'."}`))
			}, asked: []string{"ann", "bob", "core"},
		},
		{
			name: "nothing but failures", token: appToken, fault: func(h *hub) {
				h.on("POST", "/requested_reviewers", -1, jsonAnswer(501, `{"message":"never"}`))
				h.on("POST", "/assignees", -1, jsonAnswer(501, `{"message":"never"}`))
				h.on("PATCH", "/issues/1", -1, jsonAnswer(501, `{"message":"never"}`))
				h.on("POST", "/labels", -1, jsonAnswer(501, `{"message":"never"}`))
			},
			wants: []string{"add labels to #1", "ask for reviews of #1", "assign ann to #1", "set milestone 3 on #1"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := newHub(t, test.token)
			want := everything()
			if test.change != nil {
				test.change(&want)
			}
			if test.fault != nil {
				test.fault(h)
			}
			done, warnings, err := h.client.Upsert(t.Context(), want)
			if err != nil || done.Number != 1 || done.Operation != ralph.OperationCreated || len(warnings) != len(test.wants) {
				t.Fatalf("Upsert() = %+v, %q, %v, want #1 and %d warnings", done, warnings, err, len(test.wants))
			}
			host := strings.TrimPrefix(h.URL, "http://")
			for i, warning := range warnings {
				if !strings.Contains(strings.ReplaceAll(warning, host, "HOST"), test.wants[i]) {
					t.Errorf("warning %d = %q, want %q", i, warning, test.wants[i])
				}
			}
			asks := 0
			for _, call := range h.sent.calls {
				if strings.HasSuffix(call, "/requested_reviewers") {
					asks++
				}
			}
			if test.asks > 0 && asks != test.asks {
				t.Errorf("%d requests for reviews, want %d: %v", asks, test.asks, h.sent.calls)
			}
			pr := h.repo.Pulls()[0]
			if got := append(slices.Clone(pr.Reviewers), pr.Teams...); !slices.Equal(got, test.asked) {
				t.Errorf("asked = %q, want %q", got, test.asked)
			}
		})
	}
}

// A run was ended right after it had made the pull request: the next one, which
// finds nothing to do, brings what is missing, and asks nobody twice.
func TestComplete(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		until func(*forge.PullRequest) // what was done before the end
		calls int
	}{
		{"nothing but the pull request", func(p *forge.PullRequest) { *p = wanted(); p.Labels = nil }, 6},
		{"labels", func(p *forge.PullRequest) { p.Reviewers, p.TeamReviewers, p.Assignees, p.Milestone = nil, nil, nil, 0 }, 5},
		{"all but the milestone", func(p *forge.PullRequest) { p.Milestone = 0 }, 2},
		{"all", func(*forge.PullRequest) {}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := newHub(t, appToken)
			h.on("GET", "/pulls/1/reviews", -1, jsonAnswer(200, `[{"id":1,"user":{"login":"bob"},"state":"APPROVED"}]`))
			want := everything()
			want.TeamReviewers = nil
			before := want
			test.until(&before)
			if _, warnings, err := h.client.Upsert(t.Context(), before); err != nil || len(warnings) > 0 {
				t.Fatal(warnings, err)
			}
			h.sent.reset()
			next := h.as(t, appToken, "octo/greet")
			found, err := next.Look(t.Context(), "ralph/x", "main", "")
			if warnings := next.ApplyMetadata(t.Context(), found, want); err != nil || len(warnings) > 0 {
				t.Errorf("ApplyMetadata() = %q, %v", warnings, err)
			}
			pr := h.repo.Pulls()[0]
			if len(pr.Labels) != 2 || !slices.Equal(pr.Assignees, []string{"ann"}) || pr.Reviewers[0] != "ann" || pr.Milestone != 3 {
				t.Errorf("the pull request is %+v", pr)
			}
			if slices.Contains(pr.Reviewers, "bob") != slices.Contains(before.Reviewers, "bob") {
				t.Errorf("asked = %q: who has reviewed was asked again", pr.Reviewers)
			}
			if calls := h.sent.calls; len(calls) != test.calls {
				t.Errorf("%d calls, want %d: %v", len(calls), test.calls, calls)
			}
		})
	}
	if warnings := newHub(t, appToken).client.ApplyMetadata(t.Context(), forge.Found{}, everything()); warnings != nil {
		t.Errorf("Complete(none) = %q", warnings)
	}
}

// A forge of Gitea's kind: assignees are set with the issue, reviewers are
// answered with reviews, milestones have ids.
func TestPeopleOfGitea(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	plain := func(body string) http.HandlerFunc { return answer(201, body) }
	l.fault("POST", "/pulls", 1, plain(`{"number":7,"title":"Fix greet","user":{"login":"ralph"},"assignees":[{"login":"zoe"}]}`))
	l.fault("POST", "/requested_reviewers", 1, plain(`[{"id":1,"user":{"login":"ann"},"state":"REQUEST_REVIEW"}]`))
	l.fault("GET", "/assignees", 1, answer(200, `[{"login":"octo"},{"login":"ann"},{"login":"zoe"}]`))
	var sent []string
	l.fault("PATCH", "/issues/7", 2, func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		sent = append(sent, strings.TrimSpace(string(raw)))
		plain(`{"number":7,"repository":{"id":1,"owner":"octo"},"assignees":[{"login":"zoe"},{"login":"ann"}],"milestone":{"id":3}}`)(w, r)
	})
	want := everything()
	want.Labels, want.TeamReviewers, want.Reviewers, want.Assignees = nil, nil, []string{"ann"}, []string{"ann", "ghost"}
	done, warnings, err := l.client.Upsert(t.Context(), want)
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], `the forge did not assign "ghost"`) || done.Number != 7 {
		t.Errorf("Upsert() = %+v, %q, %v", done, warnings, err)
	}
	if want := []string{`{"assignees":["ann","zoe"]}`, `{"milestone":3}`}; !slices.Equal(sent, want) {
		t.Errorf("sent %q, want %q", sent, want)
	}
}

// A clean run costs at most 12 calls: pre-flight, publishing, labels, people,
// milestone and auto-merge.
func TestCleanRunCostsAtMostTwelve(t *testing.T) {
	t.Parallel()
	h := newHub(t, jobToken)
	ctx := t.Context()
	for _, one := range []struct {
		name string
		most int
		add  func(*testing.T, *forge.PullRequest)
	}{
		{"created", 12, func(*testing.T, *forge.PullRequest) {}},
		{"updated", 7, func(*testing.T, *forge.PullRequest) {}},
		{"updated, to a draft", 8, func(_ *testing.T, p *forge.PullRequest) { p.Draft = true }},
	} {
		h.sent.reset()
		want := everything()
		want.TeamReviewers = nil
		one.add(t, &want)
		facts, err := h.client.Preflight(ctx, forge.Ask{Base: "main", Likely: "main"})
		if err != nil || facts.Workflows != forge.No || facts.Token.Login != "github-actions[bot]" || facts.AutoMerge != forge.Yes {
			t.Errorf("Preflight() = %+v, %v", facts, err)
		}
		if err := h.client.ProbePullRequest(ctx, "main"); err != nil {
			t.Error(err)
		}
		if err := h.client.CheckMilestone(ctx, 3); err != nil {
			t.Error(err)
		}
		if warning, err := h.client.CheckRules(ctx, forge.Branch{Name: want.Head, Exists: one.name != "created"}); warning != "" || err != nil {
			t.Errorf("%s: CheckRules() = %q, %v", one.name, warning, err)
		}
		done, warnings, err := h.client.Upsert(ctx, want)
		if err != nil || len(warnings) > 0 {
			t.Fatalf("%s: Upsert() = %+v, %q, %v", one.name, done, warnings, err)
		}
		if done, err = h.client.AutoMerge(ctx, done, "SQUASH"); err != nil || !done.AutoMerge {
			t.Errorf("%s: AutoMerge() = %+v, %v", one.name, done, err)
		}
		if calls := h.sent.calls; len(calls) > one.most {
			t.Errorf("%s: %d calls, want at most %d: %v", one.name, len(calls), one.most, calls)
		}
	}
}

// Labels and people do not wait for each other.
func TestLabelsAndPeopleAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := scripted(t, script(func(r *http.Request, _ []byte) (int, http.Header, string) {
			time.Sleep(time.Second)
			switch path.Base(r.URL.Path) {
			case "pulls":
				if r.Method == http.MethodGet {
					return 200, nil, `[]`
				}
				return 201, nil, `{"number":7,"node_id":"PR_7"}`
			case "labels":
				return 200, nil, `[{"name":"ralph"},{"name":"bot"}]`
			case "requested_reviewers":
				return 201, nil, `{"number":7,"requested_reviewers":[{"login":"maria"}],"requested_teams":[{"slug":"core"}]}`
			}
			return 200, nil, `{"assignees":[{"login":"octocat"}],"milestone":{"number":3}}`
		}))
		want := wanted()
		want.Labels, want.Reviewers, want.TeamReviewers, want.Assignees, want.Milestone = []string{"ralph", "bot"}, []string{"maria"}, []string{"core"}, []string{"octocat"}, 3
		started := time.Now()
		_, warnings, err := client.Upsert(t.Context(), want)
		if took := time.Since(started); err != nil || len(warnings) > 0 || took != 3*time.Second {
			t.Errorf("Upsert() = %v, %v after %s, want all of it after 3s", warnings, err, took)
		}
	})
}
