// Package guard runs guardrails: the team's own commands that judge the
// workspace after each turn.
package guard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// Process runs a child; *proc.Supervisor does.
type Process interface {
	Run(ctx context.Context, c proc.Command) (proc.Exit, error)
}

// Files holds the log files; *rundir.Dir does.
type Files interface {
	Create(name string) (io.WriteCloser, error)
	Path(name string) string // relative to the workspace
}

// Spec is one guardrail as the user configured it.
type Spec struct {
	Command string // for sh -c
	Action  ralph.FailAction
	Hint    string
	Timeout time.Duration // 0: none
	Rule    ralph.Rule
}

// Setting is what all guardrails of a run share.
type Setting struct {
	Process Process
	Dir     string
	Env     []string // no secrets in it
	Files   Files
	// ToWorkspace leads from Dir to the workspace, for a log file's name that
	// the agent can open; "" when they are the same.
	ToWorkspace string
	Redact      *secret.Redactor
	Earlier     int // iterations before the first, whose logs are kept
	// Truncate bounds the output in the feedback, in characters; 0 means
	// DefaultTruncate.
	Truncate int
	// OutputBytes ends a guardrail that prints more; 0 means none.
	OutputBytes int64
	// Show opens a stream that shows one guardrail's output, redacted; nil drops it.
	Show func(command string) io.WriteCloser
	// Watch begins to watch what the sandbox refuses; what it returns says what of that
	// a guardrail that failed meanwhile should be told, "" for nothing. It may be nil.
	Watch func() func() string
	// SpillDir is where output waits that is not to be shown yet; empty: /tmp.
	SpillDir string
}

// DefaultTruncate is outputTruncateChars.
const DefaultTruncate = 5000

// New makes the guardrails of a run, in order. Guardrails with the same name
// get log files of their own.
func New(specs []Spec, s Setting) []ralph.Guardrail {
	if s.Truncate == 0 {
		s.Truncate = DefaultTruncate
	}
	used := map[string]bool{}
	rails := make([]ralph.Guardrail, 0, len(specs))
	for _, spec := range specs {
		name := Slug(spec.Command)
		slug := name
		for n := 1; used[slug]; n++ {
			slug = fmt.Sprintf("%s_%d", name, n)
		}
		used[slug] = true
		rails = append(rails, &guardrail{spec: spec, set: s, slug: slug})
	}
	return rails
}

type guardrail struct {
	spec Spec
	set  Setting
	slug string
}

// Name is the command as the user wrote it.
func (g *guardrail) Name() string { return g.spec.Command }

// Rule is the user's.
func (g *guardrail) Rule() ralph.Rule { return g.spec.Rule }

// Check runs the command under sh with no secret in reach.
func (g *guardrail) Check(ctx context.Context, iteration int, live <-chan struct{}) (ralph.Verdict, func()) {
	var show io.WriteCloser
	rest := func() {}
	if g.set.Show != nil {
		show = proc.Hold(ctx, g.set.Show(g.spec.Command), live, g.set.SpillDir)
		rest = func() { _ = show.Close() } // a terminal that is gone is none of the guardrail's business
	}
	return g.run(ctx, iteration, show), rest
}

func (g *guardrail) run(ctx context.Context, iteration int, show io.Writer) ralph.Verdict {
	start := time.Now()
	v := ralph.Verdict{Command: g.spec.Command, Action: g.spec.Action, ExitCode: -1}
	if v.Action == "" {
		v.Action = ralph.Append
	}
	if ctx.Err() != nil {
		v.Unfinished, v.Reason = true, "the run was over before it started"
		g.explain(&v, nil, iteration == 0)
		return v
	}

	sinks := []io.Writer{}
	number := iteration
	if number > 0 {
		number += g.set.Earlier
	}
	name := fmt.Sprintf("guardrail_%03d_%s.log", number, g.slug)
	log, logErr := g.set.Files.Create(name)
	if logErr == nil {
		v.LogFile = g.set.Files.Path(name)
		sinks = append(sinks, &shrug{w: log})
	}
	if show != nil {
		sinks = append(sinks, &shrug{w: show})
	}
	out := newCapture(g.set.Truncate)
	sinks = append(sinks, out)
	w := g.set.Redact.Writer(io.MultiWriter(sinks...))

	told := func() string { return "" }
	if g.set.Watch != nil {
		told = g.set.Watch()
	}
	exit, err := g.set.Process.Run(ctx, proc.Command{
		Argv: []string{"sh", "-c", g.spec.Command}, Dir: g.set.Dir, Env: g.set.Env,
		Stdout: w, Stderr: w,
		Limits: proc.Limits{Time: g.spec.Timeout, OutputBytes: g.set.OutputBytes},
	})
	if text := told(); text != "" && (err != nil || exit.Why != proc.Exited || exit.Code != 0) {
		_, _ = io.WriteString(w, "\nralph: "+text+"\n")
	}
	_ = w.Close() // only flushes into sinks that cannot fail
	if logErr == nil {
		logErr = log.Close()
	}

	v.ExitCode = exit.Code
	switch {
	case err != nil:
		v.ExitCode, v.Broken, v.Reason = -1, true, "could not be started: "+err.Error()
	case exit.Why != proc.Exited:
		v.ExitCode, v.Unfinished, v.Reason = -1, exit.Why == proc.Cancelled, g.reason(ctx, exit)
	case exit.Code == NotExecutable || exit.Code == 127: // the shell's words for "not executable" and "not found"
		v.Broken = true
	case exit.Code == 0:
		v.Passed = true
	case exit.Code < 0:
		v.Reason = "ended by a signal"
	}
	v.Duration = time.Since(start)
	if logErr != nil && v.Passed {
		// A verdict nobody can look up is still a verdict; a full disk shows elsewhere.
		v.LogFile = ""
	}
	g.explain(&v, out, iteration == 0)
	return v
}

func (g *guardrail) reason(ctx context.Context, exit proc.Exit) string {
	switch exit.Why {
	case proc.TimedOut:
		return fmt.Sprintf("timed out after %s", g.spec.Timeout)
	case proc.Flooded:
		return fmt.Sprintf("printed more than %d bytes", g.set.OutputBytes)
	case proc.OverMemory:
		return "used more memory than max-memory allows"
	case proc.DiskFull:
		return "ended: the disk is nearly full (min-free-disk)"
	case proc.Cancelled:
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return "max-duration ended it"
		}
		return "cancelled"
	}
	return "ended early"
}

// explain fills in what people and the agent read about a verdict.
func (g *guardrail) explain(v *ralph.Verdict, out *capture, baseline bool) {
	if out != nil {
		v.Output = out.last()
	}
	if v.Passed {
		return
	}
	head := ""
	if out != nil {
		head = out.first()
		v.Digest = fmt.Sprintf("%s: %d %s %s", v.Command, v.ExitCode, v.Reason, out.digest())
	} else {
		v.Digest = fmt.Sprintf("%s: %d %s", v.Command, v.ExitCode, v.Reason)
	}
	log := v.LogFile
	if log != "" {
		log = path.Join(g.set.ToWorkspace, log)
	}
	heading := "Output (truncated):\n" // stands there even when nothing was cut
	if baseline {
		heading = baselineHeading(head)
	}
	v.Message = message(*v, g.spec.Hint, log, heading+head)
}

// baselineHeading stands above an output in the messages of the baseline, which are
// no part of the dialect.
func baselineHeading(output string) string {
	switch {
	case output == "":
		return "Output: none"
	case strings.HasSuffix(output, truncated):
		return "Output (truncated):\n"
	}
	return "Output:\n"
}

// message is the feedback, to the letter.
func message(v ralph.Verdict, hint, log, output string) string {
	var b strings.Builder
	if v.Reason == "" {
		fmt.Fprintf(&b, "Guardrail %q failed with exit code %d.\n", verbatim(v.Command), v.ExitCode)
	} else {
		fmt.Fprintf(&b, "Guardrail %q failed: %s.\n", verbatim(v.Command), v.Reason)
	}
	if hint != "" {
		b.WriteString("Hint: " + hint + "\n")
	}
	if log != "" {
		b.WriteString("Output file: " + log + "\n")
	}
	b.WriteString(output)
	return b.String()
}

// verbatim prints between quotes without escaping: the agent is to see the
// command as the user wrote it.
type verbatim string

func (s verbatim) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, `"`+string(s)+`"`) }

// shrug keeps one full disk or closed terminal from silencing the other sinks.
type shrug struct {
	w   io.Writer
	err error
}

func (s *shrug) Write(p []byte) (int, error) {
	if s.err == nil {
		_, s.err = s.w.Write(p)
	}
	return len(p), nil
}

// NotExecutable is a shell's exit code for a program that is there and cannot be executed.
const NotExecutable = 126

// Broken names the guardrails of a baseline that could not be started, as one
// error for the user, on the command line or in a job; nil when all could.
func Broken(baseline []ralph.Verdict, local bool) error {
	instead := "install what it needs"
	if !local {
		instead = "provide what it needs: on the runner by a step before ralph, in the container by an image of your own (docs/your-language.md)"
	}
	var errs []error
	for _, v := range baseline {
		if !v.Broken {
			continue
		}
		why := v.Reason
		if v.ExitCode == NotExecutable && why != "" { // which says what to do
			errs = append(errs, fmt.Errorf("guardrail %q cannot be started: %s", verbatim(v.Command), why))
			continue
		}
		if why == "" {
			why = strings.Join(strings.Fields(v.Output), " ")
		}
		errs = append(errs, fmt.Errorf("guardrail %q cannot be started: %s; correct the command, or %s", verbatim(v.Command), why, instead))
	}
	return errors.Join(errs...)
}
