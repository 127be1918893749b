package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/agent"
	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// member is an agent that a run would ask.
type member struct {
	input string // that asked for it; empty: agent
	o     agent.Options
}

// wrong is what the run would say.
func (m member) wrong(err error) string {
	if m.input != "" {
		return m.input + ": " + err.Error()
	}
	return err.Error()
}

// checkCrew looks at the agent that works, the one that would take over from it,
// and the one that reviews.
func (d *doctor) checkCrew(ctx context.Context) {
	if d.Config.Agent.Name == "" {
		return
	}
	o, outdated, err := d.Crew.Worker()
	if err != nil {
		d.add("agent: "+d.Config.Agent.Name, StatusFail, err.Error(), "")
		return
	}
	agents := []member{{o: o}}
	if next, ok := d.Crew.Fallback(o); ok {
		agents = append(agents, member{d.Crew.FallbackInput(), next})
	}
	if reviewer, ok := d.Crew.Reviewer(o); ok {
		agents = append(agents, member{"review-agent", reviewer})
	}
	for i, m := range agents {
		again := slices.ContainsFunc(agents[:i], func(other member) bool { return other.o.Name == m.o.Name })
		d.checkCLI(ctx, m, again)
	}
	for _, line := range append(outdated, d.Said()...) {
		d.add("agent: "+d.Config.Agent.Name, StatusWarn, line, "")
	}
}

// checkCLI looks at one agent: its options, its program, its version, its
// credentials, what it can do. Of a CLI that was looked at before only what is
// wrong with this use of it is shown.
func (d *doctor) checkCLI(ctx context.Context, m member, again bool) {
	name := m.o.Name
	title := func(what string) string { return what + ": " + name }
	a, err := agent.New(m.o)
	if err != nil {
		d.add(title("agent"), StatusFail, m.wrong(err), "correct the option, or choose another agent")
		return
	}
	if d.Config.Agent.Resume {
		if err := a.CanResume(); err != nil {
			d.add(title("session"), StatusFail, m.wrong(fmt.Errorf("%s: %w", d.Config.WhyResume(), err)), "choose another agent, or a mode and session: fresh that begin anew each time")
		}
	}
	from, packaged := agent.PackageOf(name)
	switch {
	case len(m.o.Command) > 0:
		d.checkCommand(ctx, m, a, again)
	case packaged && again && !d.starts(from.Program):
		return
	case packaged && !again && !d.findCLI(title("agent"), name, from):
		var ready error
		if d.Docker == "" && !d.Host { // else it may be logged in there, or a job brings the key
			ready = agent.Ready(m.o)
		}
		d.checkCredentials(title("credentials"), name, ready)
		return
	case !d.checkStart(ctx, m, from, again):
		return
	}
	if !again {
		d.add(title("abilities"), StatusOK, d.abilities(name, a), "")
	}
}

// checkCommand looks for a command of the user's.
func (d *doctor) checkCommand(ctx context.Context, m member, a *agent.CLI, again bool) {
	title := "agent: " + m.o.Name
	if err := a.Check(ctx); err != nil {
		d.add(title, StatusFail, m.wrong(err), "")
		return
	}
	if !again {
		path, _ := m.o.LookPath(m.o.Command[0])
		d.add(title, StatusOK, "agent-command: "+path+"; a command of your own is not started", "")
	}
}

// checkStart asks a CLI for its version, where it finds nothing of the workspace.
func (d *doctor) checkStart(ctx context.Context, m member, from agent.Package, again bool) bool {
	title := func(what string) string { return what + ": " + m.o.Name }
	o := m.o
	o.Dir, o.Env = d.Tmp, d.outside(o.Env)
	a, err := agent.New(o)
	version := ""
	if err == nil {
		err = a.Check(ctx)
		version = a.Version()
	}
	if again {
		if err != nil {
			d.add(title("agent"), StatusFail, m.wrong(err), "")
		}
		return err == nil
	}
	if err != nil {
		version, _ = d.ask(ctx, d.Children, d.Tmp, o.Env, from.Program, "--version")
	}
	if version == "" && err != nil {
		d.add(title("version"), StatusFail, m.wrong(err), "reinstall the CLI: npm install -g "+from.Name+"@"+from.Version)
		return false
	}
	d.checkTested(title("version"), version, m, from)
	d.checkCredentials(title("credentials"), m.o.Name, err)
	return true
}

// starts says that a program is found outside of the workspace.
func (d *doctor) starts(program string) bool {
	path, err := proc.LookPath(program, d.Environ)
	return err == nil && !d.inWorkspace(path)
}

// findCLI looks for the program, and says what a run would do without it.
func (d *doctor) findCLI(title, name string, from agent.Package) (found bool) {
	path, err := proc.LookPath(from.Program, d.Environ)
	if err == nil && d.inWorkspace(path) {
		d.add(title, StatusWarn, "in the workspace, where the agent can change it, so it is not started here: "+path, "install it elsewhere: npm install -g "+from.Name)
		return false
	}
	found = err == nil
	if found && (!d.Config.Agent.Install || !d.Installation.Missing(name, from)) {
		d.add(title, StatusOK, path, "")
		return true
	}
	state := from.Program + " is not on PATH"
	if found {
		state = path + " is not " + d.Installation.Wanted(name, from).Version
	}
	root, rootErr := d.Installation.Folder()
	if !d.Config.Agent.Install || rootErr != nil {
		advice := "npm install -g " + d.Installation.Wanted(name, from).Name + "@" + d.Installation.Wanted(name, from).Version + ", or " + ralph.Option(true, "agent-install", "auto") + ", or the image that holds it, or " + ralph.Option(true, "agent-command", "COMMAND")
		if rootErr != nil {
			advice += "; " + rootErr.Error()
		}
		d.add(title, StatusFail, state, advice)
		return found
	}
	for _, need := range []string{"npm", "node"} {
		if path, err := proc.LookPath(need, d.Environ); err == nil && d.inWorkspace(path) {
			d.add(title, StatusFail, fmt.Sprintf("%s, and the %s on PATH lies in the workspace, so a run refuses to install with it", state, need), "take the workspace's folders out of PATH")
			return false
		} else if err != nil {
			d.add(title, StatusFail, fmt.Sprintf("%s, and without %s a run cannot install it", state, need),
				"install Node.js, which brings npm (in a workflow: actions/setup-node), or use the default image")
			return found
		}
	}
	if found {
		d.add(title, StatusOK, path, "")
		return true
	}
	d.add(title, StatusWarn, fmt.Sprintf("%s is not on PATH; a run would install %s from npm into %s", from.Program, d.Installation.Wanted(name, from), root), "")
	return false
}

// checkTested compares the version with the one that was asked for, as a run
// does, and with the one that was tested.
func (d *doctor) checkTested(title, version string, m member, from agent.Package) {
	said := cmp.Or(version, "it does not say")
	if d.Config.Agent.Install && d.Installation.Missing(m.o.Name, from) {
		d.add(title, StatusOK, said+"; a run would install "+d.Installation.Wanted(m.o.Name, from).Version, "")
		return
	}
	if err := d.Crew.CheckVersion(m.o, version); err != nil {
		d.add(title, StatusFail, m.wrong(err), "")
		return
	}
	if !strings.Contains(version, from.Version) {
		d.add(title, StatusWarn, said+"; tested was "+from.Version, "if it misbehaves: agent-version: "+from.Version)
		return
	}
	d.add(title, StatusOK, said+", which was tested", "")
}

// checkCredentials names the variables that are set, never what is in them. The
// CLI's adapter knows whether they will do: ready is its word.
func (d *doctor) checkCredentials(title, name string, ready error) {
	names := agent.Credentials(name) // those with keys come first
	var set []string
	for _, variable := range names {
		if d.getenv(variable) != "" {
			set = append(set, variable)
		}
	}
	if name == d.Config.Agent.Name && d.Config.Provider.APIKey.IsSet() {
		set = append(set, "api-key")
	}
	found := "set: " + strings.Join(set, ", ")
	if len(set) == 0 {
		found = "no variable with credentials is set"
	}
	switch {
	case ready != nil:
		d.add(title, StatusFail, strings.TrimPrefix(ready.Error(), fmt.Sprintf("agent %q: ", name)), "")
	case len(set) == 0 && len(names) > 0:
		d.add(title, StatusWarn, found, "the CLI may be signed in; else set "+strings.Join(names[:min(len(names), 3)], " or "))
	default:
		d.add(title, StatusOK, found, "")
	}
}

// abilities says what the adapter can do with this CLI.
func (d *doctor) abilities(name string, a *agent.CLI) string {
	yes := func(ok bool, word string) string {
		if ok {
			return word
		}
		return "no " + word
	}
	budget := "budgets can end it within an iteration, as it reports what it used"
	if len(a.Argv(ralph.Prompt{CostLeft: 1_000_000})) > len(a.Argv(ralph.Prompt{})) {
		budget = "it is told what is left of the budget"
	} else if catalog.Of(name).LateUsage {
		budget = "budgets are looked at between iterations"
	}
	return strings.Join([]string{yes(a.CanResume() == nil, "resuming of sessions"), yes(catalog.Of(name).Hooks, "hooks"), budget}, ", ")
}
