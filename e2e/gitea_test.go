//go:build e2e

package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// gitea is a real forge on loopback: git over HTTP and the pull-request API.
type gitea struct {
	URL   string // http://127.0.0.1:PORT
	Owner string
	Token string // of Owner, with every right
	repos atomic.Int32
}

// startGitea starts one forge for all tests of the process.
var startGitea = sync.OnceValues(newGitea)

func forge(t *testing.T) *gitea {
	t.Helper()
	g, err := startGitea()
	if err != nil {
		t.Fatalf("the forge does not start: %v; e2e/setup.sh builds it", err)
	}
	return g
}

const giteaConfig = `RUN_MODE = prod
WORK_PATH = %[1]s
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = %[2]d
ROOT_URL = http://127.0.0.1:%[2]d/
STATIC_ROOT_PATH = %[1]s
OFFLINE_MODE = true
DISABLE_SSH = true
LFS_START_SERVER = true
LFS_JWT_SECRET = ZTJlLWxvb3BiYWNrLW9ubHktMDEyMzQ1Njc4OWFiY2Q
[database]
DB_TYPE = sqlite3
PATH = %[1]s/gitea.db
SQLITE_JOURNAL_MODE = WAL
[indexer]
ISSUE_INDEXER_TYPE = db
[git.config]
core.fsync = none
[security]
INSTALL_LOCK = true
[service]
DISABLE_REGISTRATION = true
[repository]
DEFAULT_BRANCH = main
[webhook]
ALLOWED_HOST_LIST = loopback
[cron]
ENABLED = false
[log]
LEVEL = Warn
ROOT_PATH = %[1]s/log
`

func newGitea() (*gitea, error) {
	cache := os.Getenv("RALPH_E2E_CACHE")
	built, err := filepath.Glob(filepath.Join(cache, "gitea-*", "gitea"))
	if err != nil || len(built) == 0 || cache == "" {
		return nil, fmt.Errorf("no gitea-*/gitea in RALPH_E2E_CACHE=%q", cache)
	}
	dir, err := os.MkdirTemp("", "ralph-e2e-gitea-")
	if err != nil {
		return nil, err
	}
	atEnd = append(atEnd, func() { os.RemoveAll(dir) })
	// A copy, because Gitea refuses to run as root and a root's cache is closed
	// to others.
	if err := os.CopyFS(dir, os.DirFS(filepath.Dir(built[len(built)-1]))); err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "app.ini"), fmt.Appendf(nil, giteaConfig, dir, port), 0o644); err != nil {
		return nil, err
	}
	if err := giveToUser(dir); err != nil {
		return nil, err
	}
	command := func(args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(dir, "gitea"), append(args, "--config", filepath.Join(dir, "app.ini"))...)
		cmd.Dir = dir
		cmd.Env = []string{"HOME=" + dir, "USER=git", "PATH=/usr/local/bin:/usr/bin:/bin"}
		cmd.SysProcAttr = asUser()
		return cmd
	}
	say := func(args ...string) (string, error) {
		out, err := command(args...).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("gitea %s: %w\n%s", strings.Join(args, " "), err, out)
		}
		return strings.TrimSpace(string(out)), nil
	}
	if _, err := say("migrate"); err != nil {
		return nil, err
	}
	g := &gitea{URL: fmt.Sprintf("http://127.0.0.1:%d", port), Owner: "octo"}
	if _, err := say("admin", "user", "create", "--admin", "--username", g.Owner, "--password", "not-a-secret-1",
		"--email", "octo@example.com", "--must-change-password=false"); err != nil {
		return nil, err
	}
	out, err := say("admin", "user", "generate-access-token", "--username", g.Owner, "--token-name", "e2e", "--scopes", "all", "--raw")
	if err != nil {
		return nil, err
	}
	lines := strings.Fields(out)
	g.Token = lines[len(lines)-1]

	server := command("web")
	var log bytes.Buffer
	server.Stdout, server.Stderr = &log, &log
	if err := server.Start(); err != nil {
		return nil, err
	}
	atEnd = append(atEnd, func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		done := make(chan struct{})
		go func() { _ = server.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			_ = server.Process.Kill()
			<-done
		}
	})
	for deadline := time.Now().Add(time.Minute); ; {
		if _, err := g.call(http.MethodGet, "/version", nil, nil); err == nil {
			return g, nil
		} else if time.Now().After(deadline) {
			return nil, fmt.Errorf("no answer within a minute: %w\n%s", err, log.String())
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// call asks the API as the owner; in and out are JSON, each may be nil.
func (g *gitea) call(method, path string, in, out any) (int, error) {
	return g.callAs("token "+g.Token, method, path, in, out)
}

// callAs is call with another Authorization.
func (g *gitea) callAs(authorization, method, path string, in, out any) (int, error) {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return 0, err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequest(method, g.URL+"/api/v1"+path, body)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", authorization)
	req.Header.Set("Content-Type", "application/json")
	client := http.Client{Timeout: 30 * time.Second}
	res, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return res.StatusCode, err
	}
	if res.StatusCode >= 300 {
		return res.StatusCode, fmt.Errorf("%s %s: %s: %s", method, path, res.Status, b)
	}
	if out == nil {
		return res.StatusCode, nil
	}
	return res.StatusCode, json.Unmarshal(b, out)
}

// repository is one repository on the forge, and a clone of it.
type repository struct {
	*gitea
	Name string // owner/name
	Seed string // the work tree its first commits were made in
	Base string // commit of main
}

// newRepository makes a repository whose main holds the files, in two commits,
// so that a shallow checkout really is one.
func (g *gitea) newRepository(t *testing.T, files map[string]string) *repository {
	t.Helper()
	name := fmt.Sprintf("work-%d", g.repos.Add(1))
	if _, err := g.call(http.MethodPost, "/user/repos", map[string]any{"name": name, "default_branch": "main", "private": true}, nil); err != nil {
		t.Fatal(err)
	}
	r := &repository{gitea: g, Name: g.Owner + "/" + name, Seed: t.TempDir()}
	git(t, r.Seed, "init", "-q", "-b", "main")
	writeFiles(t, r.Seed, map[string]string{"README.md": "# " + name + "\n"})
	git(t, r.Seed, "add", "-A")
	git(t, r.Seed, "commit", "-q", "-m", "first")
	writeFiles(t, r.Seed, files)
	git(t, r.Seed, "add", "-A")
	git(t, r.Seed, "commit", "-q", "-m", "the program")
	git(t, r.Seed, "push", "-q", r.pushURL(), "main")
	r.Base = git(t, r.Seed, "rev-parse", "HEAD")
	// Until the forge has digested its first push, it knows no pull requests.
	await(t, 30*time.Second, "the forge notices the first push", func() bool {
		status, _ := r.call(http.MethodGet, "/repos/"+r.Name+"/pulls", nil, nil)
		return status == http.StatusOK
	})
	return r
}

func (r *repository) pushURL() string {
	return strings.Replace(r.URL, "://", "://"+r.Owner+":"+r.Token+"@", 1) + "/" + r.Name + ".git"
}

// basic is the header value that actions/checkout leaves behind.
func (r *repository) basic() string {
	return base64.StdEncoding.EncodeToString([]byte("x-access-token:" + r.Token))
}

// pull is the part of a pull request that the tests look at.
type pull struct {
	Number int    `json:"number"`
	Title  string `json:"title"`
	Body   string `json:"body"`
	State  string `json:"state"`
	Draft  bool   `json:"draft"`
	URL    string `json:"html_url"`
	Head   struct {
		Ref string `json:"ref"`
		SHA string `json:"sha"`
	} `json:"head"`
	Base struct {
		Ref string `json:"ref"`
	} `json:"base"`
	Labels []struct {
		Name string `json:"name"`
	} `json:"labels"`
}

func (r *repository) pulls(t *testing.T) []pull {
	t.Helper()
	var ps []pull
	if _, err := r.call(http.MethodGet, "/repos/"+r.Name+"/pulls?state=all", nil, &ps); err != nil {
		t.Fatal(err)
	}
	return ps
}

// fetch brings the branch into the seed and gives its tip; empty when the forge
// has no such branch.
func (r *repository) fetch(t *testing.T, branch string) string {
	t.Helper()
	out := git(t, r.Seed, "ls-remote", r.pushURL(), "refs/heads/"+branch)
	if out == "" {
		return ""
	}
	git(t, r.Seed, "fetch", "-q", r.pushURL(), "+refs/heads/"+branch+":refs/remotes/origin/"+branch)
	return strings.Fields(out)[0]
}

// branches names the forge's branches.
func (r *repository) branches(t *testing.T) []string {
	t.Helper()
	var names []string
	for line := range strings.Lines(git(t, r.Seed, "ls-remote", "--heads", r.pushURL())) {
		_, ref, _ := strings.Cut(strings.TrimSpace(line), "refs/heads/")
		names = append(names, ref)
	}
	return names
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func (r *repository) newLabel(t *testing.T, name string) {
	t.Helper()
	if _, err := r.call(http.MethodPost, "/repos/"+r.Name+"/labels", map[string]any{"name": name, "color": "#8250df"}, nil); err != nil {
		t.Fatal(err)
	}
}
