//go:build e2e

package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/testing/actionrun"
)

// hostAction is a checkout of the action as a release has it: host/ beside a release.json
// that names this binary. Without one it is a commit of main.
func hostAction(t *testing.T, binary string) string {
	t.Helper()
	dir := sharedTempDir(t)
	writeFiles(t, dir, map[string]string{"host/main.js": readFile(t, "../host/main.js"), "setup/main.js": readFile(t, "../setup/main.js")})
	if binary != "" {
		sum := sha256.Sum256([]byte(readFile(t, binary)))
		text, err := json.Marshal(map[string]any{"version": "v1.2.3", "binaries": map[string]string{runtime.GOOS + "_" + runtime.GOARCH: hex.EncodeToString(sum[:])}})
		if err != nil {
			t.Fatal(err)
		}
		writeFiles(t, dir, map[string]string{"release.json": string(text)})
	}
	return filepath.Join(dir, "host", "main.js")
}

// archive is what a release offers for download.
func archive(t *testing.T, binary string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	text := readFile(t, binary)
	if err := w.WriteHeader(&tar.Header{Name: "ralph", Mode: 0o755, Size: int64(len(text))}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Which binary the action on the runner starts: the one whose checksum its own commit
// holds, from the tool cache or the release, and none else.
func TestHostBinary(t *testing.T) {
	t.Parallel()
	dir := sharedTempDir(t)
	good, bad := filepath.Join(dir, "good"), filepath.Join(dir, "bad")
	tools := filepath.Join(dir, "bin") // a go that sees what it is given
	if err := os.Mkdir(tools, 0o755); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		good: "#!/bin/sh\n[ \"$1\" = version ] && exit\necho \"this is ralph $1, binary='$INPUT_BINARY$NODE_OPTIONS$LD_BIND_NOW' $INPUT_TOKEN $LD_LIBRARY_PATH\"\nexit 7\n",
		bad:  "#!/bin/sh\necho evil\n", filepath.Join(tools, "go"): "#!/bin/sh\nenv | grep -q a-secret && exit 1\nexec cp '" + good + "' \"$5\"\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	packed := filepath.Join(dir, "ralph.tar.gz")
	if err := os.WriteFile(packed, archive(t, good), 0o644); err != nil {
		t.Fatal(err)
	}
	name := "/org/ralph-action/releases/download/v1.2.3/ralph_1.2.3_" + runtime.GOOS + "_" + runtime.GOARCH + ".tar.gz"
	started := "this is ralph action, binary='' a-secret /the/lib"
	for _, c := range []struct {
		name   string
		commit string // binary that release.json names; empty: no release
		served []byte // nil: the server answers 404
		cached string // binary in the tool cache before
		given  string // input
		path   string // PATH; empty: as it is
		code   int
		says   string
		keeps  string // binary in the tool cache afterwards
	}{
		{name: "downloaded", commit: good, served: archive(t, good), code: 7, says: started, keeps: good},
		{name: "from the cache", commit: good, cached: good, code: 7, says: started, keeps: good},
		{name: "a changed cache", commit: good, cached: bad, served: archive(t, good), code: 7, says: "it is downloaded anew", keeps: good},
		{name: "a changed download", commit: good, served: archive(t, bad), code: 2, says: "nothing was started"},
		{name: "half a download", commit: good, served: archive(t, good)[:100], code: 2, says: "could not be downloaded"},
		{name: "no download", commit: good, code: 2, says: "put it into the tool cache or give the input `binary`"},
		{name: "given", commit: good, given: good, code: 7, says: started},
		{name: "another is given", commit: good, given: bad, code: 2, says: "and this commit of the action wants"},
		{name: "what is given is missing", commit: good, given: "/nowhere/ralph", code: 2, says: "binary: /nowhere/ralph is no file, or does not exist"},
		{name: "what is given is a folder", commit: good, given: dir, code: 2, says: "is no file, or does not exist"},
		{name: "given without a release", given: good, code: 7, says: "is started unchecked"},
		{name: "given is the archive", given: packed, code: 2, says: "is no ralph that this machine can start"},
		{name: "no release", path: tools + ":/usr/bin:/bin", code: 7, says: started},
		{name: "no release, no Go", path: "/usr/bin:/bin", code: 2, says: "run actions/setup-go before this step"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != name || c.served == nil {
					http.NotFound(w, r)
					return
				}
				_, _ = w.Write(c.served)
			}))
			defer server.Close()
			temp, cache := t.TempDir(), t.TempDir()
			kept := filepath.Join(cache, "ralph", "1.2.3", map[string]string{"amd64": "x64"}[runtime.GOARCH], "ralph")
			if runtime.GOARCH != "amd64" {
				kept = filepath.Join(cache, "ralph", "1.2.3", runtime.GOARCH, "ralph")
			}
			if c.cached != "" {
				writeFiles(t, filepath.Dir(kept), map[string]string{"ralph": readFile(t, c.cached)})
			}
			path := c.path
			if path == "" {
				path = os.Getenv("PATH")
			}
			writeFiles(t, temp, map[string]string{"state": ""})
			env := []string{
				"PATH=" + path, "RUNNER_TEMP=" + temp, "RUNNER_TOOL_CACHE=" + cache, "GITHUB_STATE=" + filepath.Join(temp, "state"),
				"GITHUB_SERVER_URL=" + server.URL, "GITHUB_ACTION_REPOSITORY=org/ralph-action", "INPUT_BINARY=" + c.given,
				"INPUT_TOKEN=a-secret", "NODE_OPTIONS=--no-warnings", "LD_BIND_NOW=1", "LD_LIBRARY_PATH=/the/lib",
				"HTTPS_PROXY=http://127.0.0.1:9", // github.com is not asked
			}
			node, err := exec.LookPath("node")
			if err != nil {
				t.Fatal(err)
			}
			main := hostAction(t, c.commit)
			step := exec.Command(node, main)
			step.Env = env
			log, _ := step.CombinedOutput()
			if code := step.ProcessState.ExitCode(); code != c.code || !strings.Contains(string(log), c.says) || strings.Contains(string(log), "evil") {
				t.Errorf("exit code %d, want %d and %q:\n%s", code, c.code, c.says, log)
			}
			if text, err := os.ReadFile(kept); c.keeps != "" && (err != nil || string(text) != readFile(t, c.keeps)) || c.keeps == "" && c.cached == "" && err == nil {
				t.Errorf("the tool cache holds %q, %v", text, err)
			}
			// The post step starts the same binary, if main started it, and removes it.
			post := exec.Command(node, main)
			post.Env = env
			for line := range strings.Lines(readFile(t, filepath.Join(temp, "state"))) {
				post.Env = append(post.Env, "STATE_"+strings.TrimSpace(line))
			}
			log, _ = post.CombinedOutput()
			if told := strings.Contains(string(log), "this is ralph post"); told != (c.code == 7) {
				t.Errorf("post: exit code %d:\n%s", post.ProcessState.ExitCode(), log)
			}
			if left, err := filepath.Glob(filepath.Join(temp, "ralph-*")); err != nil || len(left) > 0 {
				t.Errorf("%q are left, %v", left, err)
			}

			// setup/ puts the same binary on PATH, or fails as main does.
			if c.cached != "" {
				writeFiles(t, filepath.Dir(kept), map[string]string{"ralph": readFile(t, c.cached)})
			} else if err := os.RemoveAll(kept); err != nil {
				t.Fatal(err)
			}
			writeFiles(t, temp, map[string]string{"path": ""})
			setup := exec.Command(node, filepath.Join(filepath.Dir(filepath.Dir(main)), "setup", "main.js"))
			setup.Env = append(env, "GITHUB_PATH="+filepath.Join(temp, "path"))
			log, _ = setup.CombinedOutput()
			on := strings.TrimSpace(readFile(t, filepath.Join(temp, "path")))
			switch code := setup.ProcessState.ExitCode(); {
			case c.code == 7 && (code != 0 || readFile(t, filepath.Join(on, "ralph")) != readFile(t, good)):
				t.Errorf("setup: exit code %d, %q on PATH:\n%s", code, on, log)
			case c.code == 2 && (code != 2 || on != "" || !strings.Contains(string(log), c.says)):
				t.Errorf("setup: exit code %d, want 2 and %q, and nothing on PATH, not %q:\n%s", code, c.says, on, log)
			}
		})
	}
}

// Where ralph does not run, the step fails at once and says what to do, whatever binary is
// given, and nothing is left behind.
func TestHostElsewhere(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ platform, arch, says string }{
		{"win32", "x64", "and this one has Windows, where it has no sandbox (x64): give the job another runs-on, such as ubuntu-24.04."},
		{"freebsd", "x64", "and this one has freebsd (x64): give the job another runs-on, such as ubuntu-24.04."},
		{"linux", "ia32", "and this one has linux (ia32): give the job another runs-on, such as ubuntu-24.04."},
	} {
		for _, given := range []string{"", "/bin/true"} {
			temp := t.TempDir()
			writeFiles(t, temp, map[string]string{"state": "", "runner.js": "for (const [name, value] of Object.entries({ platform: '" + c.platform + "', arch: '" + c.arch + "' })) Object.defineProperty(process, name, { value })\n"})
			main := hostAction(t, "")
			env := []string{"PATH=" + os.Getenv("PATH"), "RUNNER_TEMP=" + temp, "GITHUB_STATE=" + filepath.Join(temp, "state"), "INPUT_BINARY=" + given}
			step := exec.Command(node, "--require", filepath.Join(temp, "runner.js"), main)
			step.Env = env
			log, _ := step.CombinedOutput()
			want := "::error title=ralph did not start::ralph runs on Linux and macOS runners with x64 or arm64, " + c.says + "\n"
			if code := step.ProcessState.ExitCode(); code != 2 || string(log) != want {
				t.Errorf("%s: exit code %d, it says %q, want 2 and %q", c.platform, code, log, want)
			}
			post := exec.Command(node, "--require", filepath.Join(temp, "runner.js"), main)
			post.Env = env
			for line := range strings.Lines(readFile(t, filepath.Join(temp, "state"))) {
				post.Env = append(post.Env, "STATE_"+strings.TrimSpace(line))
			}
			if log, err := post.CombinedOutput(); err != nil || len(log) > 0 {
				t.Errorf("%s: post: %v, it says %q", c.platform, err, log)
			}
			if left, err := filepath.Glob(filepath.Join(temp, "ralph-*")); err != nil || len(left) > 0 {
				t.Errorf("%s: %q are left, %v", c.platform, left, err)
			}
		}
	}
}

// hostStep starts a step of the action on the runner, and returns its state.
func hostStep(t *testing.T, j *job, main string) *step {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal(err)
	}
	return j.startProgram(t, node, main)
}

// state is what main told the post step, as that gets it.
func (s *step) state(t *testing.T) map[string]string {
	t.Helper()
	file := filepath.Join(s.job.commands, commandFiles["GITHUB_STATE"])
	values := map[string]string{}
	for name, value := range parseOutputs(t, readFile(t, file)) {
		values["STATE_"+name] = value
	}
	if err := os.Truncate(file, 0); err != nil {
		t.Fatal(err)
	}
	return values
}

// The main job on the runner itself, as its user: the tools that earlier steps set up are
// there, and the runner's own files, and those of other steps, are not.
func TestHostRun(t *testing.T) {
	t.Parallel()
	binary, err := builtOnce()
	if err != nil {
		t.Fatal(err)
	}
	r := forge(t).newRepository(t, program)
	cache := sharedTempDir(t)
	writeFiles(t, cache, map[string]string{"tool/1.0/x64/bin/tool": "#!/bin/sh\nexec cat \"${0%/bin/tool}/lib/words\"\n", "tool/1.0/x64/lib/words": "the tool works\n"})
	if err := os.Chmod(filepath.Join(cache, "tool/1.0/x64/bin/tool"), 0o755); err != nil {
		t.Fatal(err)
	}
	owned(t, cache, 1001)
	j := newNight(t, r, `cat >/dev/null
tool
for file in "$SECRETS"/* "$RUNNER_TEMP"/* /proc/$PPID/environ; do cat "$file"; done
echo changed >"$(dirname "$(command -v tool)")/../lib/words"
printf 'add() { echo $(($1 + $2)); }\nmul() { echo $(($1 * $2)); }\n' >calc.sh`+done)
	secrets := sharedTempDir(t)
	writeFiles(t, secrets, map[string]string{".credentials": "runner-credentials", "npmrc": "npm-credentials"})
	owned(t, secrets, 1001)
	j.Inputs["guardrails"] = "tool"
	j.Env = map[string]string{
		"PATH": filepath.Join(cache, "tool/1.0/x64/bin") + ":" + os.Getenv("PATH"), "RUNNER_TOOL_CACHE": cache, "INPUT_BINARY": binary, "SECRETS": secrets,
	}
	// What a job left here whose post step never came, and whose agent closed a folder.
	lost := filepath.Join(j.Temp, "ralph-lost")
	writeFiles(t, lost, map[string]string{"job": "octo/work 41 1 ralph", "ralph-1/home/closed/x": ""})
	if err := errors.Join(os.Chmod(lost, 0o700), giveToUser(lost), os.Chmod(filepath.Join(lost, "ralph-1/home/closed"), 0)); err != nil {
		t.Fatal(err)
	}
	main := hostAction(t, binary)
	s := hostStep(t, j, main)
	<-s.done
	state := s.state(t)
	got := s.wait(t, time.Second)
	if got.Code != 0 || got.Outputs["status"] != "completed" {
		t.Fatalf("exit code %d, status %q", got.Code, got.Outputs["status"])
	}
	wants(t, "the log", got.Log, "the tool works", "Isolation: Landlock")
	for _, canary := range []string{"runner-credentials", "npm-credentials", runtimeToken, oidcToken} {
		if strings.Contains(maskCommand.ReplaceAllString(got.Log, ""), canary) {
			t.Errorf("the agent read %q", canary)
		}
	}
	if text := readFile(t, filepath.Join(cache, "tool/1.0/x64/lib/words")); text != "the tool works\n" {
		t.Errorf("the agent changed a tool of the runner: %q", text)
	}
	for name, value := range state {
		j.Env[name] = value
	}
	post := hostStep(t, j, main)
	if got := post.wait(t, hereLimit); got.Code != 0 || !strings.Contains(got.Log, "Nothing to do") {
		t.Errorf("post: exit code %d:\n%s", got.Code, got.Log)
	}
	j.nothingLeft(t)
}

// hostAttacks is what an agent on the runner tries at the post step: its user is the runner's,
// and HOME tells where the step's folder is. It prints REACHED for each success.
const hostAttacks = `
step=${HOME%/*/*} temp=${HOME%/*/*/*}
reached() { "$@" >/dev/null 2>&1 && echo "REACHED: $*"; }
reached ls "$temp"
reached ls "$step"
reached ls "$temp/_runner_file_commands"
for name in ralph ralph-run process job lock hidden/hidden.json; do
	reached cat "$step/$name"
	reached rm -f "$step/$name" && reached test ! -e "$step/$name"
	reached sh -c "echo forged >'$step/$name'"
	reached cp /bin/true "$step/$name"
	reached ln "$step/$name" here
done
reached mv "$step" "$step-gone"
reached mkdir "$temp/ralph-forged"
reached sh -c "echo directory=$PWD >>'$temp/_runner_file_commands/save_state_1'"
mkdir "$HOME/closed" "$TMPDIR/closed" && touch "$HOME/closed/x" && chmod 0 "$HOME/closed" "$TMPDIR/closed"
git checkout -q -b evil
echo forged >forged.txt
git add -A
git -c user.name=x -c user.email=x@example.com commit -q -m forged
git update-ref refs/heads/ralph/mul HEAD
git rm -q --cached forged.txt
rm forged.txt
sed 's|"Name":"[^"]*"|"Name":"main"|; s|"Branch":"[^"]*"|"Branch":"main"|' .git/ralph-run >.git/new
chmod 600 .git/new
mv .git/new .git/ralph-run
`

// children are the processes that a process has started itself.
func children(t *testing.T, pid int) (pids []int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range strings.Fields(string(text)) {
		if n, err := strconv.Atoi(word); err == nil {
			pids = append(pids, n)
		}
	}
	return pids
}

// The ways in which a step on the runner itself is ended, beside an agent that tries all it
// can: what was done is published as interrupted, what the agent forged is not, and nothing of
// the run is left, no process and no folder.
func TestHostKilled(t *testing.T) {
	t.Parallel()
	binary, err := builtOnce()
	if err != nil {
		t.Fatal(err)
	}
	// kill ends node with the first of its descendants, one generation after the other.
	kill := func(generations int) func(*testing.T, *step) {
		return func(t *testing.T, s *step) {
			t.Helper()
			all, last := []int{s.cmd.Process.Pid}, []int{s.cmd.Process.Pid}
			for range generations {
				var next []int
				for _, pid := range last {
					next = append(next, children(t, pid)...)
				}
				all, last = append(all, next...), next
			}
			for _, pid := range all {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			<-s.done
		}
	}
	for _, c := range []struct {
		name string
		end  func(*testing.T, *step)
		here bool // what of the work is published at its end, and not by the post step
	}{
		{name: "cancelled", end: func(t *testing.T, s *step) { s.cancel(t) }, here: true},
		{name: "node", end: kill(0), here: true},
		{name: "node and ralph", end: kill(1)},
		{name: "and the supervisor", end: kill(2)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			seconds := ownSeconds()
			r := forge(t).newRepository(t, program)
			j := newNight(t, r, `cat >/dev/null
if [ ! -e one.txt ]; then echo one >one.txt; echo half done; exit; fi
echo two >two.txt
`+hostAttacks+`
setsid sh -c 'trap "" INT TERM HUP; sleep `+seconds+`' &
echo hangs
sleep `+seconds)
			j.Env = map[string]string{"INPUT_BINARY": binary, "NODE_OPTIONS": "--no-warnings", "LD_BIND_NOW": "1"}
			main := hostAction(t, binary)
			s := hostStep(t, j, main)
			await(t, hereLimit, "the second turn", func() bool { return strings.Contains(s.log.String(), "hangs") })
			state := s.state(t)
			c.end(t, s)
			for name, value := range state {
				j.Env[name] = value
			}
			got := hostStep(t, j, main).wait(t, hereLimit)
			if got.Code != 0 || strings.Contains(got.Log, "Nothing to do") != c.here {
				t.Errorf("post: exit code %d:\n%s", got.Code, got.Log)
			}
			if log := s.log.String(); strings.Contains(log, "REACHED") {
				t.Errorf("the agent reached what the post step believes:\n%s", log)
			}
			if !c.here {
				wants(t, "the log", got.Log, "is not the one that it wrote")
				wants(t, "the summary", got.Summary, "the run was killed", "is not the one that it wrote")
				got.outputs(t, map[string]string{"status": "interrupted", "iterations": "2"})
			}
			if diff := git(t, r.Seed, "diff", "--name-only", r.Base, r.fetch(t, "ralph/mul")); diff != "one.txt\ntwo.txt" {
				t.Errorf("pushed files = %q, want one.txt and two.txt", diff)
			}
			if r.fetch(t, "evil") != "" || r.fetch(t, "main") != r.Base {
				t.Error("a branch is published that the agent forged")
			}
			if ps := r.pulls(t); len(ps) != 1 || !ps[0].Draft || !strings.Contains(ps[0].Body, "Interrupted") {
				t.Errorf("pull requests: %+v, want a draft that says so", ps)
			}
			if config := readFile(t, filepath.Join(j.Workspace, ".git", "config")); config != j.config {
				t.Errorf(".git/config = %q, want it as before", config)
			}
			j.nothingLeft(t)
			checkProcesses(t, seconds)
		})
	}
}

// nothingLeft wants no folder of a run in the runner's folder for temporary files.
func (j *job) nothingLeft(t *testing.T) {
	t.Helper()
	if left, err := filepath.Glob(filepath.Join(j.Temp, "ralph-*")); err != nil || len(left) > 0 {
		t.Errorf("%q are left, %v", left, err)
	}
}

// A post step that is cancelled leaves no more than any other.
func TestHostPostCancelled(t *testing.T) {
	t.Parallel()
	binary, err := builtOnce()
	if err != nil {
		t.Fatal(err)
	}
	seconds := ownSeconds()
	r := forge(t).newRepository(t, program)
	j := newNight(t, r, `cat >/dev/null
mkdir "$HOME/closed"; touch "$HOME/closed/x"; chmod 0 "$HOME/closed"
trap "" INT TERM HUP
echo hangs
sleep `+seconds)
	j.Env = map[string]string{"INPUT_BINARY": binary}
	main := hostAction(t, binary)
	s := hostStep(t, j, main)
	await(t, hereLimit, "the agent", func() bool { return strings.Contains(s.log.String(), "hangs") })
	ralph := children(t, s.cmd.Process.Pid)[0]
	// A main step that does not end by itself.
	if err := errors.Join(syscall.Kill(ralph, syscall.SIGSTOP), s.cmd.Process.Kill()); err != nil {
		t.Fatal(err)
	}
	state := s.state(t)
	for name, value := range state {
		j.Env[name] = value
	}
	post := hostStep(t, j, main)
	await(t, hereLimit, "the post step's SIGTERM", func() bool {
		return strings.Contains(readFile(t, fmt.Sprintf("/proc/%d/status", ralph)), "ShdPnd:\t0000000000004000")
	})
	_ = post.cmd.Process.Signal(syscall.SIGINT)
	if got := post.wait(t, 10*time.Second); got.Code == 0 || !strings.Contains(got.Log, "was cancelled") {
		t.Errorf("post: exit code %d:\n%s", got.Code, got.Log)
	}
	j.nothingLeft(t)
	checkProcesses(t, seconds)
}

// Killed at any step of publishing, and followed by the post step.
func TestHostKilledThenPost(t *testing.T) {
	binary, err := builtOnce()
	if err != nil {
		t.Fatal(err)
	}
	main := hostAction(t, binary)
	for i, s := range actionrun.Scenarios(binary) {
		scenario := s.Make
		s.Make = func(t testing.TB) actionrun.Action {
			a := scenario(t)
			a.Host = main
			return a
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			actionrun.KillAndPost(t, s, func(m actionrun.Moment) bool { return long || (m.Write+3*i)%9 == 0 && m.After == (i%2 == 0) })
		})
	}
}
