//go:build e2e

package e2e

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// actOnMachine is act on a look-alike of a runner, as its user and without containers for the
// jobs: with sudo, or without. The agent is a script of sh.
func actOnMachine(t *testing.T, sudo bool, agent string) (*exec.Cmd, *logBuffer, *repository) {
	t.Helper()
	files := maps.Clone(program)
	files["agent.sh"] = agent
	r := forge(t).newRepository(t, files)
	git(t, r.Seed, "remote", "add", "origin", r.URL+"/"+r.Name)
	binary, err := builtOnce()
	if err != nil {
		t.Fatal(err)
	}
	workflow, err := filepath.Abs("testdata/host.yml")
	if err != nil {
		t.Fatal(err)
	}
	action := filepath.Dir(filepath.Dir(hostAction(t, binary)))
	writeFiles(t, action, map[string]string{"host/action.yml": readFile(t, "../host/action.yml")})
	cmd, log := actCommand(t, r, "workflow_dispatch", "-W", workflow, "-P", "ubuntu-latest=-self-hosted", "--local-repository", "org/ralph-action@v1="+action, "--var", "BINARY="+binary)
	owned(t, r.Seed, 1001)
	drop := "rm /etc/sudoers.d/runner; "
	if sudo {
		drop = ""
	}
	args := []string{"docker", "run", "--rm", "--name", fmt.Sprintf("ralph-e2e-%d-machine-%d", os.Getpid(), containers.Add(1)), "--label", "ralph-e2e", "--cap-add", "ALL", "--cap-drop", "SYS_RESOURCE", "--security-opt", "seccomp=unconfined", "--security-opt", "apparmor=unconfined", "--security-opt", "systempaths=unconfined", "--network", "host", "-w", r.Seed}
	args = append(args, "-v", cmd.Path+":/usr/local/bin/act")
	for _, path := range []string{binary, action, filepath.Dir(workflow), r.Seed, actHome(cmd)} {
		args = append(args, "-v", path+":"+path)
	}
	cmd.Args = append(append(args, os.Getenv("RALPH_E2E_IMAGE")+"-machine", "sh", "-c",
		drop+`echo "127.0.1.1 $(hostname)" >>/etc/hosts # which sudo asks for
echo npm-credentials >/home/runner/.npmrc && chown runner /home/runner/.npmrc && exec setpriv --reuid=1001 --regid=1001 --init-groups env HOME=/home/runner DO_NOT_TRACK=1 act "$@"`, "sh"), cmd.Args[1:]...)
	if cmd.Path, err = exec.LookPath("docker"); err != nil {
		t.Fatal(err)
	}
	return cmd, log, r
}

// actHome is where the secrets of an act lie.
func actHome(cmd *exec.Cmd) string {
	for _, kv := range cmd.Env {
		if home, ok := strings.CutPrefix(kv, "HOME="); ok {
			return home
		}
	}
	return ""
}

// A workflow on the runner itself to a pull request: tools of earlier steps are there, other
// people's credentials and root are not, and later steps have the machine as it was.
func TestHostWorkflow(t *testing.T) {
	t.Parallel()
	for _, sudo := range []bool{true, false} {
		t.Run(fmt.Sprintf("sudo=%t", sudo), func(t *testing.T) {
			t.Parallel()
			cmd, log, r := actOnMachine(t, sudo, `cat >/dev/null
sudo -n id && echo became-root
cat /home/runner/.npmrc /proc/[0-9]*/environ | tr '\0' '\n'
printf 'add() { echo $(($1 + $2)); }\nmul() { echo $(($1 * $2)); }\n' >calc.sh`+done)
			if err := runFor(cmd, 3*time.Minute); err != nil {
				t.Fatalf("act: %v", err)
			}
			text := maskCommand.ReplaceAllString(log.String(), "")
			wants(t, "the workflow's log", text, "the tool works", "outputs: completed, 1 iterations, pull request 1")
			if strings.Contains(text, "sudo gives 0") != sudo {
				t.Error("the step after it has another sudo than before")
			}
			for _, canary := range []string{"became-root", "npm-credentials", r.Token} {
				if strings.Contains(text, canary) {
					t.Errorf("%q stands in the log", canary)
				}
			}
			if ps := r.pulls(t); len(ps) != 1 || ps[0].Title != "Add mul" || ps[0].Head.Ref != "ralph/mul" {
				t.Errorf("pull requests = %+v, want one, Add mul", ps)
			}
		})
	}
}

// The same, cancelled in its second turn: act, which cancels, kills node and starts the
// post step; what there is of the work is published. Beside other tests there might not be
// time enough for that.
func TestHostWorkflowCancelled(t *testing.T) {
	cmd, log, r := actOnMachine(t, true, `cat >/dev/null
if [ -e one.txt ]; then echo two >two.txt; echo hangs; sleep 1000; fi
echo one >one.txt; echo half done`)
	ended := make(chan error, 1)
	go func() { ended <- runFor(cmd, 3*time.Minute) }()
	await(t, 2*time.Minute, "the second turn", func() bool { return strings.Contains(log.String(), "hangs") })
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("act calls a job green that was cancelled")
	}
	wants(t, "the log", log.String(), "Run Post org/ralph-action/host@v1", "Received signal, shutting down")
	r.fetch(t, "ralph/mul")
	if got := git(t, r.Seed, "diff", "--name-only", r.Base, "refs/remotes/origin/ralph/mul"); got != "one.txt\ntwo.txt" {
		t.Errorf("pushed files = %q, want one.txt and two.txt", got)
	}
	if ps := r.pulls(t); len(ps) != 1 || !strings.Contains(ps[0].Body, "Interrupted") {
		t.Errorf("pull requests = %+v, want one that says Interrupted", ps)
	}
}
