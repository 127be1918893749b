package cli

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/term"

	"github.com/org/ralph-action/internal/actions"
	"github.com/org/ralph-action/internal/cli/starter"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/run/rundir"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// initCmd sets the current directory up, by questions, by flags or with a
// preset.
type initCmd struct {
	Yes                bool     `short:"y" help:"Ask nothing: use the flags, what is found in the project, and the defaults."`
	Agent              string   `aliases:"agent-command" placeholder:"CMD" help:"Agent command. Default: the first of ${agents} on PATH."`
	AgentFlags         string   `placeholder:"A,B" help:"Flags of the agent, separated by commas."`
	MaxIterations      string   `placeholder:"N" help:"Maximum number of iterations. Default: 10."`
	CompletionResponse string   `placeholder:"TEXT" help:"What the agent answers when it is done. Default: DONE."`
	Guardrails         []string `aliases:"guardrail" sep:"none" placeholder:"CMD" help:"Command that must pass; may be repeated. Default: the checks found in the project."`
	NoGuardrails       bool     `help:"No guardrails, even if checks are found in the project."`
	SCMCommand         string   `name:"scm-command" placeholder:"CMD" help:"Version control command, such as git."`
	SCMTasks           string   `name:"scm-tasks" placeholder:"A,B" help:"What it does when the guardrails pass, such as commit,push."`
	Preset             string   `placeholder:"NAME" help:"Write a set of files instead of settings: ralph-loop is what 'ralph plan' and 'ralph build' start from."`
	Force              bool     `help:"Overwrite what exists, without asking."`
}

// Help is shown below the flags.
func (initCmd) Help() string {
	return `Examples:
  ralph init
  ralph init --yes --agent claude --agent-flags=--model,opus --guardrails "make test"
  ralph init --preset ralph-loop

It writes .ralph/settings.json, which 'ralph run' reads. Guardrails are proposed from make targets, package.json,
go.mod, Cargo.toml and pyproject.toml; nothing of the project is executed.`
}

// Run writes settings or a preset. Nothing is left behind when it cannot, or
// when it is interrupted.
func (c *initCmd) Run(a *app, done *exit) error {
	c.trim()
	if problems := c.problems(); len(problems) > 0 {
		return refused(problems)
	}
	if c.Preset == "" && !c.Yes && !term.IsTerminal(int(a.stdin.Fd())) {
		return errors.New("init asks questions and needs a terminal: in a script, use 'ralph init --yes' with flags (see 'ralph init --help')")
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	folder, err := starter.OpenFolder(dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	found := starter.Propose(folder.FS(), func(name string) (string, error) { return proc.LookPath(name, a.environ) })
	switch {
	case c.Preset != "":
		return errors.Join(c.preset(a, folder, found), ignoreState(dir))
	case c.Yes:
		err = c.script(a, folder, found)
	default:
		err = c.interview(a, folder, found)
	}
	if err == nil {
		err = ignoreState(dir)
	}
	if errors.Is(err, starter.ErrStopped) {
		fmt.Fprintln(a.stderr, "\nralph: interrupted, nothing was written")
		*done = exit(ralph.Interrupted.ExitCode(false))
		return nil
	}
	return err
}

// ignoreState keeps the state of runs, and settings.local.json, out of a git
// add -A that comes before the first run.
func ignoreState(dir string) error {
	files, err := rundir.Open(dir, rundir.OwnerOf(dir))
	if err != nil {
		return err
	}
	return files.Close()
}

// interview shows what there is, asks, and writes.
func (c *initCmd) interview(a *app, folder *starter.Folder, found starter.Proposal) error {
	ctx, cancel := a.signals(func(text string) { fmt.Fprint(a.stderr, "\n"+text) })
	defer cancel()
	talk := starter.NewDialogue(ctx.Done(), a.stdin, a.stdout)
	talk.Absent = a.absent
	existing, err := folder.Existing()
	if err != nil {
		return err
	}
	if existing.Found && !c.Force {
		a.show(existing)
		yes, err := talk.Confirm("Overwrite?", false)
		if err != nil || !yes {
			return err
		}
		fmt.Fprintln(a.stdout)
	}
	settings, err := talk.Interview(found)
	if err != nil {
		return err
	}
	if err := folder.WriteSettings(settings, existing.Found); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout)
	return a.wrote(settings, len(found.Guardrails) == 0)
}

// wrote says where settings are, and that nothing would check the agent's work where the
// project has shown no checks.
func (a *app) wrote(s starter.Settings, unchecked bool) error {
	_, err := fmt.Fprintf(a.stdout, "Settings written to %s\n", starter.SettingsPath)
	if unchecked && len(s.Guardrails) == 0 {
		fmt.Fprintf(a.stdout, "No guardrails were written, as no checks were found in the project, so nothing checks the agent's work: "+
			"add some under guardrails in %s, or give a run --guardrails \"make test\".\n", starter.SettingsPath)
	}
	return err
}

// absent warns of an agent that cannot be started yet; empty: nothing is wrong with it.
func (a *app) absent(command string) string {
	program := starter.Program(command)
	if _, err := proc.LookPath(program, a.environ); err == nil {
		return ""
	}
	return fmt.Sprintf("agent %q: there is no such program on PATH: install it, or correct agent.command in %s", program, starter.SettingsPath)
}

// show prints the settings that are there. They are the project's text.
func (a *app) show(e starter.Existing) {
	put := func(text string) {
		for line := range strings.Lines(text) {
			fmt.Fprintf(a.stdout, "%s\n", actions.Sanitize([]byte(strings.TrimSuffix(line, "\n"))))
		}
	}
	for _, problem := range e.Problems {
		put(problem)
	}
	put(e.Text)
	switch {
	case e.Local:
		fmt.Fprintln(a.stdout, "Loaded from .ralph/settings.json (with local overlay from settings.local.json)")
	case e.Text != "":
		fmt.Fprintln(a.stdout, "Loaded from .ralph/settings.json")
	}
}

// script writes what the flags say. They were checked before.
func (c *initCmd) script(a *app, folder *starter.Folder, found starter.Proposal) error {
	s := starter.Defaults()
	if s.Agent.Command = c.Agent; c.Agent == "" {
		s.Agent.Command = found.Agent
	}
	if s.Agent.Command == "" {
		return fmt.Errorf("none of %s is on PATH: name an agent with --agent", strings.Join(starter.Agents(), ", "))
	}
	s.Agent.Flags, _ = starter.Flags(c.AgentFlags)
	if c.MaxIterations != "" {
		s.MaximumIterations, _ = starter.Iterations(c.MaxIterations)
	}
	if c.CompletionResponse != "" {
		s.CompletionResponse = c.CompletionResponse
	}
	for _, command := range c.Guardrails {
		s.Guardrails = append(s.Guardrails, starter.Guardrail{Command: command, FailAction: starter.Append})
	}
	if len(c.Guardrails) == 0 && !c.NoGuardrails {
		s.Guardrails = append(s.Guardrails, found.Guardrails...)
	}
	if c.SCMCommand != "" {
		s.SCM = &starter.SCM{Command: c.SCMCommand, Tasks: starter.Commas(c.SCMTasks)}
	}
	if err := folder.WriteSettings(s, c.Force); errors.Is(err, starter.ErrExists) {
		return fmt.Errorf("%w: --force overwrites it", err)
	} else if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "Agent: %s\n", s.Agent.Command)
	for _, g := range s.Guardrails {
		fmt.Fprintf(a.stdout, "Guardrail: %s\n", g.Command)
	}
	if warning := a.absent(s.Agent.Command); warning != "" {
		fmt.Fprintln(a.stderr, "ralph: "+warning)
	}
	return a.wrote(s, !c.NoGuardrails && len(found.Guardrails) == 0)
}

// preset writes the files of `ralph plan` and `ralph build`.
func (c *initCmd) preset(a *app, folder *starter.Folder, found starter.Proposal) error {
	agent := c.Agent
	if agent == "" {
		agent = found.Agent
	}
	if agent == "" {
		agent = starter.Agents()[0]
		fmt.Fprintf(a.stdout, "None of %s is on PATH: AGENT_TYPE is %s until you change it.\n", strings.Join(starter.Agents(), ", "), agent)
	}
	w, err := folder.WritePreset(agent, c.Force)
	for _, name := range w.Files {
		fmt.Fprintln(a.stdout, "Wrote", name)
	}
	for _, name := range w.Kept {
		fmt.Fprintf(a.stdout, "Kept %s, which exists: --force overwrites it\n", name)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.stdout, "\nDescribe in specs/ what is wanted, then run: ralph plan")
	return err
}

// trim takes the blanks off that an answer would lose, too.
func (c *initCmd) trim() {
	for _, text := range []*string{&c.Agent, &c.MaxIterations, &c.CompletionResponse, &c.SCMCommand} {
		*text = strings.TrimSpace(*text)
	}
	for i, command := range c.Guardrails {
		c.Guardrails[i] = strings.TrimSpace(command)
	}
}

// problems lists everything that is wrong with the flags.
func (c *initCmd) problems() []string {
	var list []string
	wrong := func(flag, value string, err error) {
		if err != nil {
			list = append(list, "flag "+flag+": "+strconv.Quote(value)+": "+err.Error())
		}
	}
	given := map[string]bool{
		"--agent": c.Agent != "", "--agent-flags": c.AgentFlags != "", "--max-iterations": c.MaxIterations != "",
		"--completion-response": c.CompletionResponse != "", "--guardrails": len(c.Guardrails) > 0, "--no-guardrails": c.NoGuardrails,
		"--scm-command": c.SCMCommand != "", "--scm-tasks": c.SCMTasks != "",
	}
	for _, flag := range slices.Sorted(maps.Keys(given)) {
		switch {
		case !given[flag]:
		case c.Preset != "" && flag != "--agent":
			list = append(list, "flag "+flag+": --preset takes --agent and --force only")
		case c.Preset == "" && !c.Yes:
			list = append(list, "flag "+flag+": it needs --yes; without --yes init asks")
		}
	}
	switch {
	case c.Preset != "" && c.Preset != starter.PresetName:
		wrong("--preset", c.Preset, errors.New("the one preset is "+starter.PresetName))
	case c.Preset != "" && c.Agent != "" && !slices.Contains(starter.PresetAgents(), c.Agent):
		wrong("--agent", c.Agent, errors.New("with --preset give one of "+strings.Join(starter.PresetAgents(), ", ")))
	}
	if c.Preset == "" {
		wrong("--agent", c.Agent, starter.Command(c.Agent))
	}
	_, err := starter.Flags(c.AgentFlags)
	wrong("--agent-flags", c.AgentFlags, err)
	if c.MaxIterations != "" {
		_, err := starter.Iterations(c.MaxIterations)
		wrong("--max-iterations", c.MaxIterations, err)
	}
	wrong("--completion-response", c.CompletionResponse, errors.Join(starter.Line(c.CompletionResponse), starter.Completion(c.CompletionResponse)))
	for _, command := range c.Guardrails {
		err := starter.Line(command)
		if command == "" {
			err = errors.New("give a command")
		}
		wrong("--guardrails", command, err)
	}
	if c.NoGuardrails && len(c.Guardrails) > 0 {
		list = append(list, "flag --no-guardrails: it contradicts --guardrails")
	}
	wrong("--scm-command", c.SCMCommand, starter.Words(c.SCMCommand))
	wrong("--scm-tasks", c.SCMTasks, starter.Line(c.SCMTasks))
	if (c.SCMCommand == "") != (len(starter.Commas(c.SCMTasks)) == 0) {
		list = append(list, "flags --scm-command and --scm-tasks: give both or none, such as --scm-command git --scm-tasks commit")
	}
	return list
}
