package config_test

import (
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/config"
)

// What is said about publishing in more than one input.
func TestPublishingTogether(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		inputs  map[string]string
		problem string // empty: none
		warning string // a part of one; empty: none
	}{
		{"squash is one commit at the end", with("squash", "true"), "", ""},
		{"squash against the commits of the agent", with("squash", "true", "commit", "agent"), "flag --squash: it means one commit of ralph at the end, and flag --commit says otherwise", ""},
		{"squash against each iteration", with("squash", "true", "commit", "each-iteration"), "flag --squash: it means one commit", ""},
		{"the forge signs its own", with("sign-commits", "true", "author", "A <a@b>"), "", "input author: it has no effect with sign-commits"},
		{"the forge does not rebase", with("sign-commits", "true", "update-base", "rebase"), "input sign-commits: the forge makes commits on top of others only", ""},
		{"the file beats the text", with("body", "x", "body-path", "f"), "", "input body: it has no effect: input body-path beats it"},
		{"a file that is too long", with("body-path", "long"), `input body-path: "long" is larger than 20000 bytes`, ""},
		{"nobody to review nothing", with("pull-request", "none", "reviewers", "a"), "", "input reviewers: it has no effect: there is no pull request with pull-request: none"},
		{"no checks without a push", with("push", "false", "wait-for-ci", "true"), "", "input wait-for-ci: it has no effect: nothing is pushed with push: false"},
		{"checks without a pull request", with("pull-request", "none", "wait-for-ci", "true"), "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c, err := config.Load(asAction(workspace(t, map[string]string{"f": "text", "long": strings.Repeat("long ", 5000)}), tc.inputs))
			if tc.problem == "" && err != nil || tc.problem != "" && (err == nil || !strings.Contains(err.Error(), tc.problem)) {
				t.Fatalf("Load = %v, want %q", err, tc.problem)
			}
			if all := strings.Join(c.Warnings, "\n"); tc.warning != "" && !strings.Contains(all, tc.warning) || tc.warning == "" && tc.problem == "" && all != "" {
				t.Errorf("warnings %q, want %q", all, tc.warning)
			}
			if c.Git.Squash && tc.problem == "" && c.Git.Commit != config.CommitAtEnd {
				t.Errorf("squash: commit is %s", c.Git.Commit)
			}
		})
	}
}

// The event's task stands instead of a prompt, unless it is not wanted.
func TestTaskOfTheEvent(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		inputs map[string]string
		event  bool
		ok     bool
	}{
		{"an event", map[string]string{}, true, true},
		{"none", map[string]string{}, false, false},
		{"not wanted", map[string]string{"use-event": "never"}, true, false},
		{"session", map[string]string{"mode": "session"}, true, true},
		{"session, none", map[string]string{"mode": "session"}, false, false},
		{"a mode with a prompt of its own", map[string]string{"mode": "prompt"}, true, false},
	} {
		_, err := config.Load(config.LoadOptions{Dir: t.TempDir(), Inputs: tc.inputs, Event: tc.event})
		if ok := err == nil; ok != tc.ok {
			t.Errorf("%s: Load = %v", tc.name, err)
		}
	}
}
