// Package gitserver serves bare git repositories over smart HTTP, and reads and
// writes what is in them. The forge of `ralph demo` and the GitHub of the tests
// stand on it. It imports the standard library only.
package gitserver

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/cgi" //nolint:gosec // the vulnerability was mended in Go 1.6.3
	"os"
	"path/filepath"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
)

// Repository is a bare repository.
type Repository struct{ Dir string }

// Config is the configuration of a repository. Small pushes are unpacked, so
// that commits can be read without a pack reader; fetching any commit by its id
// and partial clones are allowed, as on GitHub.
const Config = `[core]
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

// Init makes an empty repository whose HEAD is a branch.
func Init(dir, branch string) (Repository, error) {
	for _, sub := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(sub)), 0o755); err != nil {
			return Repository{}, err
		}
	}
	return Repository{dir}, errors.Join(
		os.WriteFile(filepath.Join(dir, "HEAD"), []byte("ref: refs/heads/"+branch+"\n"), 0o644),
		os.WriteFile(filepath.Join(dir, "config"), []byte(Config), 0o644),
	)
}

// path is what a git client asks for; GitHub serves it with and without .git.
var path = lazyregexp.New(`^/([^/]+)/([^/]+?)(?:\.git)?/(info/refs|git-upload-pack|git-receive-pack)$`)

// Request is what a git client asks for: info/refs or a service of a repository.
type Request struct{ Owner, Name, Asked, Service string }

// ParseRequest reports whether a request is one of git's, and of what.
func ParseRequest(r *http.Request) (Request, bool) {
	parts := path.FindStringSubmatch(r.URL.Path)
	if parts == nil {
		return Request{}, false
	}
	asked := Request{Owner: parts[1], Name: parts[2], Asked: parts[3], Service: parts[3]}
	if asked.Asked == "info/refs" {
		asked.Service = r.URL.Query().Get("service")
	}
	return asked, true
}

// Pushes reports whether the client means to push.
func (q Request) Pushes() bool { return q.Service == "git-receive-pack" }

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

// Serve answers a request for a repository. Who may ask was decided before.
func (r Repository) Serve(w http.ResponseWriter, req *http.Request, asked Request) {
	method := http.MethodPost
	if asked.Asked == "info/refs" {
		method = http.MethodGet
	}
	if req.Method != method || asked.Service != "git-upload-pack" && asked.Service != "git-receive-pack" {
		http.Error(w, "Only git's smart protocol is spoken here.", http.StatusForbidden)
		return
	}
	inner := req.Clone(req.Context())
	inner.Header.Del("Authorization")
	// A large push comes chunked, which net/http/cgi refuses; git itself reads to the
	// end of its input.
	inner.TransferEncoding = nil
	if req.Header.Get("Content-Encoding") == "gzip" {
		plain, err := gzip.NewReader(req.Body)
		if err != nil {
			http.Error(w, "The body is not gzip.", http.StatusBadRequest)
			return
		}
		inner.Body, inner.ContentLength = plain, -1
		inner.Header.Del("Content-Encoding")
	}
	backend := cgi.Handler{
		Path: "/bin/sh",
		Args: []string{"-c", smart, "sh", asked.Asked, asked.Service, r.Dir},
		Root: "/",
		Dir:  r.Dir,
		Env: []string{
			"GIT_PROTOCOL=" + req.Header.Get("Git-Protocol"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
			// The repositories are ours whoever owns the files.
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
		},
		InheritEnv: []string{"GIT_EXEC_PATH"},
		Stderr:     io.Discard,
	}
	backend.ServeHTTP(w, inner)
}
