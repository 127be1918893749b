//go:build e2e

package redteam

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/org/ralph-action/internal/demo"
	"github.com/org/ralph-action/internal/forgetest"
)

// The world outside, as the canary plays it: a network namespace of its own with
// nothing but a loopback device, on which all of these addresses lie.
const (
	evilIP     = "45.66.77.80" // nobody allows it
	allowedIP  = "45.66.77.81" // allowed.redteam.test, an allowed host
	forgeIP    = "45.66.77.90"
	providerIP = "45.66.77.91"
	resolverIP = "45.66.77.53"
	privateIP  = "10.66.77.1"
	metadataIP = "169.254.169.254"
	evilIPv6   = "2a0b:66:77::80"
	forgeURL   = "http://forge.redteam.test"
)

// kit is what all rooms share: the forge, the attacker's tools.
type kit struct {
	t     *testing.T
	image string
	dir   string // mounted as /opt/redteam
	forge *forgetest.Forge

	mu       sync.Mutex
	requests map[string][]request // by repository
	rooms    int
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
	writeFiles(t, k.dir, map[string]string{
		// What a trap in git does when it is sprung: it says so where only somebody
		// outside of the file walls can.
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
	k.forge = forgetest.New(t, forgetest.Options{Dir: sharedTempDir(t), Unchecked: true})
	k.forge.URL = forgeURL
	k.forge.AddToken(forgetest.Token{Value: canaries()["the forge's token"], Rights: forgetest.Workflow()})
	k.forge.AddToken(forgetest.Token{Value: personal, Login: "octo", Rights: forgetest.Workflow()})
	return k
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
	kit    *kit
	repo   *forgetest.Repository
	base   string
	dir    string // of this stage
	side   string // container that holds the network
	Inputs map[string]string
	Env    map[string]string
	Mounts []string
	Orders [][]Order // by iteration
	config string    // .git/config as checkout left it
}

// Order is one script of the battery; see raider.
type Order struct {
	ID      string
	Script  string
	Env     []string
	Seconds int
	Speak   bool
}

// newStage makes a repository with the files, a checkout of it, the runner's
// folders, and a world outside.
func (k *kit) newStage(t *testing.T, name string, control bool, files map[string]demo.File) *stage {
	t.Helper()
	if control {
		name += "-control"
	}
	k.mu.Lock()
	k.rooms++
	name = fmt.Sprintf("%s-%d", name, k.rooms)
	k.requests[name] = nil
	k.mu.Unlock()
	root := sharedTempDir(t)
	s := &stage{kit: k, dir: root, Inputs: map[string]string{}, Env: map[string]string{}, world: &world{
		Control: control, Name: name, Workspace: filepath.Join(root, "work", "work"), Temp: filepath.Join(root, "_temp"), Net: filepath.Join(root, "net"),
		Deeds: map[string]Deed{}, Plants: map[string]Deed{}, Probes: map[string]Deed{}, Before: map[string]string{},
	}}
	s.Commands, s.Home, s.Workflow = filepath.Join(s.Temp, "_runner_file_commands"), filepath.Join(s.Temp, "_github_home"), filepath.Join(s.Temp, "_github_workflow")
	for _, dir := range []string{s.Workspace, s.Commands, s.Home, s.Workflow, s.Net} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	all := map[string]demo.File{".gitignore": {Content: ".rt/\n"}, "README.md": {Content: "hello\n"}, "TASK.md": {Content: "Do the work.\n"}, "calc.sh": {Content: "add() { echo $(($1 + $2)); }\n"}}
	for path, f := range files {
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
	s.checkOut(t)
	for _, path := range []string{"event.json"} {
		s.Before[filepath.Join(s.Workflow, path)] = readFile(t, filepath.Join(s.Workflow, path))
	}
	for _, path := range append(slices.Collect(values(commandFiles())), "../other-step.txt", "../_github_home/.netrc") {
		s.Before[filepath.Join(s.Commands, path)] = readFile(t, filepath.Join(s.Commands, path))
	}
	s.GitBefore = map[string]string{"config": s.config}
	s.Names = s.names()
	giveToRunner(t, root)
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
	git(t, ws, "fetch", "-q", "--no-tags", "--depth=1", "file://"+s.repo.Dir(), "+refs/heads/main:refs/remotes/origin/main")
	git(t, ws, "config", "--local", "http."+forgeURL+"/.extraheader", header)
	const name = "git-credentials-5e4f4bd2.config"
	git(t, ws, "config", "--file", filepath.Join(s.Temp, name), "http."+forgeURL+"/.extraheader", header)
	git(t, ws, "config", "--local", "includeIf.gitdir:/github/workspace/.git.path", "/github/runner_temp/"+name)
	git(t, ws, "checkout", "-q", "--force", "-B", "main", "refs/remotes/origin/main")
	s.config = readFile(t, filepath.Join(ws, ".git", "config"))
}

// openWorld starts the container that is the world outside.
func (s *stage) openWorld(t *testing.T) {
	t.Helper()
	places := map[string]any{
		"Addresses": []string{evilIP, allowedIP, forgeIP, providerIP, resolverIP, privateIP, metadataIP, evilIPv6},
		"TCP": []string{
			evilIP + ":80", evilIP + ":443", evilIP + ":53", evilIP + ":22", evilIP + ":8080", evilIP + ":8081", evilIP + ":8082", evilIP + ":8083", allowedIP + ":80", allowedIP + ":443", allowedIP + ":22", allowedIP + ":6379",
			providerIP + ":80", privateIP + ":80", metadataIP + ":80", "[" + evilIPv6 + "]:80", "127.0.0.1:6379", "[::1]:6380", "127.0.0.53:53", "127.0.0.1:53",
		},
		"UDP":      []string{evilIP + ":53", evilIP + ":9999", "127.0.0.1:9999", "[" + evilIPv6 + "]:9999"},
		"DNS":      []string{resolverIP + ":53"},
		"Unix":     []string{"@redteam-abstract", "/rt/docker.sock", "/rt/other.sock"},
		"Datagram": []string{"@redteam-datagram", "/rt/datagram.sock"},
		"Names": map[string]string{
			"forge.redteam.test": forgeIP, "allowed.redteam.test": allowedIP, "evil.redteam.test": evilIP, "provider.redteam.test": providerIP,
			"loop.wild.redteam.test": "127.0.0.1", "private.wild.redteam.test": privateIP, "metadata.redteam.test": metadataIP, "notallowed.redteam.test": evilIP, "*.evil.redteam.test": evilIP,
			"rebind.wild.redteam.test": "45.66.77.99,127.0.0.1", "six.wild.redteam.test": "::1",
		},
		"Forward":  map[string]string{forgeIP + ":80": "/rt/forge.sock"},
		"Contacts": "/rt/contacts.jsonl", "Ready": "/rt/ready",
	}
	data, err := json.Marshal(places)
	if err != nil {
		t.Fatal(err)
	}
	writeFiles(t, s.Net, map[string]string{"places.json": string(data), "resolv.conf": "nameserver " + resolverIP + "\n", "hosts": "127.0.0.1 localhost\n::1 localhost\n"})
	l, err := net.Listen("unix", filepath.Join(s.Net, "forge.sock"))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: s.kit, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()
	s.side = fmt.Sprintf("redteam-%d-%s", os.Getpid(), s.Name)
	t.Cleanup(func() {
		_ = exec.Command("docker", "rm", "-f", s.side).Run()
		server.Close()
	})
	if out, err := docker("run", "-d", "--rm", "--name", s.side, "--label", "ralph-e2e", "--network", "none", "--cap-add", "NET_ADMIN",
		"--sysctl", "net.ipv4.tcp_fastopen=3", "--sysctl", "net.ipv6.conf.all.disable_ipv6=0", "--sysctl", "net.ipv4.ping_group_range=0 2147483647",
		"-v", s.Net+":/rt", "-v", s.kit.dir+":/opt/redteam:ro", "--entrypoint", "/opt/redteam/raider", s.kit.image, "canary", "/rt/places.json"); err != nil {
		t.Fatalf("the world outside does not start: %v\n%s", err, out)
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(s.Net, "ready")); err == nil {
			return
		}
		if time.Now().After(deadline) {
			out, _ := docker("logs", s.side)
			t.Fatalf("the world outside is not ready: %s", out)
		}
	}
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

// mounts are those of the runner, and the attacker's tools. The engine's socket is
// never the machine's own.
func (s *stage) mounts() []string {
	var args []string
	for _, m := range append([]string{
		filepath.Join(s.Net, "docker.sock") + ":/var/run/docker.sock", s.Temp + ":/github/runner_temp", s.Home + ":/github/home",
		s.Workflow + ":/github/workflow", s.Commands + ":/github/file_commands", s.Workspace + ":/github/workspace",
		s.kit.dir + ":/opt/redteam:ro", filepath.Join(s.Net, "resolv.conf") + ":/etc/resolv.conf:ro", filepath.Join(s.Net, "hosts") + ":/etc/hosts:ro",
		filepath.Join(s.Net, "other.sock") + ":/run/other.sock", filepath.Join(s.Net, "datagram.sock") + ":/run/datagram.sock",
		filepath.Join(s.Net, "orders.json") + ":/opt/orders.json:ro",
	}, s.Mounts...) {
		args = append(args, "-v", m)
	}
	return args
}

// limits keep an attack from harming the machine the tests run on.
func limits() []string {
	return []string{"--label", "ralph-e2e", "--pids-limit", "1500", "--memory", "1g", "--memory-swap", "1g", "--cpus", "2"}
}

// run starts the step as the runner does and gathers what is left of it.
func (s *stage) run(t *testing.T, limit time.Duration) {
	t.Helper()
	data, err := json.Marshal(s.Orders)
	if err != nil {
		t.Fatal(err)
	}
	writeFiles(t, s.Net, map[string]string{"orders.json": string(data)})
	name := s.side + "-step"
	args := append([]string{"run", "--name", name, "--rm", "--workdir", "/github/workspace", "--network", "container:" + s.side}, limits()...)
	environ := []string{"PATH=" + os.Getenv("PATH"), "DOCKER_HOST=" + os.Getenv("DOCKER_HOST"), "DOCKER_CONFIG=" + t.TempDir()}
	for name, value := range s.environ(t) {
		args, environ = append(args, "-e", name), append(environ, name+"="+value)
	}
	args = append(append(args, s.mounts()...), s.kit.image)
	cmd := exec.Command("docker", args...)
	cmd.Env = environ
	var log lockedBuffer
	cmd.Stdout, cmd.Stderr = &log, &log
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(limit):
		_ = exec.Command("docker", "rm", "-f", name).Run()
		<-done
		t.Errorf("%s: the step was still running after %s", s.Name, limit)
	}
	s.Took = time.Since(began).Round(100 * time.Millisecond)
	s.Code, s.Log = cmd.ProcessState.ExitCode(), log.String()
	s.gather(t)
}

// gather fills the world.
func (s *stage) gather(t *testing.T) {
	t.Helper()
	time.Sleep(50 * time.Millisecond) // the canary writes down what arrived last
	s.Contacts = readLines[Contact](filepath.Join(s.Net, "contacts.jsonl"))
	results, err := filepath.Glob(filepath.Join(s.Workspace, ".rt", "results-*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range results {
		for _, d := range readLines[Deed](path) {
			switch id, kind, _ := strings.Cut(d.ID, "/"); kind {
			case "plant":
				s.Plants[id] = d
			case "probe":
				s.Probes[id] = d
			case "":
				s.Deeds[id] = d
			}
		}
	}
	s.kit.mu.Lock()
	for repo, list := range s.kit.requests {
		if repo == s.Name {
			s.Requests = slices.Clone(list)
		}
	}
	s.kit.mu.Unlock()
	cmd := exec.Command("git", "-C", s.repo.Dir(), "-c", "safe.directory=*", "cat-file", "--batch", "--batch-all-objects")
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("look into the forge: %v", err)
	}
	refs, _ := exec.Command("git", "-C", s.repo.Dir(), "-c", "safe.directory=*", "for-each-ref").Output()
	s.Objects = string(out) + string(refs)
	if gone, err := exec.Command("git", "-C", s.repo.Dir(), "-c", "safe.directory=*", "log", "--all", "--diff-filter=D", "--format=", "--name-only").Output(); err == nil && strings.Contains(string(gone), ".github/workflows/ci.yml") {
		s.Trees = "\nwithout ci.yml\n"
	}
	for _, p := range s.repo.Pulls() {
		s.Pulls += p.Title + "\n" + p.Body + "\n" + p.Head + "\n"
		for _, c := range p.Comments {
			s.Pulls += c.Body + "\n"
		}
	}
	s.Left = processes("redteam-")
	s.GitLeft = s.leftInGit()
}

// processes are the command lines on this machine that hold the text: those of
// all containers are among them.
func processes(text string) []string {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var found []string
	for _, path := range paths {
		data, err := os.ReadFile(path)
		line := strings.ReplaceAll(string(data), "\x00", " ")
		if err == nil && strings.Contains(line, "survive stay") && strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

func docker(args ...string) (string, error) {
	out, err := exec.Command("docker", args...).CombinedOutput()
	return string(out), err
}

type lockedBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func values[K comparable, V any](m map[K]V) func(func(V) bool) {
	return func(yield func(V) bool) {
		for _, v := range m {
			if !yield(v) {
				return
			}
		}
	}
}

func sharedTempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ralph-redteam-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func giveToRunner(t *testing.T, dir string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("the attacks run as root: the runner's files belong to another user")
	}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, 1001, 1001)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "safe.directory=*", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_TERMINAL_PROMPT=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
