package install

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

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

// listener gathers what both streams say about why something failed.
type listener struct {
	mu   sync.Mutex
	code string
	torn string   // the first file that npm could not unpack: npm says so, and goes on
	last []string // lines
}

func (l *listener) line(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if found := codeForm.FindStringSubmatch(text); found != nil && l.code == "" {
		l.code = found[1]
	}
	if l.torn == "" && (strings.HasPrefix(text, "npm warn tar TAR_") || strings.HasPrefix(text, "npm WARN tar TAR_")) {
		l.torn = text
	}
	if strings.TrimSpace(text) == "" || strings.Contains(text, "A complete log of this run can be found in") || strings.HasPrefix(text, "npm notice") {
		return
	}
	if l.last = append(l.last, text); len(l.last) > lastLines {
		l.last = slices.Delete(l.last, 0, 1)
	}
}

// lines cuts one of the two outputs into lines of at most lineBytes, without control characters.
type lines struct {
	to   *listener
	rest []byte
}

func (w *lines) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		part := p
		if end >= 0 {
			part = p[:end]
		}
		w.rest = append(w.rest, part[:min(len(part), max(0, lineBytes-len(w.rest)))]...)
		if end < 0 {
			return n, nil
		}
		w.flush()
		p = p[end+1:]
	}
	return n, nil
}

func (w *lines) flush() {
	text := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(string(w.rest), "\uFFFD"))
	w.rest = w.rest[:0]
	w.to.line(text)
}

// failed is nil when the command did what it should, else a *Failure. what names
// the command.
func (a answer) failed(p Package, what string) error {
	l := a.heard
	l.mu.Lock()
	defer l.mu.Unlock()
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
		return "the registry is in trouble", true
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
