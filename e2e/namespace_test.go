//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// sudoImage is a machine whose user may use sudo without a password, and where a runner
// is installed: its program is a shell, which starts /machine.
var sudoImage = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "ralph-e2e-sudo-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	name := fmt.Sprintf("ralph-e2e-sudo-%d", os.Getpid())
	text := "FROM " + os.Getenv("RALPH_E2E_IMAGE") + `-machine
RUN mkdir -p /opt/runner/bin && cp /bin/bash /opt/runner/bin/Runner.Worker && echo runner-credentials >/opt/runner/.credentials
USER runner
ENTRYPOINT ["/opt/runner/bin/Runner.Worker", "/machine"]
`
	if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte(text), 0o644); err != nil {
		return "", err
	}
	if out, err := exec.Command("docker", "build", "-q", "-t", name, "--network", "host", dir).CombinedOutput(); err != nil {
		return "", fmt.Errorf("docker build: %w\n%s", err, out)
	}
	atEnd = append(atEnd, func() { _ = exec.Command("docker", "rmi", name).Run() })
	return name, nil
})

// cappedOnce is the program as on a kernel with Landlock ABI 4.
var cappedOnce = sync.OnceValues(func() (string, error) {
	path, err := builtOnce()
	if err != nil {
		return "", err
	}
	path += "-abi4"
	cmd := exec.Command("go", "build", "-tags", "landlock4", "-o", path, "../cmd/ralph")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

// machine starts ralph beside a process of another step, and says what is left of it.
const machine = `
echo a-shell-history >~/.bash_history
mkdir -p ~/.npm/_cacache && echo fetched >~/.npm/_cacache/entry
TOKEN=of-another-step sleep 1000 & export DECOY=$!
echo $DECOY >/github/workspace/decoy
node -e "const s = require('http').createServer((q, r) => r.end()).listen(0, '127.0.0.1', () => require('fs').writeFileSync('/github/workspace/port', '' + s.address().port))" &
cp /proc/self/mountinfo /var/tmp/before
/ralph doctor --offline --isolation auto | grep namespaces
until [ -s /github/workspace/port ]; do sleep 0.1; done
/ralph action & main=$!
if [ -n "$KILLED" ]; then
  until [ -e /github/workspace/there ]; do sleep 0.1; done
  kill -9 $main
fi
wait $main
code=$?
left() { grep -laE 'sandbox-|agent.sh' /proc/[0-9]*/cmdline 2>/dev/null; }
for i in $(seq 150); do [ -z "$(left)" ] && break; sleep 0.1; done
echo "cache: $(cat ~/.npm/_cacache/*)"
echo "left: [$(left)]" "[$(ls /var/tmp)]" "[$(diff /var/tmp/before /proc/self/mountinfo)]" "[$(ls -A /tmp)]"
exit $code
`

// newMachine is a step on that machine, with this agent.
func newMachine(t *testing.T, binary func() (string, error), agent string) *job {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	j := newNight(t, forge(t).newRepository(t, program), agent)
	if j.Image, err = sudoImage(); err != nil {
		t.Fatal(err)
	}
	dir := sharedTempDir(t)
	writeFiles(t, dir, map[string]string{"machine": machine})
	script := strings.TrimPrefix(j.Inputs["agent-command"], "sh ")
	j.Inputs["agent-command"] = "sh /agent.sh"
	j.Mounts = []string{path + ":/ralph:ro", filepath.Join(dir, "machine") + ":/machine:ro", script + ":/agent.sh:ro"}
	return j
}

// onMachine are the rights that root has on a machine, and lacks in a container. Changes of
// a layered root cannot be layered again, so that /var/tmp is a volume.
func onMachine(more ...string) []string {
	return append(more, "-v", "/var/tmp", "--cap-add", "SYS_ADMIN", "--cap-add", "SYS_PTRACE",
		"--security-opt", "seccomp=unconfined", "--security-opt", "apparmor=unconfined", "--security-opt", "systempaths=unconfined")
}

// What an agent tries on the runner itself, where its children live in namespaces.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	j := newMachine(t, builtOnce, `cat >/dev/null
decoy=$(cat decoy)
cat /proc/$decoy/environ; kill -0 $decoy && echo "signals the decoy"
grep -laE 'sleep|Runner|sandbox-root|action' /proc/[0-9]*/cmdline
echo "first process: $(tr '\0' ' ' </proc/1/cmdline)"
cat /opt/runner/.credentials /github/home/.bash_history; ls -A /opt/runner /github/home /github/runner_temp /run
chmod 777 /agent.sh
sudo -n true && echo "is root"
unshare -U true && echo "has a user namespace"
echo mine >/tmp/mine && cat /tmp/mine
cd "$npm_config_cache/_cacache" && cat entry && echo poison >entry && echo more >more && echo "changes the cache: $(cat *)"; cd - >/dev/null
cat >server.js <<'EOF'
const http = require('http')
const end = (text) => { console.log(text); process.exit(0) }
const s = http.createServer((q, r) => r.end('own server answers\n')).listen(0, '127.0.0.1', () => {
  http.get({ port: s.address().port }, r => r.on('data', (d) => {
    console.log(d.toString())
    http.get({ port: +process.argv[2] }, () => end('a server outside answers')).on('error', e => end('outside: ' + e.code))
  }))
})
EOF
node server.js "$(cat port)"; rm server.js decoy port
printf 'add() { echo $(($1 + $2)); }\nmul() { echo $(($1 * $2)); }\n' >calc.sh`+done)
	writeFiles(t, j.Temp, map[string]string{"canary": "secret-of-the-job"})
	got := j.startAt(t, onMachine()...).wait(t, hereLimit)
	if got.Code != 0 || got.Outputs["status"] != "completed" {
		t.Fatalf("exit code %d, status %q", got.Code, got.Outputs["status"])
	}
	wants(t, "the log", got.Log, "namespaces, no cgroup (", "first process: ralph sandbox-init", "mine", "changes the cache: poison", "cache: fetched\n", "own server answers", "outside: E", "left: [] [before] [] []")
	for _, never := range []string{"of-another-step", "signals the decoy", "cmdline\n", "runner-credentials", "a-shell-history", ".credentials\n", "canary\n", "is root", "has a user namespace", "a server outside answers"} {
		if strings.Contains(got.Log, never) {
			t.Errorf("the log has %q", never)
		}
	}
}

// Ralph is killed there.
func TestNamespacesKilled(t *testing.T) {
	t.Parallel()
	j := newMachine(t, builtOnce, "cat >/dev/null; trap '' TERM HUP; setsid sh -c \"trap '' TERM; sleep 1000\" & touch there; sleep 1000")
	got := j.startAt(t, onMachine("-e", "KILLED=1")...).wait(t, hereLimit)
	if got.Code != 137 || !strings.Contains(got.Log, "left: [] [before] [] ") {
		t.Errorf("exit code %d:\n%s", got.Code, got.Log)
	}
}

// What is said, and refused, where something is missing.
func TestNamespacesMissing(t *testing.T) {
	t.Parallel()
	noSudo := []string{"-v", "/dev/null:/etc/sudoers.d/runner"}
	for _, c := range []struct {
		name, isolation string
		binary          func() (string, error)
		options         []string
		code            int
		says            []string
	}{
		{"no sudo", "auto", builtOnce, noSudo, 0, []string{"no namespaces (sudo: a password is required)", "none: sudo: a password is required"}},
		{"an older kernel", "strict", cappedOnce, onMachine(), 0, []string{"Landlock ABI 4", ", namespaces"}},
		{"no sudo on an older kernel", "auto", cappedOnce, noSudo, 0, []string{"Landlock ABI 4", "no namespaces (sudo"}},
		{"no sudo on an older kernel, strict", "strict", cappedOnce, noSudo, 2, []string{
			"isolation: strict needs namespaces or Landlock ABI 6 on the runner itself", "There are no namespaces (sudo: a password is required), and Landlock has ABI 4"}},
		{"no right to mount", "auto", builtOnce, []string{"--cap-add", "SYS_PTRACE"}, 0, []string{"no namespaces (unshare: operation not permitted)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			j := newMachine(t, c.binary, "cat /opt/runner/.credentials\n"+writes("file.txt", "text"))
			j.Inputs["isolation"] = c.isolation
			got := j.startAt(t, c.options...).wait(t, hereLimit)
			if got.Code != c.code {
				t.Errorf("exit code %d, want %d", got.Code, c.code)
			}
			wants(t, "the log", got.Log, c.says...)
			if strings.Contains(got.Log, "runner-credentials") {
				t.Error("the agent read the credentials of the runner")
			}
		})
	}
}
