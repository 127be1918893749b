//go:build e2e

package redteam

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// runnerPaths are where a runner has what a container finds below /github. On the
// look-alike machine the latter lead to the former, so that an attack names one of them.
var runnerPaths = strings.NewReplacer(
	"/github/workspace", runnerHome+"/work/r/r", "/github/runner_temp", runnerHome+"/work/_temp", "/github/file_commands", runnerHome+"/work/_temp/_runner_file_commands",
	"/github/workflow", runnerHome+"/work/_temp/_github_workflow", "/github/home", runnerHome,
)

// writable are the folders of the machine that everybody may write to.
var writable = []string{"opt", "tmp", "var-tmp", "shm"}

// onMachine gives the stage the folders of a runner: HOME and what of the machine
// everybody may write to lie on this machine, to look at afterwards.
func (s *stage) onMachine() {
	home := filepath.Join(s.dir, "home")
	s.Home, s.Workspace, s.Temp = home, filepath.Join(home, "work", "r", "r"), filepath.Join(home, "work", "_temp")
	s.Commands, s.Workflow = filepath.Join(s.Temp, "_runner_file_commands"), filepath.Join(s.Temp, "_github_workflow")
	s.Outside = []string{home}
	for _, name := range writable {
		s.Outside = append(s.Outside, filepath.Join(s.dir, name))
	}
}

// sockets are of those who do what they are asked, on the machine.
var sockets = map[string]string{
	"systemd.sock": "/run/systemd/private", "dbus.sock": "/run/dbus/system_bus_socket", "bus.sock": "/run/user/1001/bus", "containerd.sock": "/run/containerd/containerd.sock",
	"ssh-agent.sock": "/tmp/ssh-redteam/agent.1", "gpg-agent.sock": runnerHome + "/.gnupg/S.gpg-agent",
}

// furnish fills the machine with what is to be taken, and what is not to be changed.
func (s *stage) furnish(t *testing.T) {
	t.Helper()
	c := canaries()
	secret := func(dir string, names ...string) {
		for _, name := range names {
			writeFiles(t, dir, map[string]string{name: "token = " + c["the machine's credentials"] + "\n"})
			if err := os.Chmod(filepath.Join(dir, name), 0o600); err != nil {
				t.Fatal(err)
			}
			s.Before[filepath.Join(dir, name)] = readFile(t, filepath.Join(dir, name))
		}
	}
	keep := func(dir string, files map[string]string) {
		writeFiles(t, dir, files)
		for name, text := range files {
			s.Before[filepath.Join(dir, name)] = text
		}
	}
	secret(s.Home, credentialFiles...)
	for _, name := range cacheFiles {
		keep(s.Home, map[string]string{name: "cached\n"})
	}
	opt := filepath.Join(s.dir, "opt")
	keep(opt, map[string]string{toolFile: "#!/bin/sh\necho go\n"})
	keep(s.Home, map[string]string{ownFile: readFile(t, "../../host/main.js"), ".bashrc": "\n", ".profile": "\n", "actions-runner/.env": "\n", "actions-runner/run.sh": "#!/bin/sh\n"})
	worker := filepath.Join(s.Home, "actions-runner", "bin", "Runner.Worker")
	writeFiles(t, filepath.Dir(worker), map[string]string{"Runner.Worker": readFile(t, filepath.Join(s.kit.dir, "raider"))})
	if err := os.Chmod(worker, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range writable[1:] {
		secret(filepath.Join(s.dir, dir), "other-step.txt")
	}
}

// openFolders lets everybody write where everybody may on a hosted runner.
func (s *stage) openFolders(t *testing.T) {
	t.Helper()
	for _, name := range writable {
		dir := filepath.Join(s.dir, name)
		if err := os.Chown(dir, 0, 0); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("chmod", "-R", "a+rwX", filepath.Join(s.dir, "opt")).CombinedOutput(); err != nil {
		t.Fatalf("chmod: %v\n%s", err, out)
	}
	if err := os.Chmod(s.Home, 0o750); err != nil {
		t.Fatal(err)
	}
}

// machineScript is process 1 of the machine.
const machineScript = `mount -o remount,rw /sys
for f in /sys/fs/cgroup /sys/fs/cgroup/*; do mount -o remount,bind,rw $f 2>/dev/null; done
[ "$1" = "%[1]s" ] || rm /etc/sudoers.d/runner
chgrp docker /run/docker.sock
cp /opt/redteam/ralph /usr/local/bin/ralph
mkdir /github
ln -s %[2]s/work/r/r /github/workspace
ln -s %[2]s/work/_temp /github/runner_temp
ln -s %[2]s/work/_temp/_runner_file_commands /github/file_commands
ln -s %[2]s/work/_temp/_github_workflow /github/workflow
ln -s %[2]s /github/home
setpriv --reuid=1001 --regid=1001 --init-groups %[2]s/actions-runner/bin/Runner.Worker worker </rt/job.json
code=$?
for f in /proc/[0-9]*/cmdline; do tr '\0' ' ' <$f; echo; done >/rt/left 2>/dev/null
exit $code
`

// runMachine starts the step on a look-alike of a runner, as that starts a JavaScript
// action; in the control the agent alone, which has become root by sudo.
func (s *stage) runMachine(t *testing.T, limit time.Duration) {
	t.Helper()
	orders, err := json.Marshal(s.Orders)
	if err != nil {
		t.Fatal(err)
	}
	c := canaries()
	env := s.environ(t)
	if s.Control {
		env = s.bareEnviron(t)
	}
	for name, value := range env {
		env[name] = runnerPaths.Replace(value)
	}
	for name, value := range map[string]string{
		"PATH": "/opt/" + filepath.Dir(toolFile) + ":" + runnerHome + "/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "RUNNER_TOOL_CACHE": "/opt/hostedtoolcache",
		"GOROOT": "/opt/" + filepath.Dir(filepath.Dir(toolFile)), "SSH_AUTH_SOCK": sockets["ssh-agent.sock"], "XDG_RUNTIME_DIR": "/run/user/1001", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/user/1001/bus",
		"INPUT_BINARY": "/usr/local/bin/ralph",
	} {
		env[name] = value
	}
	action := []string{"node", runnerHome + "/" + ownFile}
	job := map[string]any{
		"Variables": map[string]any{"system.github.token": map[string]any{"value": c["the worker's memory"], "isSecret": true}},
		"Env":       env, "Dir": runnerPaths.Replace("/github/workspace"), "Main": action, "Post": action, "Other": c["another step's process"],
	}
	if s.Control {
		job["Main"], job["Post"] = append([]string{"sudo", "-nE"}, s.bareScript()...), nil
	}
	told, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	writeFiles(t, s.Net, map[string]string{"orders.json": string(orders), "job.json": string(told)})
	if err := os.Chmod(filepath.Join(s.Net, "job.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	name := s.side + "-machine"
	args := append([]string{"run", "--name", name, "--rm", "--network", "container:" + s.side, "--entrypoint", "/bin/sh", "-e", "WORKER_TOKEN=" + c["the worker's environment"]}, s.limits()...)
	for _, m := range []string{"home:" + runnerHome, "opt:/opt", "tmp:/tmp", "var-tmp:/var/tmp", "shm:/dev/shm", "net:/rt"} {
		args = append(args, "-v", filepath.Join(s.dir, m))
	}
	for _, m := range s.attackerMounts() {
		args = append(args, "-v", m)
	}
	for file, path := range sockets {
		args = append(args, "-v", filepath.Join(s.Net, file)+":"+path)
	}
	script := fmt.Sprintf(machineScript, columns[withNamespaces], runnerHome)
	environ := []string{"PATH=" + os.Getenv("PATH"), "DOCKER_HOST=" + os.Getenv("DOCKER_HOST"), "DOCKER_CONFIG=" + t.TempDir()}
	s.await(t, "machine", name, append(args, os.Getenv("RALPH_E2E_IMAGE")+"-machine", "-c", script, "machine", columns[s.Where]), environ, limit)
	for _, dir := range []string{s.Temp, filepath.Join(s.dir, "tmp"), filepath.Join(s.dir, "var-tmp"), filepath.Join(s.dir, "shm")} {
		if left, err := filepath.Glob(filepath.Join(dir, "ralph*")); err != nil || len(left) > 0 && !s.Control {
			t.Errorf("%s: the step and its post step left %q, %v", s.Name, left, err)
		}
	}
}
