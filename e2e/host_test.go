//go:build e2e

package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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
)

// hostAction is a checkout of the action as a release has it: host/ beside a release.json
// that names this binary. Without one it is a commit of main.
func hostAction(t *testing.T, binary string) string {
	t.Helper()
	dir := sharedTempDir(t)
	writeFiles(t, dir, map[string]string{"host/main.js": readFile(t, "../host/main.js")})
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
	for path, text := range map[string]string{good: "#!/bin/sh\necho \"this is ralph $1, binary='$INPUT_BINARY'\"\nexit 7\n", bad: "#!/bin/sh\necho evil\n"} {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	name := "/org/ralph-action/releases/download/v1.2.3/ralph_1.2.3_" + runtime.GOOS + "_" + runtime.GOARCH + ".tar.gz"
	started := "this is ralph action, binary=''"
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
		{name: "what is given is missing", commit: good, given: "/nowhere/ralph", code: 2, says: "binary: /nowhere/ralph does not exist"},
		{name: "given without a release", given: good, code: 7, says: "is started unchecked"},
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
	if _, err := os.Stat(state["STATE_directory"]); !os.IsNotExist(err) {
		t.Errorf("the binary is still there: %v", err)
	}
}

// Node and ralph are killed in the second turn. Here the agent has the runner's own user and
// could have written the record of the run: the post step publishes nothing on its word, says
// so, and leaves the work where it is.
func TestHostKilled(t *testing.T) {
	t.Parallel()
	binary, err := builtOnce()
	if err != nil {
		t.Fatal(err)
	}
	r := forge(t).newRepository(t, program)
	j := newNight(t, r, `cat >/dev/null
if [ -e one.txt ]; then echo two >two.txt; echo hangs; sleep 1000; fi
echo one >one.txt; echo half done`)
	j.Env = map[string]string{"INPUT_BINARY": binary}
	main := hostAction(t, binary)
	s := hostStep(t, j, main)
	await(t, hereLimit, "the second turn", func() bool { return strings.Contains(s.log.String(), "hangs") })
	state := s.state(t)
	children, err := os.ReadFile("/proc/" + strconv.Itoa(s.cmd.Process.Pid) + "/task/" + strconv.Itoa(s.cmd.Process.Pid) + "/children")
	if err != nil {
		t.Fatal(err)
	}
	_ = s.cmd.Process.Kill()
	for _, pid := range strings.Fields(string(children)) {
		if n, err := strconv.Atoi(pid); err == nil {
			_ = syscall.Kill(n, syscall.SIGKILL)
		}
	}
	<-s.done
	for name, value := range state {
		j.Env[name] = value
	}
	post := hostStep(t, j, main)
	if got := post.wait(t, hereLimit); got.Code == 0 || !strings.Contains(got.Log, "without a user of its own") {
		t.Errorf("post: exit code %d:\n%s", got.Code, got.Log)
	}
	if text := readFile(t, filepath.Join(j.Workspace, "one.txt")) + readFile(t, filepath.Join(j.Workspace, "two.txt")); text != "one\ntwo\n" {
		t.Errorf("the workspace has %q", text)
	}
}
