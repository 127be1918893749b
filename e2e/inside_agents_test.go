//go:build e2e

package e2e

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// ownServer starts a server, asks it, and ends it.
const ownServer = `python3 -u -m http.server 0 --bind 127.0.0.1 >/dev/shm/served 2>&1 & server=$!
for i in 1 2 3 4 5 6 7 8 9; do sleep 0.2; port=$(sed -n 's/^Serving HTTP on .* port \([0-9]*\) .*/\1/p' /dev/shm/served); [ -n "$port" ] && break; done
curl -sSf "http://localhost:$port/calc.sh"; echo "own server: $?"; kill $server; rm /dev/shm/served`

// outside asks for what nobody allowed.
const outside = `curl -sS -m 20 https://refused.test/ 2>&1; echo "outside: $?"`

// atWork is the model of an agent that looks around, starts a server, changes a
// file with its own tool and is done.
func atWork(edit answer) func(question) answer {
	return script(bash("env"), bash(ownServer), bash(outside), edit, answer{Text: "mul is there. <promise>COMPLETE</promise>"})
}

// realAgent is one whose real CLI runs, with whatever it does besides: nothing is
// switched off.
type realAgent struct {
	name      string
	cli       string // of input agent
	variable  string // of the key
	configure func(j *job, url string)
	edit      answer
}

func realAgents() []realAgent {
	patch := bash("apply_patch <<'END'\n*** Begin Patch\n*** Add File: mul.sh\n+mul() { echo $(($1 * $2)); }\n*** End Patch\nEND")
	return []realAgent{
		{"claude", "claude", "ANTHROPIC_API_KEY", func(j *job, url string) {
			j.Env["ANTHROPIC_API_KEY"] = apiKey
			j.Inputs["base-url"] = url
		}, answer{Tool: "Write", Input: map[string]any{"file_path": "/github/workspace/mul.sh", "content": "mul() { echo $(($1 * $2)); }\n"}}},
		{"codex", "codex", "OPENAI_API_KEY", func(j *job, url string) {
			j.Env["OPENAI_API_KEY"] = apiKey
			j.Inputs["model"] = "gpt-5.5"
			j.Inputs["provider"] = "responses"
			j.Inputs["base-url"] = url + "/v1"
		}, patch},
		{"codex with OpenAI", "codex", "OPENAI_API_KEY", func(j *job, url string) { // tries a WebSocket first
			j.Env["OPENAI_API_KEY"] = apiKey
			j.Inputs["model"] = "gpt-5.5"
			j.Inputs["base-url"] = url + "/v1"
		}, patch},
	}
}

// insideJob is a step in which the real agent works.
func insideJob(t *testing.T, a realAgent, m *model, isolation string) *job {
	t.Helper()
	j := newJob(t, forge(t).newRepository(t, program), "", checkoutV6)
	j.Image = toolsImage(t)
	j.Inputs["agent"] = a.cli
	a.configure(j, m.URL)
	j.Inputs["prompt"] = task
	j.Inputs["guardrails"] = "sh test.sh"
	j.Inputs["max-iterations"] = "1"
	j.Keys["max-retries"] = "0"
	j.Inputs["isolation"] = isolation
	return j
}

// The real CLIs do a whole turn in the sandbox, and the key stays with the
// host, unless key-proxy is off.
func TestInsideAgents(t *testing.T) {
	for _, a := range realAgents() {
		for _, keyProxy := range []string{"auto", "off"} {
			t.Run(a.name+", key-proxy "+keyProxy, func(t *testing.T) {
				t.Parallel()
				m := newModel(t, atWork(a.edit))
				j := insideJob(t, a, m, "strict")
				j.Inputs["key-proxy"] = keyProxy
				res := j.run(t, 3*time.Minute)
				if res.Code != 0 || res.Outputs["status"] != "completed" {
					t.Fatalf("exit code %d, status %q; want 0, completed", res.Code, res.Outputs["status"])
				}
				qs := m.questions()
				if len(qs) < 5 { // a CLI on a slow machine may ask once more
					t.Fatalf("the model was asked %d times, want 5", len(qs))
				}
				for _, q := range qs {
					if q.Key != apiKey {
						t.Errorf("question %d came with the key %q, want the real one", q.Number, q.Key)
					}
				}
				seen := qs[1].Last
				key := regexp.MustCompile(`(?m)^` + a.variable + `=(.*)$`).FindStringSubmatch(seen)
				switch {
				case key == nil:
					t.Errorf("the agent's environment has no %s:\n%s", a.variable, seen)
				case keyProxy == "off" && key[1] != apiKey:
					t.Errorf("the agent has the key %q, want the real one", key[1])
				case keyProxy == "auto" && (key[1] == "" || strings.Contains(m.bodies()[4], apiKey)):
					t.Errorf("the agent has the key %q, want a placeholder", key[1])
				}
				for i, want := range map[int]string{2: "own server: 0", 3: "outside: 56"} {
					if !strings.Contains(qs[i].Last, want) {
						t.Errorf("the agent saw %q, want %q in it", qs[i].Last, want)
					}
				}
				if got := readFile(t, filepath.Join(j.Workspace, "mul.sh")); !strings.Contains(got, "mul()") {
					t.Errorf("mul.sh = %q, want the agent's", got)
				}
				if !strings.Contains(res.Summary, "refused.test:443") {
					t.Errorf("the summary lacks refused.test:443:\n%s", res.Summary)
				}
			})
		}
	}
}

// What the CLIs ask besides their model is refused, and keeps nobody waiting.
func TestInsideQuick(t *testing.T) {
	for _, a := range realAgents()[:2] {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			took := map[string]time.Duration{}
			for _, isolation := range []string{"off", "strict"} {
				m := newModel(t, script(bash("echo work >work.txt"), answer{Text: "Done. <promise>COMPLETE</promise>"}))
				res := insideJob(t, a, m, isolation).run(t, 3*time.Minute)
				if res.Code != 0 || len(m.questions()) != 2 {
					t.Fatalf("isolation %s: exit code %d after %d questions, want 0 after 2", isolation, res.Code, len(m.questions()))
				}
				took[isolation] = res.Took
			}
			t.Logf("off %s, strict %s", took["off"], took["strict"])
			if limit := took["off"] + 10*time.Second; took["strict"] > limit {
				t.Errorf("in the sandbox it took %s, want at most %s", took["strict"], limit)
			}
		})
	}
}

// A model server that may not be reached is said in our own words, with what is
// to be done.
func TestInsideModelRefused(t *testing.T) {
	for _, a := range realAgents() {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			m := newModel(t, script(answer{Text: "Done. <promise>COMPLETE</promise>"}))
			j := insideJob(t, a, m, "strict")
			p := newPackages(t)
			j.Mounts = append(j.Mounts, p.hosts+":/etc/hosts:ro")
			named := strings.Replace(m.URL, "127.0.0.1", "packages.test", 1)
			a.configure(j, named)
			j.Inputs["key-proxy"] = "off"
			j.Inputs["allowed-hosts"] = "!packages.test"
			res := j.run(t, 3*time.Minute)
			want := fmt.Sprintf("refused %s, which %s needs", strings.TrimPrefix(named, "http://"), a.cli)
			if res.Code == 0 || !strings.Contains(res.Log, want) || !strings.Contains(res.Log, "allowed-hosts") {
				t.Errorf("exit code %d, want another than 0, and %q in the log", res.Code, want)
			}
			if got := len(m.questions()); got > 0 {
				t.Errorf("the model was asked %d times, want never", got)
			}
			t.Logf("it took %s", res.Took)
		})
	}
}
