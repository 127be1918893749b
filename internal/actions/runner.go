// Package actions speaks to the GitHub Actions runner: inputs, context, masks,
// groups, annotations, outputs and the job summary. It alone may use
// go-githubactions, and it alone lets foreign text into a log that the runner
// reads for commands.
//
// go-githubactions does the reading of inputs and context and the escaping of
// commands. Three of its ways are not used. SetOutput writes a constant
// delimiter, so that a value can forge further outputs; AddStepSummary checks
// no size, and the runner drops a summary above its limit whole; both open the
// file by name at the end, when the agent may have put another one there, and
// panic when that fails. GITHUB_ENV and GITHUB_PATH are never written at all.
package actions

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unicode/utf8"

	"github.com/sethvargo/go-githubactions"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
	"github.com/org/ralph-action/internal/lib/secret"
)

// Options are the runner's ways in and out.
type Options struct {
	Getenv   func(string) string
	Stdout   io.Writer
	Redactor *secret.Redactor // may be nil
}

// Runner is the connection to the Actions runner. Its methods may be used by
// many goroutines.
type Runner struct {
	getenv   func(string) string
	redactor *secret.Redactor
	action   *githubactions.Action // writes to out

	mu   sync.Mutex
	out  *output
	stop string // token of the stop-commands in force; empty when commands are obeyed

	outputs *commandFile // nil: the runner takes none
	summary *commandFile
}

// New opens the files for outputs and summary, which must happen before the
// agent starts. Features whose variables are missing are off. Its errors are
// made for the user.
func New(o Options) (*Runner, error) {
	switch strings.ToLower(strings.TrimSpace(o.Getenv("ACTIONS_ALLOW_UNSECURE_COMMANDS"))) {
	case "true", "1", "$true": // what the runner takes for true
		return nil, errors.New("ACTIONS_ALLOW_UNSECURE_COMMANDS is set: with it, text an agent prints can change the environment of later steps; remove it from the workflow")
	}
	r := &Runner{getenv: o.Getenv, redactor: o.Redactor, out: &output{w: o.Stdout}}
	r.action = githubactions.New(githubactions.WithWriter(r.out), githubactions.WithGetenv(o.Getenv))
	var err error
	if r.outputs, err = openCommandFile("GITHUB_OUTPUT", o.Getenv); err != nil {
		return nil, err
	}
	if r.summary, err = openCommandFile("GITHUB_STEP_SUMMARY", o.Getenv); err != nil {
		_ = r.outputs.close()
		return nil, err
	}
	return r, nil
}

// Close ends the stopping of commands and closes the files, once the agent is
// dead. Its error is as SetOutput's, for what was done to a file after the last
// write.
func (r *Runner) Close() error {
	r.command(func() {})
	return errors.Join(r.outputs.close(), r.summary.close())
}

// Mask asks the runner to hide every form of the values from the job's log.
// Values too short to be told from ordinary text are not masked, and of a value
// with several lines each line of eight characters or more: the runner would
// mask all of them, and a "}" everywhere.
func (r *Runner) Mask(values ...string) {
	secrets := make([]secret.String, len(values))
	for i, v := range values {
		secrets[i] = secret.New(v)
	}
	r.command(func() {
		for _, form := range secret.NewRedactor(secrets...).Forms() {
			if !strings.ContainsAny(form, "\r\n") {
				r.action.AddMask(form)
			}
		}
	})
}

// Group begins a foldable part of the log.
func (r *Runner) Group(title string) {
	r.command(func() { r.action.Group(r.oneLine(title, maxTitle)) })
}

// EndGroup ends the part that Group began.
func (r *Runner) EndGroup() { r.command(r.action.EndGroup) }

const (
	maxTitle   = 200      // bytes; what the web interface shows of one
	maxMessage = 16 << 10 // bytes; the runner cuts at 64 KiB
)

// Notice makes an annotation on the run's page. Only the outcome is worth one.
func (r *Runner) Notice(title, message string) {
	r.annotate(title, message, (*githubactions.Action).Noticef)
}

// Warning makes an annotation of what a user should act upon.
func (r *Runner) Warning(title, message string) {
	r.annotate(title, message, (*githubactions.Action).Warningf)
}

// Error makes an annotation of why the run failed.
func (r *Runner) Error(title, message string) {
	r.annotate(title, message, (*githubactions.Action).Errorf)
}

// Problem makes an annotation of something that a user has to correct, at its place
// where that is known: a message may begin with FILE:LINE, or with the name of an input
// that stands once in the workflow's file.
func (r *Runner) Problem(title, message string) {
	fields := map[string]string{"title": r.oneLine(title, maxTitle)}
	if file, line := r.place(message); line > 0 {
		fields["file"], fields["line"] = file, strconv.Itoa(line)
	}
	action := r.action.WithFieldsMap(fields)
	message = r.block(message, maxMessage)
	r.command(func() { action.Errorf("%s", message) })
}

var (
	// Only files of ours: a line may be one of an output that is quoted.
	fileAndLine = lazyregexp.New(`^((?:[A-Za-z0-9_.-]+/)*(?:ralph\.ya?ml|settings\.json|settings\.local\.json|tasks\.json)):([0-9]{1,6})(?::[0-9]+)?: `)
	inputName   = lazyregexp.New(`^input ([a-z0-9-]+): `)
)

// place finds what a message is about; line is 0 if that is not known.
func (r *Runner) place(message string) (file string, line int) {
	if m := fileAndLine.FindStringSubmatch(message); m != nil {
		line, _ = strconv.Atoi(m[2])
		return m[1], line
	}
	m := inputName.FindStringSubmatch(message)
	file, _, ok := strings.Cut(strings.TrimPrefix(r.getenv("GITHUB_WORKFLOW_REF"), r.getenv("GITHUB_REPOSITORY")+"/"), "@")
	if m == nil || !ok || !filepath.IsLocal(file) {
		return "", 0
	}
	root, err := os.OpenRoot(r.getenv("GITHUB_WORKSPACE")) // no link leads out of it
	if err != nil {
		return "", 0
	}
	defer root.Close()
	f, err := root.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe has no line
	if err != nil {
		return "", 0
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", 0
	}
	text, _ := io.ReadAll(io.LimitReader(f, 1<<20))
	for n, one := range strings.Split(string(text), "\n") {
		if key, _, ok := strings.Cut(one, ":"); ok && strings.Trim(key, " \t-'\"") == m[1] {
			if line > 0 {
				return "", 0 // of which step?
			}
			line = n + 1
		}
	}
	return file, line
}

func (r *Runner) annotate(title, message string, issue func(*githubactions.Action, string, ...any)) {
	action := r.action.WithFieldsMap(map[string]string{"title": r.oneLine(title, maxTitle)})
	message = r.block(message, maxMessage)
	r.command(func() { issue(action, "%s", message) })
}

// Untrusted is where the text of the agent, guardrails and tools goes. Each stream
// has its own, so that half lines of two never mix; Close shows an unfinished
// last line. Writes never fail.
func (r *Runner) Untrusted() io.WriteCloser {
	return newLines(r.redactor, Defuse, func(line []byte) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.stop == "" {
			r.stop = token()
			line = append([]byte("::stop-commands::"+r.stop+"\n"), line...)
		}
		_, _ = r.out.Write(append(line, '\n'))
	})
}

// Line prints our own words, which may quote foreign ones.
func (r *Runner) Line(s string) {
	s = r.block(s, maxMessage)
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = r.out.Write([]byte(s + "\n"))
}

// command runs a function that writes commands of ours, where the runner obeys.
func (r *Runner) command(issue func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stop != "" {
		_, _ = r.out.Write([]byte("::" + r.stop + "::\n"))
		r.stop = ""
	}
	issue()
}

// block makes text of one or more lines safe to show. Its length is bounded.
func (r *Runner) block(text string, limit int) string {
	text = r.redactor.Text(text)
	text = truncate(text, limit)
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	var b strings.Builder
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.Write(defuseOwn([]byte(line)))
	}
	return r.redactor.Text(b.String())
}

func (r *Runner) oneLine(text string, limit int) string {
	return r.block(strings.Join(strings.Fields(r.redactor.Text(text)), " "), limit)
}

// truncate cuts between characters.
func truncate(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}

// token is a word of 128 random bits.
func token() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// output stops at the first error and reports none: go-githubactions panics on them,
// and a run must not fail because its log is gone.
type output struct {
	w   io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	if o.err == nil {
		_, o.err = o.w.Write(p)
	}
	return len(p), nil
}
