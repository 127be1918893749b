package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/term"

	"github.com/org/ralph-action/internal/agent"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/proc"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/secret"
)

// doctorCmd looks at all that `ralph run` would need, and runs nothing of the
// workspace.
type doctorCmd struct {
	deskFlags
	Offline bool `help:"Ask no forge and reach for no model: nothing leaves this machine."`
	JSON    bool `name:"json" help:"Print the table as JSON."`
}

// Help is shown below the flags.
func (doctorCmd) Help() string {
	return `Examples:
  ralph doctor
  ralph doctor --agent codex --guardrails "make test"
  ralph doctor --json --offline | jq -r '.checks[] | select(.status == "FAIL") | .advice'

It reads the same flags and files as 'ralph run', and says for each red line what to do about it. Nothing is spent,
nothing is written into the workspace, no program of the workspace is run, and no value of a secret is shown. The exit
code is 0 when nothing is red, else 2.`
}

// status is how a check came out.
type status string

const (
	statusOK   status = "OK"
	statusWarn status = "WARN" // a run would start, and may not do what was meant
	statusFail status = "FAIL" // a run would be refused, or fail
	statusSkip status = "skip" // not looked at; found says why
)

// finding is one line of the table.
type finding struct {
	Check  string `json:"check"`
	Status status `json:"status"`
	Found  string `json:"found"`
	Advice string `json:"advice,omitempty"` // what to do about it
}

// doctor is a run that never starts. Its children run as those of a run would,
// but can write nowhere in the workspace.
type doctor struct {
	*sandboxed
	offline bool
	tools   *proc.Supervisor // for programs of ours, such as git: always inside walls, where there are any
	rows    []finding
	says    *remarks
	extra   []string // what is wrong with the room for children
}

// remarks is a printer that keeps what a run would warn of, and has no other use.
type remarks struct {
	printer // nil
	all     []string
}

func (r *remarks) warn(line string) { r.all = append(r.all, line) }

const doctorTime = 2 * time.Minute // for everything: each check has a limit of its own

// Run checks and prints.
func (c *doctorCmd) Run(a *app, done *exit) error {
	workspace, err := filepath.Abs("")
	if err != nil {
		return err
	}
	defaults := a.placeDefaults(config.ModeRun)
	defaults["prompt"] = "none: nothing is asked of an agent"
	cfg, loadErr := config.Load(config.LoadOptions{
		Dir: workspace, Flags: c.values(), Environment: a.environment(), Mode: config.ModeRun, Desk: true, Home: a.home(workspace),
		Defaults: defaults,
		Prompts:  prompts(), Infer: agent.Infer,
	})
	redact := secret.NewRedactor(secretsOf(cfg, a.environ, nil)...)
	says := &remarks{}
	undo := &cleanup{}
	defer undo.everything()
	d := &doctor{says: says, offline: c.Offline, sandboxed: doctorsSandbox(&Input{
		Config: cfg, Environ: a.environ, Self: a.self, Version: a.version(), Workspace: workspace, Site: a.deskSite(), Output: says, Redactor: redact,
	}, undo)}
	ctx, cancel := context.WithTimeout(context.Background(), doctorTime)
	defer cancel()
	ctx, stop := stoppable(ctx)
	defer stop()
	d.check(ctx, loadErr)
	if ctx.Err() != nil {
		fmt.Fprintln(a.stderr, "ralph: stopped before everything was looked at")
		*done = exit(ralph.Interrupted.ExitCode(false))
		return nil
	}
	for i, row := range d.rows {
		d.rows[i].Found, d.rows[i].Advice = clean(redact, row.Found), clean(redact, row.Advice)
	}
	if slices.ContainsFunc(d.rows, func(f finding) bool { return f.Status == statusFail }) {
		*done = exit(ralph.Invalid.ExitCode(false))
	}
	if c.JSON {
		return d.printJSON(a.stdout)
	}
	tty := term.IsTerminal(int(a.stdout.Fd())) && a.getenv("TERM") != "dumb"
	color := tty && a.getenv("NO_COLOR") == ""
	switch cfg.Display.Color {
	case "always":
		color = true
	case "never":
		color = false
	}
	_, err = a.stdout.WriteString(doctorTable(d.rows, color))
	return err
}

// check makes all lines of the table, in the order in which they are shown.
func (d *doctor) check(ctx context.Context, loadErr error) {
	d.add("ralph", statusOK, fmt.Sprintf("%s, %s", d.Version, platformName()), "")
	d.checkConfig(loadErr)
	d.useInstalled()
	if err := d.openRoom(ctx); err != nil {
		d.add("children", statusFail, err.Error(), "ralph needs a temporary folder it can write (TMPDIR) and, on Linux, a /proc of its own")
		return
	}
	d.checkGit(ctx)
	d.checkCrew(ctx)
	d.checkSandbox(ctx)
	d.checkReach()
	d.checkCommands()
	d.checkToken(ctx)
	d.checkNetwork(ctx)
	d.checkDisk()
}

func (d *doctor) add(check string, s status, found, advice string) {
	d.rows = append(d.rows, finding{check, s, found, advice})
}

// worst is the status of the whole table.
func worst(rows []finding) status {
	order := []status{statusOK, statusWarn, statusFail}
	at := 0
	for _, row := range rows {
		at = max(at, slices.Index(order, row.Status))
	}
	return order[at]
}

func (d *doctor) printJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		Version string    `json:"version"`
		Agent   string    `json:"agent"`
		Status  status    `json:"status"`
		Checks  []finding `json:"checks"`
	}{d.Version, cmp.Or(d.cfg.Agent, "unknown"), worst(d.rows), d.rows})
}

// doctorsSandbox is what a run would have for its children, before anything of it
// is opened.
func doctorsSandbox(in *Input, undo *cleanup) *sandboxed {
	p := &plan{Input: in, rec: newRecord(in, undo), undo: undo, cfg: in.Config, site: in.Site, checks: in.Config.Guardrails, prices: &prices{}}
	if p.isolation, p.docker = isolationOf(in, p.cfg); p.isolation == "" {
		p.isolation = config.IsolationOff
	}
	return &sandboxed{workspace: &workspace{plan: p}, Environ: in.Environ}
}
