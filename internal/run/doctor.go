package run

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// Status is how a check came out.
type Status string

const (
	StatusOK   Status = "OK"
	StatusWarn Status = "WARN" // a run would start, and may not do what was meant
	StatusFail Status = "FAIL" // a run would be refused, or fail
	StatusSkip Status = "skip" // not looked at; found says why
)

// Check is one line of the table.
type Check struct {
	Check  string `json:"check"`
	Status Status `json:"status"`
	Found  string `json:"found"`
	Advice string `json:"advice,omitempty"` // what to do about it
}

// doctor is a run that never starts. Its children run as those of a run would,
// but can write nowhere in the workspace.
type doctor struct {
	*sandboxed
	DoctorOptions
	tools *proc.Supervisor // for programs of ours, such as git: sandboxed wherever that is possible
	rows  []Check
	says  *remarks
	extra []string // what keeps children from being sandboxed
}

// remarks is a printer that keeps what a run would warn of, and has no other use.
type remarks struct {
	Printer // nil
	all     []string
}

// Warn keeps the line.
func (r *remarks) Warn(line string) { r.all = append(r.all, line) }

// DoctorOptions are what is looked at.
type DoctorOptions struct {
	Offline bool // neither the forge nor the model is contacted
	Host    bool // this machine, as a runner that has the action on itself
}

// Examine looks at all that a run would need, and runs nothing of the workspace.
// problem is what is wrong with the configuration. It returns what it has found
// when ctx ends.
func Examine(ctx context.Context, in *Input, problem error, o DoctorOptions) []Check {
	undo := &cleanup{}
	defer undo.everything()
	says := &remarks{}
	looking := *in
	looking.Output = says
	d := &doctor{says: says, DoctorOptions: o, sandboxed: doctorsSandbox(&looking, undo)}
	d.check(ctx, problem)
	return d.rows
}

// check makes all lines of the table, in the order in which they are shown.
func (d *doctor) check(ctx context.Context, loadErr error) {
	d.add("ralph", StatusOK, fmt.Sprintf("%s, %s", d.Version, runtime.GOOS+"/"+runtime.GOARCH), "")
	d.checkConfig(loadErr)
	d.Environ = d.installation().Found()
	d.findTools()
	if err := d.openSandbox(ctx); err != nil {
		d.add("children", StatusFail, err.Error(), "ralph needs a temporary folder it can write (TMPDIR) and, on Linux, a /proc of its own")
		return
	}
	d.checkGit(ctx)
	d.checkCrew(ctx)
	d.checkSandbox(ctx)
	d.checkNamespaces(ctx)
	if d.Host {
		d.checkHost(ctx)
	}
	d.checkReach()
	d.checkReviews()
	d.checkCommands(ctx)
	d.checkToken(ctx)
	d.checkNetwork(ctx)
	d.checkDisk()
}

func (d *doctor) add(check string, s Status, found, advice string) {
	d.rows = append(d.rows, Check{check, s, found, advice})
}

// Worst is the status of the whole table.
func Worst(rows []Check) Status {
	order := []Status{StatusOK, StatusWarn, StatusFail}
	at := 0
	for _, row := range rows {
		at = max(at, slices.Index(order, row.Status))
	}
	return order[at]
}

// doctorsSandbox is what a run would have for its children, before anything of it
// is opened.
func doctorsSandbox(in *Input, undo *cleanup) *sandboxed {
	p := &plan{Input: in, rec: newRecord(in, undo), undo: undo, cfg: in.Config, site: in.Site, checks: in.Config.Checks.Guardrails, prices: &prices{}}
	if p.isolation, p.docker = in.Isolation(p.cfg); p.isolation == "" {
		p.isolation = config.IsolationOff
	}
	return &sandboxed{workspace: &workspace{plan: p}, Environ: in.Environ}
}
