// Package doctor looks at what a run would need, and says what to do about what is missing. It
// spends nothing, and runs nothing of the workspace.
package doctor

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/org/ralph-action/internal/actions"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/run/commands"
	"github.com/org/ralph-action/internal/run/crew"
	"github.com/org/ralph-action/internal/run/installation"
	"github.com/org/ralph-action/internal/run/network"
	"github.com/org/ralph-action/internal/sandbox/confine"
	"github.com/org/ralph-action/internal/sandbox/proc"
	"github.com/org/ralph-action/internal/sandbox/toolchain"
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

// Options are what is looked at.
type Options struct {
	Offline bool // neither the forge nor the model is contacted
	Host    bool // this machine, as a runner that has the action on itself
}

// Subject is a run that never starts.
type Subject struct {
	Options
	Version   string // of ralph
	Config    config.Config
	Problems  []error  // with the configuration; some may be nil
	Environ   []string // with installed agents on PATH
	Workspace string   // absolute
	Dir       string   // where the agent would work, absolute
	Site      actions.Context
	Publishes bool // the run commits, and publishes what is committed
	OnRunner  bool // it is on the machine of a job, as a plain user

	Isolation config.Isolation // of ours
	Docker    config.Isolation // as of a plan
	Crew      crew.Crew
	Named     []toolchain.Folder // that variables name
	Said      func() []string    // what the run would have warned of so far
}

// Sandbox is what children run in: as those of a run would, but they can write nowhere in the
// workspace.
type Sandbox struct {
	Installation         installation.Options
	Identity             confine.Identity // theirs; zero: our own
	Wrong                []string         // what keeps them from being sandboxed
	Root, Home, Tmp      string           // private directories
	Index                string
	Env                  []string
	Children             *proc.Supervisor
	Tools                *proc.Supervisor // for programs of ours, such as git: sandboxed wherever that is possible
	Look                 commands.Look
	Unprotected, Instead string // why the code under review could approve itself, and what to do; empty: it could not
	Network              func() (network.Options, error)
	Namespaces           func(ctx context.Context) (found, without string, err error)
}

type doctor struct {
	Subject
	Sandbox
	rows []Check
}

// Examine looks at all that a run would need, and runs nothing of the workspace. It returns what
// it has found when ctx ends.
func Examine(ctx context.Context, s Subject, open func(context.Context) (Sandbox, error)) []Check {
	d := &doctor{Subject: s}
	d.check(ctx, open)
	return d.rows
}

// check makes all lines of the table, in the order in which they are shown.
func (d *doctor) check(ctx context.Context, open func(context.Context) (Sandbox, error)) {
	d.add("ralph", StatusOK, fmt.Sprintf("%s, %s", d.Version, runtime.GOOS+"/"+runtime.GOARCH), "")
	d.checkConfig()
	box, err := open(ctx)
	if err != nil {
		d.add("children", StatusFail, err.Error(), "ralph needs a temporary folder it can write (TMPDIR) and, on Linux, a /proc of its own")
		return
	}
	d.Sandbox = box
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

func (d *doctor) getenv(name string) string { return proc.Getenv(d.Environ, name) }

// sandboxes reports whether the run's processes would be sandboxed by us.
func (d *doctor) sandboxes() bool {
	return d.Isolation != config.IsolationOff && d.Docker != config.IsolationDocker
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
