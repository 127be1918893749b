//go:build e2e

package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// subscription is what claude has for a key when a person's plan pays: the
// provider then says when a usage limit resets.
const subscription = "sk-ant-oat01-e2e-0123456789abcdefghijklmnop"

// codexLocally are the flags of a container, and of ralph, for a codex that talks
// to the scripted model, under the name of its own default model, which calls
// tools from JavaScript.
func codexLocally(m *model) (flags, args []string) {
	return []string{"-e", "OPENAI_API_KEY=" + apiKey},
		[]string{"--agent", "codex", "--provider", "responses", "--base-url", m.URL + "/v1"}
}

// limited is how a plan's usage limit looks to claude.
func limited(reset time.Time) answer {
	return answer{Status: 429, Kind: "rate_limit_error", Header: map[string]string{
		"anthropic-ratelimit-unified-status":               "rejected",
		"anthropic-ratelimit-unified-reset":                fmt.Sprint(reset.Unix()),
		"anthropic-ratelimit-unified-representative-claim": "five_hour",
		"anthropic-ratelimit-unified-fallback":             "unavailable",
		"anthropic-ratelimit-unified-overage-status":       "rejected",
		"retry-after": fmt.Sprint(int(time.Until(reset).Seconds()) + 1),
	}}
}

// What follows when the provider refuses, with the real CLIs: they retry wrong
// keys for minutes and sleep through usage limits when nobody ends them.
func TestAPI(t *testing.T) {
	later := time.Now().Add(3 * time.Hour).Truncate(time.Second)
	done := answer{Text: "It is done. <promise>COMPLETE</promise>"}
	for _, c := range []struct {
		name  string
		agent string
		model func(question) answer
		plan  bool     // claude with a subscription
		args  []string // of ralph
		// what is wanted
		status    string
		code      int
		questions int // at most
		retries   int // of the first iteration, at least
		log       []string
	}{
		{
			name: "a wrong key, claude", agent: "claude", model: script(answer{Status: 401, Kind: "authentication_error"}),
			status: "invalid", code: 2, questions: 3, log: []string{"ANTHROPIC_API_KEY"},
		},
		{
			name: "a wrong key, codex", agent: "codex", model: script(answer{Status: 401, Kind: "invalid_api_key"}),
			status: "invalid", code: 2, questions: 3, log: []string{"OPENAI_API_KEY"},
		},
		{
			name: "a model that is not there, claude", agent: "claude", model: script(answer{Status: 404, Kind: "not_found_error"}),
			status: "invalid", code: 2, questions: 3, log: []string{"model"},
		},
		{
			name: "overloaded once, claude", agent: "claude", model: script(answer{Status: 529, Kind: "overloaded_error"}, bash("echo work >work.txt"), done),
			status: "completed", questions: 3,
		},
		{
			name: "too many requests once, codex", agent: "codex",
			model:  script(answer{Status: 429, Kind: "rate_limit_exceeded", Header: map[string]string{"Retry-After": "1"}}, bash("echo work >work.txt"), done),
			status: "completed", questions: 3,
		},
		{ // the CLI ends, and is started again
			name: "too many requests for an hour, claude", agent: "claude",
			model:  script(answer{Status: 429, Kind: "rate_limit_error", Header: map[string]string{"Retry-After": "3600"}}, bash("echo work >work.txt"), done),
			status: "completed", questions: 3, retries: 1,
		},
		{
			name: "the plan's limit, claude", agent: "claude", plan: true, model: script(limited(later)), args: []string{"--quota-wait", "1h"},
			status: "quota", code: 1, questions: 1, log: []string{later.UTC().Format(time.RFC3339)},
		},
		{
			name: "the plan's limit, codex", agent: "codex", args: []string{"--quota-wait", "1h"},
			model:  script(answer{Status: 429, Kind: "usage_limit_reached", Error: map[string]any{"plan_type": "pro", "resets_at": later.Unix()}}),
			status: "quota", code: 1, questions: 1,
		},
		{
			name: "the plan's limit is waited for, claude", agent: "claude", plan: true, args: []string{"--max-iterations", "1"},
			model: func() func(question) answer {
				var reset time.Time
				worked := 0
				return func(q question) answer {
					if q.Number == 1 {
						reset = time.Now().Add(8 * time.Second).Truncate(time.Second) // as the header has it
					}
					if time.Now().Before(reset) {
						return limited(reset)
					}
					worked++
					return []answer{bash("echo work >work.txt"), done}[min(worked, 2)-1]
				}
			}(),
			status: "completed", questions: 5, log: []string{"limit resets at"}, // the CLI may ask again by itself
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			repo := localRepository(t, 1000)
			m := newModel(t, c.model)
			flags, args := claudeLocally(m), []string{"--agent", "claude"}
			if c.plan {
				flags = append(flags, "-e", "ANTHROPIC_API_KEY=", "-e", "CLAUDE_CODE_OAUTH_TOKEN="+subscription)
			}
			name := image(t)
			if c.agent == "codex" {
				name = full()
				flags, args = codexLocally(m)
			}
			log, code := dockerRun{
				Repo: repo, Image: name, Network: "host", Flags: flags,
				Args: slices.Concat([]string{"run", "--prompt", task, "--completion", "promise", "--retry-delay", "1s"}, args, c.args),
			}.run(t)
			r := readRecord(t, filepath.Join(repo, ".ralph", "report.json"))
			if r.Outcome != c.status || code != c.code {
				t.Errorf("ralph run = %d, outcome %q (%s); want %d, %q\n%s", code, r.Outcome, r.Reason, c.code, c.status, log)
			}
			if got := len(m.questions()); got > c.questions {
				t.Errorf("the model was asked %d times, want at most %d", got, c.questions)
			}
			if c.status == "completed" && (len(r.Iterations) != 1 || r.Iterations[0].Retries < c.retries) {
				t.Errorf("report: %+v, want one iteration with %d retries or more", r.Iterations, c.retries)
			}
			for _, want := range c.log {
				if !strings.Contains(log, want) {
					t.Errorf("the log lacks %q:\n%s", want, log)
				}
			}
			for what, value := range map[string]string{"the key": apiKey, "the plan's token": subscription} {
				if strings.Contains(log, value) {
					t.Errorf("%s stands in the log", what)
				}
			}
		})
	}
}

// With session: resume the second iteration begins with what was said in the
// first one.
func TestResume(t *testing.T) {
	for _, agent := range []string{"claude", "codex"} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			const remembered = "I have begun with calc.sh."
			repo := localRepository(t, 1000)
			m := newModel(t, script(
				bash("echo one >one.txt"),
				answer{Text: remembered},
				bash("echo two >two.txt"),
				answer{Text: "That is all. <promise>COMPLETE</promise>"},
			))
			flags, args := claudeLocally(m), []string{"--agent", "claude"}
			name := image(t)
			if agent == "codex" {
				name = full()
				flags, args = codexLocally(m)
			}
			log, code := dockerRun{
				Repo: repo, Image: name, Network: "host", Flags: flags,
				Args: append([]string{"run", "--prompt", task, "--completion", "promise", "--session", "resume"}, args...),
			}.run(t)
			qs := m.questions()
			if code != 0 || len(qs) != 4 {
				t.Fatalf("ralph run = %d after %d questions, want 0 after 4\n%s", code, len(qs), log)
			}
			if strings.Contains(qs[0].Said, remembered) || !strings.Contains(qs[2].Said, remembered) {
				t.Errorf("the second iteration knows %q of the first, want %q", qs[2].Said, remembered)
			}
			if got := readFile(t, filepath.Join(repo, "one.txt")) + readFile(t, filepath.Join(repo, "two.txt")); got != "one\ntwo\n" {
				t.Errorf("the agent's files hold %q, want its work", got)
			}
			r := readRecord(t, filepath.Join(repo, ".ralph", "report.json"))
			if len(r.Iterations) != 2 {
				t.Fatalf("report: %d iterations, want 2", len(r.Iterations))
			}
			first, second := r.Iterations[0].Turns[0], r.Iterations[1].Turns[0]
			if first.Session == "" || first.Session != second.Session {
				t.Errorf("report: sessions %q and %q, want one", first.Session, second.Session)
			}
			// What a CLI counts over the whole session is not counted twice.
			if first.Tokens.Input != 2000 || second.Tokens.Input != 2000 {
				t.Errorf("report: input tokens %d and %d, want 2000 each", first.Tokens.Input, second.Tokens.Input)
			}
		})
	}
}
