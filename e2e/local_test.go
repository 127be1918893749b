//go:build e2e

package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// localAgent is an agent without a model: it breaks the program, and repairs it
// when it is told about the guardrail.
const localAgent = `prompt=$(cat)
case $prompt in
*'Guardrail "sh test.sh" failed'*) printf 'add() { echo $(($1 + $2)); }\nmul() { echo $(($1 * $2)); }\n' >calc.sh ;;
*) printf 'add() { echo $(($1 - $2)); }\n' >calc.sh ;;
esac
echo "I am uid $(id -u). <promise>COMPLETE</promise>"
`

// dockerRun is `docker run` by a person, without a runner and without a forge.
type dockerRun struct {
	Repo    string
	Image   string
	Network string        // empty: none
	Flags   []string      // of docker run
	Args    []string      // of the container
	Limit   time.Duration // zero: two minutes
}

func (d dockerRun) run(t *testing.T) (string, int) {
	t.Helper()
	args := append([]string{"run", "--rm", "--label", "ralph-e2e", "--network", cmp.Or(d.Network, "none"), "-v", d.Repo + ":/repo"}, d.Flags...)
	cmd := exec.Command("docker", append(append(args, d.Image), d.Args...)...)
	log := &logBuffer{}
	cmd.Stdout, cmd.Stderr = log, log
	err := runFor(cmd, cmp.Or(d.Limit, 2*time.Minute))
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return log.String(), cmd.ProcessState.ExitCode()
}

// localRepository is a repository on disk that belongs to uid.
func localRepository(t *testing.T, uid int) string {
	t.Helper()
	dir := filepath.Join(sharedTempDir(t), "repository")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "init", "-q", "-b", "main")
	writeFiles(t, dir, program)
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "the program")
	owned(t, dir, uid)
	return dir
}

func owned(t *testing.T, dir string, uid int) {
	t.Helper()
	if err := exec.Command("chown", "-hR", fmt.Sprintf("%d:%d", uid, uid), dir).Run(); err != nil {
		t.Fatalf("chown to %d: %v; these tests run as root", uid, err)
	}
}

func TestLocal(t *testing.T) {
	readOnly := []string{"--read-only", "--tmpfs", "/tmp", "--tmpfs", "/home/agent"}
	for _, c := range []struct {
		name  string
		owner int
		flags []string
		agent int // the uid the agent must have; -1: any but root
	}{
		{"root's repository", 0, nil, -1},
		{"a user's repository", 1000, nil, 1000},
		{"started as that user", 1000, []string{"--user", "1000"}, 1000},
		{"started as user and group", 1000, []string{"--user", "1000:1000"}, 1000},
		{"read-only root", 0, readOnly, -1},
		{"read-only root as a user", 1000, append([]string{"--user", "1000"}, readOnly...), 1000},
		{"with an init in front", 1000, []string{"--init"}, 1000},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			repo := localRepository(t, c.owner)
			scripts := sharedTempDir(t)
			writeFiles(t, scripts, map[string]string{"agent.sh": localAgent})
			log, code := dockerRun{
				Repo: repo, Image: image(t) + "-slim",
				Flags: append([]string{"-v", scripts + ":/opt/desk:ro"}, c.flags...),
				Args: []string{"run", "--commit", "each-iteration", "--completion", "promise", "--completion-rule", "--prompt", task, "--agent", "text", "--agent-command", "sh /opt/desk/agent.sh",
					"--guardrails", "sh test.sh", "--max-iterations", "3", "--branch", "ralph/mul"},
			}.run(t)
			if code != 0 {
				t.Fatalf("exit code = %d, want 0\n%s", code, log)
			}
			if got := git(t, repo, "show", "ralph/mul:calc.sh"); !strings.Contains(got, "mul") {
				t.Errorf("ralph/mul:calc.sh = %q, want mul in it", got)
			}
			if got := git(t, repo, "rev-list", "--count", "main..ralph/mul"); got != "2" {
				t.Errorf("ralph/mul is %s commits ahead of main, want 2", got)
			}
			if got := git(t, repo, "diff", "--name-only", "main", "ralph/mul"); got != "calc.sh" {
				t.Errorf("ralph/mul changes %q, want calc.sh alone", got)
			}
			var report struct {
				Outcome    string
				Iterations []json.RawMessage
			}
			if err := json.Unmarshal([]byte(readFile(t, filepath.Join(repo, ".ralph", "report.json"))), &report); err != nil {
				t.Fatal(err)
			}
			if report.Outcome != "completed" || len(report.Iterations) != 2 {
				t.Errorf("report: outcome %q with %d iterations, want completed with 2", report.Outcome, len(report.Iterations))
			}
			switch {
			case c.agent >= 0 && !strings.Contains(log, fmt.Sprintf("I am uid %d.", c.agent)):
				t.Errorf("the agent was not uid %d:\n%s", c.agent, log)
			case strings.Contains(log, "I am uid 0."):
				t.Error("the agent was root")
			}
			for _, path := range files(t, repo) {
				info, err := os.Lstat(path)
				if err != nil {
					t.Fatal(err)
				}
				if uid := int(info.Sys().(*syscall.Stat_t).Uid); uid != c.owner {
					t.Errorf("%s belongs to uid %d, want the owner's, %d", path, uid, c.owner)
				}
			}
		})
	}
}

// The demo shows the whole pipeline with what the smallest image has.
func TestDemoInTheImage(t *testing.T) {
	t.Parallel()
	for _, name := range []string{image(t), image(t) + "-slim"} {
		log, code := dockerRun{Repo: t.TempDir(), Image: name, Args: []string{"demo"}}.run(t)
		if code != 0 || !strings.Contains(log, "Completed in 2 iterations") || !strings.Contains(log, "Pull request #1") {
			t.Errorf("%s: ralph demo = %d, want 0 and a pull request\n%s", name, code, log)
		}
	}
}

// The slim image has no agent, and says so before anything starts.
func TestLocalWithoutAgent(t *testing.T) {
	t.Parallel()
	repo := localRepository(t, 1000)
	log, code := dockerRun{Repo: repo, Image: image(t) + "-slim", Flags: []string{"-e", "ANTHROPIC_API_KEY=" + apiKey}, Args: []string{"run", "--prompt", task}}.run(t)
	if code != 2 || !strings.Contains(log, "claude") {
		t.Errorf("ralph run without its agent = %d, want 2 and a message that names claude\n%s", code, log)
	}
}

// What the image holds and what it must not.
func TestImage(t *testing.T) {
	t.Parallel()
	inspect := func(name, format string) string {
		out, err := exec.Command("docker", "image", "inspect", "-f", format, name).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	inside := func(name, script string) string {
		out, err := exec.Command("docker", "run", "--rm", "--entrypoint", "bash", name, "-c", script).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %s: %v\n%s", name, script, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	claude, slim := image(t), image(t)+"-slim"
	for _, name := range []string{claude, full(), slim} {
		for label, want := range map[string]string{
			"title": "ralph-action", "licenses": "Apache-2.0", "source": "https://github.com/org/ralph-action",
		} {
			if got := inspect(name, `{{index .Config.Labels "org.opencontainers.image.`+label+`"}}`); got != want {
				t.Errorf("%s: label %s = %q, want %q", name, label, got, want)
			}
		}
		if got := inside(name, "id -u agent; stat -c %U /home/agent; git --version >/dev/null && bash --version >/dev/null && test -s /etc/ssl/certs/ca-certificates.crt && echo tools"); got != "10001\nagent\ntools" {
			t.Errorf("%s: user and tools = %q", name, got)
		}
		if got := inside(name, "ls -A /var/lib/apt/lists /var/cache/apt/archives/*.deb /root/.npm /root/.cache /src /go /usr/local/go /tmp 2>/dev/null | grep -v : || true"); got != "" {
			t.Errorf("%s: leftovers of the build: %s", name, got)
		}
	}
	const tools = "node --version && npm --version >/dev/null && git lfs version >/dev/null && claude --version; "
	if got := inside(claude, tools+"! command -v codex"); !strings.HasPrefix(got, "v") || !strings.HasSuffix(got, "Claude Code)") {
		t.Errorf("%s: node, claude and no codex = %q", claude, got)
	}
	if got := inside(full(), tools+"codex --version"); !strings.HasPrefix(got, "v") || !strings.Contains(got, "Claude Code") || !strings.Contains(got, "codex-cli") {
		t.Errorf("%s: node, claude and codex = %q", full(), got)
	}
	var size int
	if _, err := fmt.Sscan(inspect(slim, "{{.Size}}"), &size); err != nil {
		t.Fatal(err)
	}
	if limit := 120_000_000; size > limit {
		t.Errorf("%s has %d bytes, want at most %d", slim, size, limit)
	}
}
