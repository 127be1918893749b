//go:build e2e

package redteam

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/org/ralph-action/internal/cli/demo/gitserver"
	"github.com/org/ralph-action/internal/testing/fakegithub"
)

// kit is what all scenarios share: the forge, the attacker's tools.
type kit struct {
	t     *testing.T
	image string
	dir   string // mounted as /opt/redteam
	forge *fakegithub.Forge

	mu       sync.Mutex
	requests map[string][]request // by repository
	stages   int
}

func newKit(t *testing.T) *kit {
	t.Helper()
	k := &kit{t: t, image: os.Getenv("RALPH_E2E_IMAGE") + "-slim", dir: sharedTempDir(t), requests: map[string][]request{}}
	if out, err := exec.Command("docker", "image", "inspect", k.image).CombinedOutput(); err != nil {
		t.Fatalf("the image %q is not there: run the attacks with make redteam\n%s", k.image, out)
	}
	for name, cpu := range map[string]string{"raider": "", "raider32": "386"} {
		build := exec.Command("go", "build", "-tags", "e2e", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(k.dir, name), "./raider")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if cpu != "" {
			build.Env = append(build.Env, "GOARCH="+cpu)
		}
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("go build raider: %v\n%s", err, out)
		}
	}
	k.takeBinary(t)
	if err := os.Symlink("raider", filepath.Join(k.dir, "other-step")); err != nil { // the name of a process is that of the link
		t.Fatal(err)
	}
	writeFiles(t, k.dir, map[string]string{
		"passwd": "root:x:0:0::/root:/bin/sh\n",
		// What a trap in git does when it is sprung: it says so where only somebody
		// outside of the sandbox can.
		"trap.sh": "#!/bin/sh\nid=$1\n[ $# -gt 0 ] && shift\necho \"uid $(id -u), $0 $id\" >>\"/github/runner_temp/trap-$id\" 2>/dev/null\n[ \"$1\" = cat ] && exec cat\nexit 0\n",
	})
	for _, a := range attacks() { // where git takes a program without arguments
		if a.In == "git" {
			writeFiles(t, k.dir, map[string]string{"gpg-" + a.ID: "#!/bin/sh\n/opt/redteam/trap.sh " + a.ID + "\nexit 1\n", "askpass-" + a.ID: "#!/bin/sh\n/opt/redteam/trap.sh " + a.ID + "\nexit 1\n"})
		}
	}
	scripts, err := filepath.Glob(filepath.Join(k.dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range scripts {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	k.forge = fakegithub.New(t, fakegithub.Options{Dir: sharedTempDir(t), Unchecked: true})
	k.forge.URL = forgeURL
	k.forge.AddToken(fakegithub.Token{Value: canaries()["the forge's token"], Rights: fakegithub.Workflow()})
	k.forge.AddToken(fakegithub.Token{Value: personal, Login: "octo", Rights: fakegithub.Workflow()})
	return k
}

// takeBinary copies ralph out of the image, for the look-alike machine.
func (k *kit) takeBinary(t *testing.T) {
	t.Helper()
	id, err := docker("create", k.image)
	if err == nil {
		id = strings.TrimSpace(id)
		defer docker("rm", id) //nolint:errcheck // nothing was started in it
		id, err = docker("cp", id+":/usr/local/bin/ralph", filepath.Join(k.dir, "ralph"))
	}
	if err != nil {
		t.Fatalf("the image's ralph: %v\n%s", err, id)
	}
}

// ServeHTTP is the forge, with a memory.
func (k *kit) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	k.mu.Lock()
	for name := range k.requests {
		if strings.Contains(r.URL.Path, "/"+name+"/") || strings.Contains(r.URL.Path, "/"+name+".git/") {
			k.requests[name] = append(k.requests[name], request{r.Method, r.URL.Path, r.Header.Get("Authorization"), string(body)})
		}
	}
	k.mu.Unlock()
	k.forge.ServeHTTP(w, r)
}

// stage is one step of a job, with the world around it.
type stage struct {
	*world
	kit      *kit
	scenario scenario
	repo     *fakegithub.Repository
	base     string
	dir      string // of this stage
	side     string // container that holds the network
	Inputs   map[string]string
	Env      map[string]string
	Orders   [][]Order // by iteration
	config   string    // .git/config as checkout left it
}

// Order is one script of the battery; see raider.
type Order struct {
	ID      string
	Script  string
	Env     []string
	Seconds int
	Speak   bool
}

// newStage makes a repository with the scenario's files, a checkout of it, the runner's
// folders, and a world outside.
func (k *kit) newStage(t *testing.T, name string, control bool, r scenario) *stage {
	t.Helper()
	if control {
		name += "-control"
	}
	k.mu.Lock()
	k.stages++
	name = fmt.Sprintf("%s-%d", name, k.stages)
	k.requests[name] = nil
	k.mu.Unlock()
	root := sharedTempDir(t)
	s := &stage{kit: k, scenario: r, dir: root, Inputs: map[string]string{}, Env: map[string]string{}, world: &world{
		Control: control, Asked: r.engine != nil && !r.machine, Name: name, Workspace: filepath.Join(root, "work", "work"), Temp: filepath.Join(root, "_temp"), Net: filepath.Join(root, "net"),
		Deeds: map[string]Deed{}, Plants: map[string]Deed{}, Probes: map[string]Deed{}, Before: map[string]string{},
	}}
	s.Commands, s.Home, s.Workflow = filepath.Join(s.Temp, "_runner_file_commands"), filepath.Join(s.Temp, "_github_home"), filepath.Join(s.Temp, "_github_workflow")
	s.Outside = []string{s.Temp, s.Home}
	if r.machine {
		s.onMachine()
	}
	if r.joined { // below the names that they have in the container
		s.Workspace, s.Temp = filepath.Join(root, "github", "workspace"), filepath.Join(root, "github", "runner_temp")
		s.Commands, s.Home, s.Workflow = filepath.Join(root, "github", "file_commands"), filepath.Join(root, "github", "home"), filepath.Join(root, "github", "workflow")
	}
	for _, dir := range []string{s.Workspace, s.Commands, s.Home, s.Workflow, s.Net} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	all := map[string]gitserver.File{".gitignore": {Content: ".rt/\n"}, "README.md": {Content: "hello\n"}, "TASK.md": {Content: "Do the work.\n"}, "calc.sh": {Content: "add() { echo $(($1 + $2)); }\n"}}
	for path, f := range r.files {
		all[path] = f
	}
	var err error
	if s.repo, err = k.forge.NewRepository("octo", name); err == nil {
		s.base, err = s.repo.Commit("main", "first", all)
	}
	if err != nil {
		t.Fatal(err)
	}
	c := canaries()
	writeFiles(t, s.Workflow, map[string]string{"event.json": `{"ref":"refs/heads/main","repository":{"default_branch":"main","full_name":"octo/` + name + `"},"sender":{"login":"octo"},"inputs":{"note":"` + c["the job's event"] + `"}}`})
	writeFiles(t, s.Temp, map[string]string{"other-step.txt": c["another step's file"] + "\n"})
	writeFiles(t, s.Home, map[string]string{".netrc": "machine example.com password " + c["another step's home"] + "\n"})
	for _, file := range commandFiles() {
		writeFiles(t, s.Commands, map[string]string{file: ""})
	}
	if r.machine {
		s.furnish(t)
	}
	s.checkOut(t)
	for _, path := range []string{"event.json"} {
		s.Before[filepath.Join(s.Workflow, path)] = readFile(t, filepath.Join(s.Workflow, path))
	}
	known := []string{filepath.Join(s.Temp, "other-step.txt"), filepath.Join(s.Home, ".netrc")}
	for file := range values(commandFiles()) {
		known = append(known, filepath.Join(s.Commands, file))
	}
	for _, path := range known {
		s.Before[path] = readFile(t, path)
	}
	s.GitBefore = map[string]string{"config": s.config}
	s.Names = s.names()
	if !r.root {
		giveToRunner(t, root)
	}
	if r.machine {
		s.openFolders(t)
	}
	s.openWorld(t)
	return s
}

func commandFiles() map[string]string {
	return map[string]string{
		"GITHUB_OUTPUT": "set_output_1", "GITHUB_ENV": "set_env_1", "GITHUB_PATH": "add_path_1",
		"GITHUB_STATE": "save_state_1", "GITHUB_STEP_SUMMARY": "step_summary_1",
	}
}

// checkOut leaves the token as actions/checkout v4 does, in .git/config, and as
// v6 does, in a file below RUNNER_TEMP that is included.
func (s *stage) checkOut(t *testing.T) {
	t.Helper()
	ws, token := s.Workspace, canaries()["the forge's token"]
	header := "AUTHORIZATION: basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:"+token))
	git(t, ws, "init", "-q", "-b", "main")
	git(t, ws, "remote", "add", "origin", forgeURL+"/"+s.repo.FullName())
	git(t, ws, "fetch", "-q", "--no-tags", "--depth=1", "file://"+s.repo.Dir, "+refs/heads/main:refs/remotes/origin/main")
	git(t, ws, "config", "--local", "http."+forgeURL+"/.extraheader", header)
	const name = "git-credentials-5e4f4bd2.config"
	git(t, ws, "config", "--file", filepath.Join(s.Temp, name), "http."+forgeURL+"/.extraheader", header)
	workspace, temp := "/github/workspace", "/github/runner_temp"
	if s.scenario.machine {
		workspace, temp = runnerPaths.Replace(workspace), runnerPaths.Replace(temp)
	}
	git(t, ws, "config", "--local", "includeIf.gitdir:"+workspace+"/.git.path", temp+"/"+name)
	git(t, ws, "checkout", "-q", "--force", "-B", "main", "refs/remotes/origin/main")
	s.config = readFile(t, filepath.Join(ws, ".git", "config"))
}

// environ is what the runner passes; see package e2e.
func (s *stage) environ(t *testing.T) map[string]string {
	t.Helper()
	c := canaries()
	env := map[string]string{
		"HOME": "/github/home", "CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_ACTION": "ralph", "GITHUB_ACTOR": "octo", "GITHUB_ACTOR_ID": "1", "GITHUB_TRIGGERING_ACTOR": "octo",
		"GITHUB_API_URL": forgeURL + "/api/v3", "GITHUB_GRAPHQL_URL": forgeURL + "/api/graphql", "GITHUB_SERVER_URL": forgeURL,
		"GITHUB_REF": "refs/heads/main", "GITHUB_REF_NAME": "main", "GITHUB_REF_TYPE": "branch", "GITHUB_SHA": s.base,
		"GITHUB_EVENT_NAME": "workflow_dispatch", "GITHUB_EVENT_PATH": "/github/workflow/event.json", "GITHUB_JOB": "ralph", "GITHUB_REPOSITORY": s.repo.FullName(),
		"GITHUB_REPOSITORY_OWNER": "octo", "GITHUB_RUN_ATTEMPT": "1", "GITHUB_RUN_ID": "42", "GITHUB_RUN_NUMBER": "7", "GITHUB_WORKFLOW": "ralph",
		"GITHUB_WORKSPACE": "/github/workspace", "RUNNER_TEMP": "/github/runner_temp", "RUNNER_OS": "Linux", "RUNNER_ARCH": "X64", "RUNNER_ENVIRONMENT": "github-hosted",
		"ACTIONS_RUNTIME_URL": "http://127.0.0.1:9/", "ACTIONS_RUNTIME_TOKEN": c["the runtime token"],
		"ACTIONS_ID_TOKEN_REQUEST_URL": "http://127.0.0.1:9/", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": c["the id token"], "DEPLOY_TOKEN": c["a secret of the step"],
	}
	for variable, name := range commandFiles() {
		env[variable] = "/github/file_commands/" + name
	}
	var action struct {
		Inputs map[string]struct{ Default string }
	}
	if err := yaml.Unmarshal([]byte(readFile(t, "../../action.yml")), &action); err != nil {
		t.Fatal(err)
	}
	set := func(name, value string) {
		env["INPUT_"+strings.ToUpper(name)] = strings.ReplaceAll(value, "${{ github.token }}", c["the forge's token"])
	}
	for name, input := range action.Inputs {
		set(name, input.Default)
	}
	for name, value := range s.Inputs {
		if _, known := action.Inputs[name]; !known {
			t.Fatalf("action.yml has no input %q", name)
		}
		set(name, value)
	}
	for name, value := range s.Env {
		env[name] = value
	}
	return env
}
