package install

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

const (
	attempts    = 3
	firstPause  = 2 * time.Second
	viewTime    = 2 * time.Minute
	answerBytes = 1 << 20  // of an answer that is read
	outputBytes = 64 << 20 // npm prints a page; a script of a package could print for ever
)

// metadata is what the registry says of a version.
type metadata struct {
	Version   string   `json:"version"`
	Engines   engines  `json:"engines"`
	Integrity string   `json:"dist.integrity"`
	Bin       programs `json:"bin"`
}

// prepare looks for npm, starts the sandbox and asks the registry, unless the version
// was tested: what the registry would say is known.
func (s *stage) prepare(ctx context.Context) (metadata, error) {
	for _, program := range []string{"npm", "node"} {
		path, err := proc.LookPath(program, s.o.Env)
		if err != nil {
			return metadata{}, fmt.Errorf("%s is needed to install %s, and %s is not on PATH: install Node.js, which brings npm (in a workflow actions/setup-node does, the default image has both), or install %s yourself",
				program, s.pkg.Name, program, s.pkg.Program)
		}
		if leadsThrough(path, s.o.Workspace) {
			return metadata{}, fmt.Errorf("%s is needed to install %s, and the %s on PATH lies in the workspace: %s, where an agent can change it: take that folder off PATH, or put one with another %s before it",
				program, s.pkg.Name, program, path, program)
		}
	}
	if err := s.start(ctx); err != nil {
		return metadata{}, err
	}
	if lock, ok := pinned(s.pkg); ok {
		return lock.metadata(s.pkg), nil
	}
	var m metadata
	err := s.retried(ctx, func() (err error) {
		m, err = s.view(ctx)
		return err
	})
	return m, err
}

func (s *stage) view(ctx context.Context) (m metadata, err error) {
	a, err := s.npm(ctx, viewTime, "view", s.pkg.String(), "version", "engines", "dist.integrity", "bin", "--json")
	if err == nil {
		err = a.failed(s.pkg, "npm view")
	}
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal([]byte(a.stdout), &m); err != nil || !exactForm.MatchString(m.Version) || len(m.Version) > 64 {
		return m, fmt.Errorf("npm view %s gave no version: %.200q", s.pkg, a.stdout)
	}
	return m, nil
}

// npmInstall fetches the package, in its tested version by the lock that lies in the
// directory. Each attempt begins with a new one.
func (s *stage) npmInstall(ctx context.Context) error {
	defer s.o.fold("Installing " + s.pkg.String())()
	return s.retried(ctx, func() error {
		if err := s.empty(); err != nil {
			return folderError(s.o.Root, err)
		}
		// Whatever a configuration of the machine says: into this directory, with the
		// parts for this platform, its programs and a lock file.
		args := []string{"install", "--prefix", s.tree, "--global=false",
			"--omit=dev", "--include=optional", "--include=prod", "--package-lock=true", "--ignore-scripts=false", "--bin-links=true",
			"--install-strategy=hoisted", "--dry-run=false", "--package-lock-only=false", "--save-exact", "--loglevel=notice"}
		if _, ok := pinned(s.pkg); !ok {
			args = slices.Insert(args, 1, s.pkg.String())
		}
		a, err := s.npm(ctx, s.o.Time, args...)
		if err != nil {
			return err
		}
		return a.failed(s.pkg, "npm install")
	})
}

func (s *stage) npm(ctx context.Context, within time.Duration, args ...string) (answer, error) {
	args = append([]string{"npm"}, args...)
	return s.run(ctx, s.tree, within, append(args, "--no-audit", "--no-fund", "--no-update-notifier", "--no-progress")...)
}

// answer is how a command ended.
type answer struct {
	exit   proc.Exit
	stdout string
	said   *output
}

// run starts a command in the sandbox, in a directory of the stage. The error means
// that it was not started, or that ctx is over.
func (s *stage) run(ctx context.Context, dir string, within time.Duration, argv ...string) (answer, error) {
	said := &output{log: s.o.Log}
	stdout, stderr := &stream{output: said, keep: true}, &stream{output: said}
	exit, err := s.p.Run(ctx, proc.Command{
		Argv: argv, Dir: dir, Env: s.environment(), Stdout: stdout, Stderr: stderr,
		Limits: proc.Limits{Time: within, OutputBytes: outputBytes},
	})
	stdout.line()
	stderr.line()
	a := answer{exit, string(said.stdout), said}
	if ctx.Err() != nil {
		return a, context.Cause(ctx)
	}
	return a, err
}

// environment is what a child sees. npm's configuration comes from the names of
// Variables alone: a prefix of the user's would send the package elsewhere, and
// an .npmrc could hold a token.
func (s *stage) environment() []string {
	env := slices.DeleteFunc(slices.Clone(s.o.Env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return name == "HOME" || name == "TMPDIR" || name == "NODE_OPTIONS" || name == "NODE_PATH" || strings.HasPrefix(name, "XDG_") ||
			isNpm(name) && !counts(name)
	})
	for i, kv := range env {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			env[i] = "PATH=" + PathOutside(path, s.o.Workspace)
		}
	}
	own := []string{
		"HOME=" + filepath.Join(s.work, "home"), "TMPDIR=" + filepath.Join(s.work, "tmp"),
		"npm_config_cache=" + filepath.Join(s.work, "cache"),
		"npm_config_userconfig=" + filepath.Join(s.work, "home", ".npmrc"),
	}
	// npm's own two retries wait for up to a minute each, and ours come on top.
	for name, value := range map[string]string{"npm_config_fetch_retries": "1", "npm_config_fetch_retry_mintimeout": "1000"} {
		if !slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(strings.ToLower(kv), name+"=") }) {
			own = append(own, name+"="+value)
		}
	}
	slices.Sort(own)
	return append(env, own...)
}

// Variables are the names in environ that say where npm finds a registry and how
// it gets there, the credentials of a registry included.
func Variables(environ []string) []string {
	var names []string
	for _, kv := range environ {
		if name, _, _ := strings.Cut(kv, "="); counts(name) {
			names = append(names, name)
		}
	}
	return names
}

func isNpm(name string) bool { return strings.HasPrefix(strings.ToLower(name), "npm_config_") }

func counts(name string) bool {
	if !isNpm(name) {
		return false
	}
	key := name[len("npm_config_"):]
	if strings.HasPrefix(key, "//") || strings.HasPrefix(key, "@") { // of one registry, of one scope
		return true
	}
	switch strings.ToLower(strings.ReplaceAll(key, "-", "_")) {
	case "registry", "proxy", "https_proxy", "http_proxy", "noproxy", "cafile", "ca", "strict_ssl", "maxsockets",
		"fetch_retries", "fetch_retry_factor", "fetch_retry_mintimeout", "fetch_retry_maxtimeout", "fetch_timeout":
		return true
	}
	return false
}

// Reads are the paths beyond the system's that npm and node need to read: where
// they are installed, and the trust stores that the environment names.
func Reads(env []string) []string {
	var paths []string
	for _, program := range []string{"npm", "node"} {
		found, err := proc.LookPath(program, env)
		if err != nil {
			continue
		}
		if real, err := filepath.EvalSymlinks(found); err == nil {
			// .../lib/node_modules/npm/bin/npm-cli.js, .../bin/node
			if root := filepath.Dir(filepath.Dir(real)); root != "/" {
				paths = append(paths, root)
			}
		}
	}
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		switch strings.ToLower(name) {
		case "node_extra_ca_certs", "ssl_cert_file", "ssl_cert_dir", "npm_config_cafile":
			if _, err := os.Stat(value); err == nil && filepath.IsAbs(value) {
				paths = append(paths, value)
			}
		}
	}
	return slices.Compact(paths)
}

// retried tries again what failed for a reason that passes.
func (s *stage) retried(ctx context.Context, do func() error) error {
	pause := s.o.Pause
	if pause == 0 {
		pause = firstPause
	}
	for n := 1; ; n++ {
		err := do()
		f := (*Failure)(nil)
		if err == nil || n == attempts || !errors.As(err, &f) || !f.passes {
			return err
		}
		wait := pause + rand.N(pause/2+1)
		s.o.say(fmt.Sprintf("%s (attempt %d of %d); trying again in %v", firstLine(err), n, attempts, wait.Round(time.Millisecond)))
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
		pause *= 4
	}
}

// Failure is what npm, or a program of the package, reported.
type Failure struct {
	Code   string // npm's word for it, like E404 or ENOTFOUND; empty: none was said
	text   string
	passes bool
}

// Error says what would be right, then the last lines that were printed.
func (f *Failure) Error() string { return f.text }

const (
	lastLines = 8
	lineBytes = 300
)

// codeForm is how npm 7 to 11 name the reason of a failure, on a line of its own.
var codeForm = lazyregexp.New(`^npm (?:ERR!|error) code ([A-Za-z0-9_]{1,64})\s*$`)

// output gathers what both streams of a command say, and hands it on to a log.
type output struct {
	log io.Writer // nil: dropped

	mu     sync.Mutex
	stdout []byte   // its first bytes
	code   string   // see [Failure]
	torn   string   // the first file that npm could not unpack: npm says so, and goes on
	last   []string // lines
}

// stream is one of the two. It is cut into lines of at most lineBytes, without control
// characters.
type stream struct {
	*output
	keep bool // as stdout
	rest []byte
}

func (w *stream) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.log != nil {
		if _, err := w.log.Write(p); err != nil { // no reason to lose an answer
			w.log = nil
		}
	}
	if w.keep {
		w.stdout = append(w.stdout, p[:min(len(p), max(0, answerBytes-len(w.stdout)))]...)
	}
	for part := range bytes.Lines(p) {
		text, whole := bytes.CutSuffix(part, []byte("\n"))
		w.rest = append(w.rest, text[:min(len(text), max(0, lineBytes-len(w.rest)))]...)
		if whole {
			w.line()
		}
	}
	return len(p), nil
}

// line takes the line at hand.
func (w *stream) line() {
	text := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(string(w.rest), "\uFFFD"))
	w.rest = w.rest[:0]
	if found := codeForm.FindStringSubmatch(text); found != nil && w.code == "" {
		w.code = found[1]
	}
	if w.torn == "" && (strings.HasPrefix(text, "npm warn tar TAR_") || strings.HasPrefix(text, "npm WARN tar TAR_")) {
		w.torn = text
	}
	if strings.TrimSpace(text) == "" || strings.Contains(text, "A complete log of this run can be found in") || strings.HasPrefix(text, "npm notice") {
		return
	}
	if w.last = append(w.last, text); len(w.last) > lastLines {
		w.last = slices.Delete(w.last, 0, 1)
	}
}

// failed is nil when the command did what it should, else a *Failure. what names
// the command.
func (a answer) failed(p Package, what string) error {
	l := a.said
	if a.exit.Why == proc.Exited && a.exit.Code == 0 && l.torn == "" {
		return nil
	}
	f := &Failure{Code: l.code}
	if f.Code == "" && strings.Contains(l.torn, " ENOSPC") {
		f.Code = "ENOSPC"
	}
	advice, passes := meaning(f.Code, p)
	f.passes = passes
	switch {
	case a.exit.Why == proc.TimedOut:
		f.text, f.passes = fmt.Sprintf("%s of %s did not end in time", what, p), strings.HasPrefix(what, "npm view")
	case advice != "":
		f.text = fmt.Sprintf("%s of %s failed (%s): %s", what, p, f.Code, advice)
	case l.torn != "" && a.exit.Code == 0:
		f.text = fmt.Sprintf("%s could not be unpacked whole: %s", p, l.torn)
	default:
		f.text = fmt.Sprintf("%s of %s failed (%s)", what, p, ending(a.exit))
	}
	for _, line := range l.last {
		f.text += "\n  " + line
	}
	return f
}

func ending(e proc.Exit) string {
	switch {
	case e.Why != proc.Exited:
		return e.Why.String()
	case e.Signal != 0:
		return "ended by " + e.Signal.String()
	}
	return fmt.Sprintf("exit code %d", e.Code)
}

// meaning says what would be right, and whether the reason may pass by itself.
func meaning(code string, p Package) (advice string, passes bool) {
	switch code {
	case "":
		return "", false
	case "E404", "ETARGET", "ENOVERSIONS":
		return fmt.Sprintf("the registry knows no %s; is its version right? `npm view %s versions` lists them", p, p.Name), false
	case "ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ECONNABORTED", "ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH", "EPIPE",
		"EIDLETIMEOUT", "ERR_SOCKET_TIMEOUT", "ERR_SOCKET_CONNECTION_TIMEOUT", "ERR_STREAM_PREMATURE_CLOSE", "UND_ERR_SOCKET", "UND_ERR_CONNECT_TIMEOUT":
		return "the registry cannot be reached; does this machine reach the network, and are HTTPS_PROXY and npm_config_registry right?", true
	case "E408", "E429", "E500", "E502", "E503", "E504", "E520", "E521", "E522", "E524":
		return "the registry is in trouble; run again later, or name a mirror in npm_config_registry", true
	case "EINTEGRITY", "Z_BUF_ERROR", "Z_DATA_ERROR", "TAR_BAD_ARCHIVE", "EBADSIZE":
		return "what arrived is not what the registry promised (its checksum differs, or it was cut short); does a proxy change it?", true
	case "E401", "E403", "ENEEDAUTH", "EOTP":
		return "the registry refuses us; does it want credentials (npm_config_//HOST/:_authToken), or another npm_config_registry?", false
	case "SELF_SIGNED_CERT_IN_CHAIN", "DEPTH_ZERO_SELF_SIGNED_CERT", "UNABLE_TO_GET_ISSUER_CERT", "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
		"UNABLE_TO_VERIFY_LEAF_SIGNATURE", "CERT_HAS_EXPIRED", "ERR_TLS_CERT_ALTNAME_INVALID":
		return "the registry's certificate is not trusted; name the file of your authority in NODE_EXTRA_CA_CERTS", false
	case "ENOSPC", "EDQUOT":
		return "the disk is full; make room, or install into another folder", false
	case "EROFS", "EACCES", "EPERM":
		return "the folder cannot be written; choose one that the agent's user can reach and write", false
	case "EBADENGINE", "ENOTSUP":
		return "it wants another node than the one on PATH", false
	case "EBADPLATFORM":
		return "there is none for this machine", false
	}
	return "", false
}
