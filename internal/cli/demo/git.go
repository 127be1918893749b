package demo

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi" //nolint:gosec // the vulnerability was mended in Go 1.6.3
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// gitPath is what a git client asks for; GitHub serves it with and without .git.
var gitPath = regexp.MustCompile(`^/([^/]+)/([^/]+?)(?:\.git)?/(info/refs|git-upload-pack|git-receive-pack)$`)

// repositoryConfig is the configuration of a bare repository. Small pushes are
// unpacked, so that commits can be read without a pack reader; fetching any
// commit by its id and partial clones are allowed, as on GitHub.
const repositoryConfig = `[core]
	repositoryformatversion = 0
	filemode = true
	bare = true
[http]
	receivepack = true
	getanyfile = false
[receive]
	autogc = false
	unpackLimit = 5000
[gc]
	auto = 0
[uploadpack]
	allowFilter = true
	allowAnySHA1InWant = true
`

// CreateRepository makes an empty bare repository and returns its path below
// the server's root, "/OWNER/NAME.git". The first one fails when git is missing.
func (f *Forge) CreateRepository(ctx context.Context, owner, name, defaultBranch string) (string, error) {
	if !repositoryName.MatchString(owner) || !repositoryName.MatchString(name) || strings.HasSuffix(name, ".git") {
		return "", fmt.Errorf("demo forge: %q is no repository name: letters, digits, dots, dashes and underscores", owner+"/"+name)
	}
	if !validBranch(defaultBranch) {
		return "", fmt.Errorf("demo forge: %q is no branch name", defaultBranch)
	}
	repo := &repository{owner: owner, name: name, defaultBranch: defaultBranch, dir: filepath.Join(f.dir, owner, name+".git")}
	f.mu.Lock()
	taken := f.repositories[key(owner, name)] != nil
	if !taken {
		f.nextID++
		repo.id = f.nextID
		f.repositories[key(owner, name)] = repo
	}
	f.mu.Unlock()
	if taken {
		return "", fmt.Errorf("demo forge: %s/%s exists already", owner, name)
	}
	if err := initBare(repo.dir, defaultBranch); err != nil {
		return "", fmt.Errorf("demo forge: %w", err)
	}
	path := "/" + repo.fullName() + ".git"
	if repo.id == 1 { // git is the same for all that follow
		if err := f.probe(ctx, repo); err != nil {
			return "", err
		}
	}
	return path, nil
}

func initBare(dir, defaultBranch string) error {
	for _, sub := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(sub)), 0o755); err != nil {
			return err
		}
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "HEAD"), []byte("ref: refs/heads/"+defaultBranch+"\n"), 0o644),
		os.WriteFile(filepath.Join(dir, "config"), []byte(repositoryConfig), 0o644),
	)
}

// probe asks the first repository for its refs, so that a machine without git
// gets a clear error here and not a 500 in the middle of a clone.
func (f *Forge) probe(ctx context.Context, repo *repository) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/info/refs", nil)
	if err != nil {
		return fmt.Errorf("demo forge: %w", err)
	}
	answer := &probeAnswer{header: http.Header{}}
	stderr := &bytes.Buffer{}
	backend := f.backend(repo, "info/refs", "git-upload-pack", "")
	backend.Stderr = stderr
	backend.ServeHTTP(answer, r)
	const head = "001e# service=git-upload-pack\n0000"
	if refs, ok := strings.CutPrefix(answer.body.String(), head); answer.status != http.StatusOK || !ok || !strings.HasSuffix(refs, "0000") {
		said := strings.TrimSpace(stderr.String())
		return fmt.Errorf("demo forge: `git upload-pack` does not answer (status %d, %q): git must be on PATH", answer.status, said)
	}
	return nil
}

type probeAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (p *probeAnswer) Header() http.Header { return p.header }
func (p *probeAnswer) WriteHeader(s int)   { p.status = s }
func (p *probeAnswer) Write(b []byte) (int, error) {
	if p.status == 0 {
		p.status = http.StatusOK
	}
	return p.body.Write(b)
}

// smart answers the smart protocol of git over HTTP (gitprotocol-http(5)) as git
// http-backend does, by those parts of git that every installation has: $1 is info/refs or
// the service that is asked, $2 the service, $3 the repository.
const smart = `
if ! command -v git >/dev/null; then
	printf 'Status: 500 Internal Server Error\r\nContent-Type: text/plain\r\n\r\n'
	echo 'git is not on PATH' >&2
	exit
fi
if [ "$1" != info/refs ]; then
	printf 'Content-Type: application/x-%s-result\r\nCache-Control: no-cache\r\n\r\n' "$2"
	exec git "${2#git-}" --stateless-rpc "$3"
fi
printf 'Content-Type: application/x-%s-advertisement\r\nCache-Control: no-cache\r\n\r\n' "$2"
case ":$GIT_PROTOCOL:$2" in
*:version=2:*git-upload-pack) ;;
*) line="# service=$2" && printf '%04x%s\n0000' $((${#line} + 5)) "$line" ;;
esac
exec git "${2#git-}" --stateless-rpc --advertise-refs "$3"
`

// backend answers one request for a repository.
func (f *Forge) backend(repo *repository, asked, service, protocol string) *cgi.Handler {
	return &cgi.Handler{
		Path: "/bin/sh",
		Args: []string{"-c", smart, "sh", asked, service, repo.dir},
		Root: "/",
		Dir:  f.dir,
		Env: []string{
			"GIT_PROTOCOL=" + protocol,
			"GIT_CONFIG_NOSYSTEM=1",
			"GIT_CONFIG_GLOBAL=" + os.DevNull,
			// The repositories are ours whoever owns the files.
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
		},
		InheritEnv: []string{"GIT_EXEC_PATH"},
		Stderr:     io.Discard,
	}
}

func (f *Forge) serveGit(w http.ResponseWriter, r *http.Request) {
	parts := gitPath.FindStringSubmatch(r.URL.Path)
	if parts == nil {
		apiError(w, http.StatusNotFound, "Not Found")
		return
	}
	if _, password, ok := r.BasicAuth(); !ok || !f.tokenIs(password) {
		w.Header().Set("WWW-Authenticate", `Basic realm="ralph demo"`)
		http.Error(w, "Invalid username or token.", http.StatusUnauthorized)
		return
	}
	repo := f.lookup(parts[1], parts[2])
	if repo == nil {
		http.Error(w, "Repository not found.", http.StatusNotFound)
		return
	}
	asked, service, method := parts[3], parts[3], http.MethodPost
	if asked == "info/refs" {
		service, method = r.URL.Query().Get("service"), http.MethodGet
	}
	if r.Method != method || service != "git-upload-pack" && service != "git-receive-pack" {
		http.Error(w, "Only git's smart protocol is spoken here.", http.StatusForbidden)
		return
	}
	inner := r.Clone(r.Context())
	inner.Header.Del("Authorization")
	// A large push comes chunked, which net/http/cgi refuses; git itself reads to the
	// end of its input.
	inner.TransferEncoding = nil
	if r.Header.Get("Content-Encoding") == "gzip" {
		plain, err := gzip.NewReader(r.Body)
		if err != nil {
			http.Error(w, "The body is not gzip.", http.StatusBadRequest)
			return
		}
		inner.Body, inner.ContentLength = plain, -1
		inner.Header.Del("Content-Encoding")
	}
	f.backend(repo, asked, service, r.Header.Get("Git-Protocol")).ServeHTTP(w, inner)
}
