package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/org/ralph-action/internal/agent"
	"github.com/org/ralph-action/internal/install"
	"github.com/org/ralph-action/internal/proc"
	"github.com/org/ralph-action/internal/ralph"
)

// checkCLI looks at one agent: its program, its version, its credentials, what it
// can do.
func (d *doctor) checkCLI(ctx context.Context, name string) {
	title := func(what string) string { return what + ": " + name }
	own := name == d.cfg.Agent && len(d.cfg.AgentCommand) > 0
	from, packaged := agent.PackageOf(name)
	if !own && packaged && !d.findCLI(title("agent"), name, from) {
		d.checkCredentials(title("credentials"), name, nil)
		return
	}
	model := d.cfg.Model
	if name != d.cfg.Agent {
		model = ""
	}
	o := d.agentOptions(name, model)
	o.Dir = d.temp.tmp // nothing of the workspace is looked at by the CLI
	if own {
		o.Command = d.cfg.AgentCommand
	}
	if name == d.cfg.Agent {
		o.Args, _ = agent.Modern(name, d.cfg.AgentArgs)
		o.Exact = d.cfg.AgentExact
		o.ExactArgs, _ = agent.Modern(name, d.cfg.AgentExactArgs)
	}
	err := error(nil)
	if name == d.cfg.Agent {
		o.Effort, o.Provider, o.BaseURL, o.Settings = d.cfg.Effort, d.cfg.Provider, d.cfg.BaseURL, d.cfg.AgentSettings
		o.Filters, o.Delivery = d.cfg.AgentFilters, d.cfg.AgentPrompt
		err = d.withKey(&o)
	}
	var a *agent.CLI
	if err == nil {
		a, err = agent.New(o)
	}
	if err != nil {
		d.add(title("agent"), statusFail, err.Error(), "correct the option, or choose another agent")
		return
	}
	if own {
		if path, err := d.lookPath(d.cfg.AgentCommand[0]); err != nil {
			d.add(title("agent"), statusFail, fmt.Sprintf("agent-command: %q is not found", d.cfg.AgentCommand[0]), "is agent-command right, and installed?")
		} else {
			d.add(title("agent"), statusOK, "agent-command: "+path+"; a command of your own is not started", "")
		}
	} else {
		err = a.Check(ctx)
		version := a.Version()
		if err != nil {
			version, _ = d.ask(ctx, d.children, d.temp.tmp, from.Program, "--version")
		}
		if version == "" {
			d.add(title("version"), statusFail, fmt.Sprint(err), "install the CLI anew: npm install -g "+from.Name+"@"+from.Version)
			return
		}
		d.checkVersion(title("version"), version, from)
		d.checkCredentials(title("credentials"), name, err)
	}
	d.add(title("abilities"), statusOK, d.abilities(name, a), "")
	if d.cfg.Resume && name == d.cfg.Agent {
		if err := a.CanResume(); err != nil {
			d.add(title("session"), statusFail, "session: resume: "+err.Error(), "set session: fresh")
		}
	}
}

// useInstalled puts what an earlier run installed on PATH, as a run does before
// it builds its walls.
func (d *doctor) useInstalled() {
	root, err := d.agentsFolder()
	if err != nil || !d.cfg.AgentInstall {
		return
	}
	for _, name := range d.agents() {
		from, ok := agent.PackageOf(name)
		if _, err := proc.LookPath(from.Program, d.app.environ); !ok || err == nil {
			continue
		}
		if in, ok, err := install.Find(root, d.wanted(name, from)); err == nil && ok {
			d.useProgram(in.Bin)
		}
	}
}

// wanted is the package a run would install.
func (d *doctor) wanted(name string, from agent.Package) install.Package {
	p := install.Package(from)
	if name == d.cfg.Agent && d.cfg.AgentVersion != "" {
		p.Version = d.cfg.AgentVersion
	}
	return p
}

// findCLI looks for the program, and says what a run would do without it.
func (d *doctor) findCLI(title, name string, from agent.Package) (found bool) {
	path, err := proc.LookPath(from.Program, d.app.environ)
	if err == nil && d.inWorkspace(path) {
		d.add(title, statusWarn, "in the workspace, where the agent can change it, so it is not started here: "+path, "install it elsewhere: npm install -g "+from.Name)
		return false
	}
	if err == nil {
		d.add(title, statusOK, path, "")
		return true
	}
	root, rootErr := d.agentsFolder()
	if !d.cfg.AgentInstall || rootErr != nil {
		advice := "npm install -g " + from.Name + "@" + from.Version + ", or agent-install: auto, or the image that holds it, or agent-command"
		if rootErr != nil {
			advice += "; " + rootErr.Error()
		}
		d.add(title, statusFail, from.Program+" is not on PATH", advice)
		return false
	}
	for _, need := range []string{"npm", "node"} {
		if _, err := proc.LookPath(need, d.app.environ); err != nil {
			d.add(title, statusFail, fmt.Sprintf("%s is not on PATH, and without %s a run cannot install it", from.Program, need),
				"install Node.js, which brings npm (in a workflow: actions/setup-node), or use the full image")
			return false
		}
	}
	d.add(title, statusWarn, fmt.Sprintf("%s is not on PATH; a run would install %s from npm into %s", from.Program, d.wanted(name, from), root), "")
	return false
}

func (d *doctor) checkVersion(title, version string, from agent.Package) {
	switch {
	case strings.Contains(version, from.Version):
		d.add(title, statusOK, version+", which was tested", "")
	case d.cfg.AgentVersion != "" && !strings.Contains(version, d.cfg.AgentVersion) && d.cfg.AgentInstall:
		d.add(title, statusOK, version+"; a run would install "+d.cfg.AgentVersion, "")
	default:
		d.add(title, statusWarn, version+"; tested was "+from.Version, "if it misbehaves: agent-version: "+from.Version)
	}
}

// checkCredentials names the variables that are set, never what is in them. The
// CLI's adapter knows whether they will do: ready is its word.
func (d *doctor) checkCredentials(title, name string, ready error) {
	names := agent.Credentials(name) // those with keys come first
	var set []string
	for _, variable := range names {
		if d.app.getenv(variable) != "" {
			set = append(set, variable)
		}
	}
	if name == d.cfg.Agent && d.cfg.APIKey.IsSet() {
		set = append(set, "api-key")
	}
	found := "set: " + strings.Join(set, ", ")
	if len(set) == 0 {
		found = "no variable with credentials is set"
	}
	switch {
	case ready != nil:
		d.add(title, statusFail, strings.TrimPrefix(ready.Error(), fmt.Sprintf("agent %q: ", name)), "")
	case len(set) == 0 && len(names) > 0:
		d.add(title, statusWarn, found, "the CLI may be signed in; else set "+strings.Join(names[:min(len(names), 3)], " or "))
	default:
		d.add(title, statusOK, found, "")
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
	budget := "budgets stop it as its stream tells what was used, and between iterations"
	if len(a.Argv(ralph.Prompt{CostLeft: 1_000_000})) > len(a.Argv(ralph.Prompt{})) {
		budget = "it is told what is left of the budget"
	}
	return strings.Join([]string{yes(a.CanResume() == nil, "resuming of sessions"), yes(agent.HasHooks(name), "hooks"), budget}, ", ")
}
