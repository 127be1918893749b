package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/org/ralph-action/internal/cli/demo/gitserver"
	"github.com/org/ralph-action/internal/testing/barerepo"
	"github.com/org/ralph-action/internal/testing/fakegithub"
	"github.com/org/ralph-action/internal/testing/fakeresults"
)

func TestMain(m *testing.M) {
	if strings.HasSuffix(os.Args[0], ".test") && signal.Ignored(syscall.SIGHUP) { // under nohup: what a test starts would inherit it
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	testscript.Main(suite{m}, map[string]func(){"lanes": lanesMain, "claude": claudeMain, "reach": reachMain, "without-landlock": withoutLandlockMain, "without-notifications": withoutNotificationsMain})
}

// suite is all tests, with the directory of the binary on PATH.
type suite struct{ *testing.M }

func (s suite) Run() int {
	dir, err := os.MkdirTemp("", "ralph-binary")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	build = sync.OnceValues(func() (string, error) {
		args := []string{"build", "-ldflags", "-s -w -X main.version=1.2.3", "-o", dir + string(filepath.Separator)}
		if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
			args = append(args, "-race")
		}
		if out, err := exec.Command("go", append(args, ".", "./testdata/story")...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("go build: %w\n%s", err, out)
		}
		return filepath.Join(dir, "ralph"), nil
	})
	return s.M.Run()
}

// build makes the binary when the first test asks for it. The test binary could
// be ralph, too, but with the packages of the tests it takes twice as long to
// start, in each of thousands of processes.
var build func() (path string, err error)

// binary is the path of ralph, version 1.2.3, which is on PATH as well.
func binary(t testing.TB) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestScripts runs the real binary, with fake agents, against a real git server
// and pull-request API. Every promise a user can see is one script.
func TestScripts(t *testing.T) { scripts(t, "testdata/script") }

func scripts(t *testing.T, dir string) {
	t.Helper()
	binary(t)
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Values[testKey{}] = e.T()
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("TMPDIR", filepath.Join(e.WorkDir, "tmp"))
			e.Setenv("GIT_CONFIG_NOSYSTEM", "1")
			e.Setenv("GORACE", "atexit_sleep_ms=0") // else each of hundreds of processes sleeps a second
			e.Setenv("GIT_AUTHOR_NAME", "A Person")
			e.Setenv("GIT_AUTHOR_EMAIL", "person@example.com")
			e.Setenv("GIT_COMMITTER_NAME", "A Person")
			e.Setenv("GIT_COMMITTER_EMAIL", "person@example.com")
			for _, dir := range []string{"home", "tmp"} {
				if err := os.MkdirAll(filepath.Join(e.WorkDir, dir), 0o777); err != nil {
					return err
				}
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"forge": forgeCommand, "checkout": checkoutCommand, "actions": actionsCommand, "pulls": pullsCommand, "fault": faultCommand,
			"branch": branchCommand, "commit": commitCommand, "until": untilCommand, "signal": signalCommand, "repeat": repeatCommand, "alone": aloneCommand,
			"chown": chownCommand, "github": githubCommand, "keys": keysCommand, "results": resultsCommand,
		},
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %s", cond)
		},
	})
}

// world is what a script's forge consists of.
type world struct {
	forge *fakegithub.Forge
	repo  *fakegithub.Repository
	url   string
	token string
}

const owner, name = "octo", "work"

// testKey is where a script keeps its *testing.T.
type testKey struct{}

// worlds are the forges of the scripts that run, by working folder.
var worlds sync.Map

func theWorld(ts *testscript.TestScript) *world {
	w, ok := worlds.Load(ts.Getenv("WORK"))
	if !ok {
		ts.Fatalf("no forge: the script must start one first")
	}
	return w.(*world)
}

// forge DIR: serves a repository whose main branch holds DIR's files. Every
// request is checked against GitHub's own description of its API.
func forgeCommand(ts *testscript.TestScript, neg bool, args []string) {
	w := &world{token: "ghs_0123456789abcdefghijklmnopqrstuvwxyz"}
	var err error
	w.forge = fakegithub.New(ts.Value(testKey{}).(testing.TB), fakegithub.Options{Dir: ts.MkAbs("forge")})
	w.forge.AddToken(fakegithub.Token{Value: w.token})
	w.repo, err = w.forge.NewRepository(owner, name)
	ts.Check(err)
	_, err = w.repo.Commit("main", "first", readFiles(ts, args[0]))
	ts.Check(err)
	w.url = w.forge.URL
	ts.Setenv("FORGE", w.url)
	ts.Setenv("TOKEN", w.token)
	worlds.Store(ts.Getenv("WORK"), w)
}

// readFiles is the tree of a folder; *.sh are executable.
func readFiles(ts *testscript.TestScript, dir string) map[string]gitserver.File {
	files := map[string]gitserver.File{}
	root := ts.MkAbs(dir)
	ts.Check(filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(root, path)
		files[filepath.ToSlash(rel)] = gitserver.File{Content: string(data), Executable: strings.HasSuffix(path, ".sh")}
		return err
	}))
	return files
}

// checkout DIR [BRANCH [REPOSITORY]]: what actions/checkout leaves: shallow, with the token
// in the repository's configuration.
func checkoutCommand(ts *testscript.TestScript, neg bool, args []string) {
	w := theWorld(ts)
	dir := ts.MkAbs(args[0])
	branch := "main"
	if len(args) > 1 {
		branch = args[1]
	}
	repository := owner + "/" + name
	if len(args) > 2 {
		repository = args[2]
	}
	repo := w.forge.Repository(repository)
	if repo == nil {
		ts.Fatalf("no repository %s", repository)
	}
	ts.Check(barerepo.Checkout(repo.Repository, barerepo.Clone{
		Dir: dir, Server: w.url, URL: w.url + "/" + repository, Branch: branch, Depth: 1,
		Header: "AUTHORIZATION: basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:"+w.token)),
	}))
}

// actions DIR: the environment a runner gives to the action in workspace DIR.
func actionsCommand(ts *testscript.TestScript, neg bool, args []string) {
	w := theWorld(ts)
	files := ts.MkAbs("runner")
	ts.Check(os.MkdirAll(files, 0o755))
	event, _ := json.Marshal(map[string]any{"repository": map[string]any{"default_branch": "main", "full_name": owner + "/" + name}})
	for f, content := range map[string]string{"output": "", "summary": "", "event.json": string(event)} {
		ts.Check(os.WriteFile(filepath.Join(files, f), []byte(content), 0o644))
	}
	for k, v := range map[string]string{
		"GITHUB_ACTIONS": "true", "CI": "true", "GITHUB_WORKSPACE": ts.MkAbs(args[0]), "GITHUB_REPOSITORY": owner + "/" + name,
		"GITHUB_SERVER_URL": w.url, "GITHUB_API_URL": w.url + "/api/v3", "GITHUB_GRAPHQL_URL": w.url + "/api/graphql",
		"GITHUB_OUTPUT": filepath.Join(files, "output"), "GITHUB_STEP_SUMMARY": filepath.Join(files, "summary"), "GITHUB_EVENT_PATH": filepath.Join(files, "event.json"),
		"GITHUB_RUN_ID": "7", "GITHUB_RUN_NUMBER": "3", "GITHUB_RUN_ATTEMPT": "1", "GITHUB_ACTOR": "octocat", "GITHUB_ACTOR_ID": "583231",
		"GITHUB_EVENT_NAME": "workflow_dispatch", "GITHUB_REF": "refs/heads/main", "GITHUB_REF_NAME": "main",
		"INPUT_GITHUB-TOKEN": w.token,
	} {
		ts.Setenv(k, v)
	}
}

// resultsCommand starts the runner's results service, which keeps artifacts below artifacts:
//
//	results [STEP STATUS N]   the first N requests of a step are answered with a status
func resultsCommand(ts *testscript.TestScript, neg bool, args []string) {
	server := fakeresults.New(ts.Value(testKey{}).(testing.TB), ts.MkAbs("artifacts"))
	if len(args) == 3 {
		status, err := strconv.Atoi(args[1])
		ts.Check(err)
		most, err := strconv.Atoi(args[2])
		ts.Check(err)
		server.Faults(func(step string, n int) int {
			if step == args[0] && n <= most {
				return status
			}
			return 0
		})
	}
	ts.Setenv("ACTIONS_RESULTS_URL", server.URL+"/")
	ts.Setenv("ACTIONS_RUNTIME_TOKEN", fakeresults.Token)
}

// keys [KEY=VALUE...]: the workspace of the action has a .github/ralph.yml with these
// keys alone, which git does not see.
func keysCommand(ts *testscript.TestScript, neg bool, args []string) {
	workspace := ts.Getenv("GITHUB_WORKSPACE")
	var b strings.Builder
	for _, arg := range args {
		key, value, ok := strings.Cut(arg, "=")
		if !ok {
			ts.Fatalf("keys: %q is not KEY=VALUE", arg)
		}
		fmt.Fprintf(&b, "%s: %q\n", key, value)
	}
	file, exclude := filepath.Join(workspace, ".github/ralph.yml"), filepath.Join(workspace, ".git/info/exclude")
	for _, name := range []string{file, exclude} {
		ts.Check(os.MkdirAll(filepath.Dir(name), 0o755))
	}
	ignored, err := os.ReadFile(exclude)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		ts.Check(err)
	}
	if !strings.Contains(string(ignored), "/.github/ralph.yml\n") {
		if _, err := os.Stat(file); err == nil {
			ts.Fatalf("keys: the repository has %s: put them there", file)
		}
		ts.Check(os.WriteFile(exclude, append(ignored, "/.github/ralph.yml\n"...), 0o644))
	}
	ts.Check(os.WriteFile(file, []byte(b.String()), 0o644))
}

// pulls [TEXT]: the pull requests of the forge, to the file pulls.txt; with TEXT, as
// soon as it is in them.
func pullsCommand(ts *testscript.TestScript, neg bool, args []string) {
	text := pullsText(ts)
	if len(args) > 0 {
		poll(ts, strings.Join(args, " "), func() bool { text = pullsText(ts); return strings.Contains(text, args[0]) })
	}
	ts.Check(os.WriteFile(ts.MkAbs("pulls.txt"), []byte(text), 0o644))
}

func pullsText(ts *testscript.TestScript) string {
	var b strings.Builder
	for _, p := range theWorld(ts).repo.Pulls() {
		fmt.Fprintf(&b, "#%d %s -> %s state=%s draft=%v labels=%s\ntitle: %s\n", p.Number, p.Head, p.Base, p.State, p.Draft, strings.Join(p.Labels, ","), p.Title)
		fmt.Fprintf(&b, "author=%s milestone=%d assignees=%s reviewers=%s teams=%s auto-merge=%s merged=%v\n", p.Author, p.Milestone,
			strings.Join(p.Assignees, ","), strings.Join(p.Reviewers, ","), strings.Join(p.Teams, ","), p.AutoMerge, p.Merged)
		for _, c := range p.Commits {
			fmt.Fprintf(&b, "commit: %s | %s\n", c.Subject, c.Author)
		}
		fmt.Fprintf(&b, "---\n%s\n---\n", p.Body)
	}
	return b.String()
}

// fault PATH-PART TIMES STATUS [BODY]: the forge answers so. What was answered is in the
// file faults.txt.
func faultCommand(ts *testscript.TestScript, neg bool, args []string) {
	times, err := strconv.Atoi(args[1])
	ts.Check(err)
	status, err := strconv.Atoi(args[2])
	ts.Check(err)
	method, part, ok := strings.Cut(args[0], ":")
	if !ok {
		method, part = "", args[0]
	}
	answered := ts.MkAbs("faults.txt")
	theWorld(ts).forge.Fault(func(r *http.Request) bool {
		return strings.Contains(r.URL.Path+"?"+r.URL.RawQuery, part) && (method == "" || method == r.Method)
	}, times, func(w http.ResponseWriter, r *http.Request) {
		if status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "1")
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if len(args) > 3 {
			fmt.Fprint(w, args[3])
		}
		if f, err := os.OpenFile(answered, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644); err == nil {
			fmt.Fprintf(f, "%s %s %d\n", r.Method, strings.TrimPrefix(r.URL.Path, "/api/v3"), status)
			_ = f.Close() // a script that waits for it fails
		}
	})
}

// branch NAME: the branch exists on the forge.
func branchCommand(ts *testscript.TestScript, neg bool, args []string) {
	if exists := theWorld(ts).repo.Branch(args[0]) != ""; exists == neg {
		ts.Fatalf("branch %s exists: %v", args[0], exists)
	}
}

// commit BRANCH FILE CONTENT: somebody else pushes a tree of one file.
func commitCommand(ts *testscript.TestScript, neg bool, args []string) {
	_, err := theWorld(ts).repo.Commit(args[0], "somebody else", map[string]gitserver.File{args[1]: {Content: args[2]}})
	ts.Check(err)
}

// chown DIR: gives a folder, and the way to it, to a user who is not root.
func chownCommand(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(filepath.WalkDir(ts.MkAbs(args[0]), func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, 1001, 1001))
	}))
	for dir := ts.MkAbs(args[0]); dir != "/" && dir != os.TempDir(); dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil {
			ts.Check(os.Chmod(dir, info.Mode().Perm()|0o011))
		}
	}
}

// until FILE [TEXT]: waits for a file, and for a text in it.
func untilCommand(ts *testscript.TestScript, neg bool, args []string) {
	poll(ts, strings.Join(args, " "), func() bool {
		data, err := os.ReadFile(ts.MkAbs(args[0]))
		return err == nil && (len(args) < 2 || strings.Contains(string(data), args[1]))
	})
}

// poll waits for something to come.
func poll(ts *testscript.TestScript, what string, came func() bool) {
	for range 600 {
		if came() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	ts.Fatalf("%s never came", what)
}

// signal NAME: sends SIGINT, SIGTERM, SIGHUP or SIGKILL to the background command.
func signalCommand(ts *testscript.TestScript, neg bool, args []string) {
	sig := map[string]os.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL, "HUP": syscall.SIGHUP}[args[0]]
	for _, c := range ts.BackgroundCmds() {
		ts.Check(c.Process.Signal(sig))
	}
}

// repeat TEXT TIMES FILE: a file of many times the same.
func repeatCommand(ts *testscript.TestScript, neg bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(strings.Repeat(args[0]+"\n", n)), 0o644))
}

// alone WORD: no process of this script has WORD in its command line.
func aloneCommand(ts *testscript.TestScript, neg bool, args []string) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return // no /proc here: the supervisor's own tests cover this system
	}
	word := regexp.MustCompile(`(^|\W)` + regexp.QuoteMeta(args[0]) + `(\W|$)`) // a number may stand in others
	for _, e := range entries {
		dir := filepath.Join("/proc", e.Name())
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		if _, err := strconv.Atoi(e.Name()); err == nil && word.Match(line) && ofScript(dir, ts.Getenv("WORK")) {
			ts.Fatalf("process %s survived: %q", e.Name(), line)
		}
	}
}

// ofScript reports whether a process, by its directory in /proc, may belong to the
// script in work: unless its working directory or its environment is that of another
// script, or of another run of the tests, which may have one of the same command
// line. A process that has left both is taken for one of the script.
func ofScript(dir, work string) bool {
	cwd, errCwd := os.Readlink(filepath.Join(dir, "cwd"))
	env, errEnv := os.ReadFile(filepath.Join(dir, "environ"))
	if err := errors.Join(errCwd, errEnv); err != nil && !errors.Is(err, os.ErrPermission) {
		return false // it has ended
	}
	world := cwd + "\x00" + string(env)
	return strings.Contains(world, work) || !strings.Contains(world, "go-test-script")
}

// A process is told from another script's, and is not overlooked when it has left the
// script's directory and environment.
func TestOfScript(t *testing.T) {
	t.Parallel()
	const work = "/tmp/go-test-script7/script-x"
	for _, tc := range []struct {
		name, env string
		want      bool
	}{
		{"the script's", "HOME=" + work + "/home", true},
		{"another script's", "HOME=/tmp/go-test-script7/script-y/home", false},
		{"nobody's", "", true},
	} {
		sleep := exec.Command("/bin/sleep", "60")
		sleep.Dir, sleep.Env = "/", []string{tc.env}
		if err := sleep.Start(); err != nil {
			t.Fatal(err)
		}
		dir := fmt.Sprintf("/proc/%d", sleep.Process.Pid)
		for line := ""; line == ""; { // the kernel sets it with the environment, a moment after Start returns
			text, err := os.ReadFile(filepath.Join(dir, "cmdline"))
			if err != nil {
				t.Fatal(err)
			}
			line = string(text)
		}
		if got := ofScript(dir, work); got != tc.want {
			t.Errorf("ofScript(%s) = %v, want %v", tc.name, got, tc.want)
		}
		_ = sleep.Process.Kill()
		_ = sleep.Wait()
	}
}
