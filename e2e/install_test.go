//go:build e2e

package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// installed is where agents that the image lacks are kept, below HOME.
const installed = ".cache/ralph/agents"

// withGemini makes the step talk to the scripted model by its configuration alone.
func (j *job) withGemini(m *model) {
	j.Inputs["agent"] = "gemini"
	j.Keys["agent-version"] = "0.61.0"
	j.Inputs["model"] = "gemini-2.5-flash"
	j.Inputs["base-url"] = m.URL
	j.Inputs["api-key"] = apiKey
}

// npmRegistry is written out, because it may be a mirror at a private address.
const npmRegistry = "registry.npmjs.org"

// reachNpm fails where packages cannot come from.
func reachNpm(t *testing.T) {
	t.Helper()
	client := http.Client{Timeout: 20 * time.Second}
	res, err := client.Head("https://registry.npmjs.org/@google%2fgemini-cli")
	if err != nil {
		t.Fatalf("npm's registry cannot be reached, from where this test installs an agent: %v", err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("npm's registry, from where this test installs an agent, answers %s", res.Status)
	}
}

// hostStore is whom this machine trusts, on Debian.
const hostStore = "/etc/ssl/certs/ca-certificates.crt"

// trustHost lets npm in the container trust whom this machine trusts: in front of
// the registry may be a proxy with an authority of its own.
func (j *job) trustHost(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(hostStore); err != nil {
		t.Fatalf("this machine's certificates: %v; e2e runs on Debian and Ubuntu", err)
	}
	j.Mounts = append(j.Mounts, hostStore+":"+hostStore+":ro")
	j.Env["NODE_EXTRA_CA_CERTS"] = hostStore
}

// The main job with an agent that the image lacks: it is installed from npm
// before the sandbox is there, in which it cannot change itself. A second job
// with the same HOME needs no npm.
func TestInstall(t *testing.T) {
	t.Parallel()
	reachNpm(t)
	first := newMainJob(t, checkoutV6)
	first.trustHost(t)
	first.Inputs["allowed-hosts"] = npmRegistry
	res := doMainJob(t, first, (*job).withGemini, false)
	t.Logf("took %s with the installation", res.Took.Round(time.Second))
	if !strings.Contains(res.Log, "Installed gemini 0.61.0 ") {
		t.Error("the log does not say that the agent was installed")
	}
	if found, err := filepath.Glob(filepath.Join(first.Home, installed, "*gemini*")); err != nil || len(found) != 1 {
		t.Errorf("%s holds %q, want gemini", installed, found)
	}

	second := newMainJob(t, checkoutV4)
	second.Home = first.Home
	second.Env["npm_config_registry"] = "http://127.0.0.1:9/"
	m := newModel(t, script(bash("echo '# again' >>calc.sh"), answer{Text: "<promise>COMPLETE</promise>"}))
	second.withGemini(m)
	res = second.run(t, 2*time.Minute)
	if res.Code != 0 || res.Outputs["status"] != "completed" || strings.Contains(res.Log, "Installed ") {
		t.Errorf("the second job = %d, %q; want 0, completed and nothing installed", res.Code, res.Outputs["status"])
	}
	if got := len(m.questions()); got != 2 {
		t.Errorf("the model was asked %d times, want 2", got)
	}
}

// Locally it is the same, in a cache that the agent's user can reach; opencode
// talks to any endpoint with chat completions.
func TestInstallLocally(t *testing.T) {
	t.Parallel()
	reachNpm(t)
	repo := localRepository(t, 1000)
	m := newModel(t, script(bash("echo '# done' >>calc.sh"), answer{Text: "<promise>COMPLETE</promise>"}))
	log, code := dockerRun{
		Repo: repo, Image: image(t), Network: "host",
		Flags: []string{"-v", sharedTempDir(t) + ":/cache", "-e", "XDG_CACHE_HOME=/cache", "-v", hostStore + ":" + hostStore + ":ro", "-e", "NODE_EXTRA_CA_CERTS=" + hostStore, "-e", "OPENAI_API_KEY=" + apiKey},
		Args:  []string{"run", "--prompt", task, "--completion", "promise", "--agent", "opencode", "--model", "gpt-5.5", "--base-url", m.URL + "/v1", "--guardrails", "sh test.sh", "--allowed-hosts", npmRegistry},
		Limit: 5 * time.Minute, // npm's, and opencode takes seconds to start where nothing else runs
	}.run(t)
	r := readRecord(t, filepath.Join(repo, ".ralph", "report.json"))
	if code != 0 || r.Outcome != "completed" || len(r.Iterations) != 1 || !strings.Contains(log, "Installed opencode ") {
		t.Fatalf("ralph run = %d, %q after %d iterations; want 0, completed after one, and an installation\n%s", code, r.Outcome, len(r.Iterations), log)
	}
	qs := m.questions()
	if len(qs) != 2 || qs[0].Key != apiKey || !strings.Contains(qs[0].Text, task) {
		t.Errorf("the model was asked %d times, first with the key %q: want 2, the key and the task\n%s", len(qs), qs[0].Key, log)
	}
	if turn := r.Iterations[0].Turns[0]; turn.Session == "" || !turn.Tokens.Known || turn.Tokens.Input != 2000 {
		t.Errorf("report: session %q, tokens %+v; want a session and what the model counted", turn.Session, turn.Tokens)
	}
	if got := readFile(t, filepath.Join(repo, "calc.sh")); !strings.Contains(got, "# done") {
		t.Errorf("calc.sh = %q, want the agent's work", got)
	}
}
