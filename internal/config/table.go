package config

import (
	"time"

	"github.com/org/ralph-action/internal/ralph"
)

// DefaultFile is where the configuration file is looked for.
const DefaultFile = ".github/ralph.yml"

const (
	second = int64(time.Second)
	hour   = int64(time.Hour)
	dollar = int64(ralph.USD)
)

// table is the single list of inputs: what they are called, what they accept,
// what they default to and where they end up.
func table() []row {
	var all []row
	for _, g := range []struct {
		title string
		rows  []row
	}{
		{"Task", taskRows()},
		{"Agent", agentRows()},
		{"Loop", loopRows()},
		{"Limits", limitRows()},
		{"Machine", placeRows()},
		{"Publishing", publishRows()},
	} {
		for _, r := range g.rows {
			r.Group = g.title
			all = append(all, r)
		}
	}
	return all
}

func taskRows() []row {
	return []row{
		{Input{Name: "prompt", Short: 'p', Kind: Text, Max: maxPrompt, Placeholder: "TEXT",
			Help: "The task, as text. Give this or `prompt-file`."},
			func(l *loader, v value) { l.c.Prompt = l.prompt(v) }},
		{Input{Name: "prompt-file", Short: 'f', Kind: Path, Placeholder: "FILE",
			Help: "A file with the task, relative to the workspace; UTF-8, at most 16 MiB."},
			func(l *loader, v value) { l.c.PromptFile, l.c.Prompt = l.promptFile(v) }},
		{Input{Name: "mode", Kind: Choice, Enum: []string{"run"}, Default: "run", Placeholder: "MODE",
			Help: "The kind of loop: `run`."},
			func(l *loader, v value) { l.c.Mode = l.choice(v) }},
		{Input{Name: "config", Kind: Path, DefaultDoc: DefaultFile + " when it exists", NoFile: true, Placeholder: "FILE",
			Help: "The configuration file, relative to the workspace. A file named here must exist."},
			func(*loader, value) {}},
	}
}

func agentRows() []row {
	return []row{
		{Input{Name: "agent", Kind: Choice, Enum: []string{"claude", "text"}, Default: "claude", Placeholder: "AGENT",
			Help: "The coding agent: `claude` (Claude Code), or `text` (any command that reads the prompt on stdin and prints its answer)."},
			func(l *loader, v value) { l.c.Agent = l.choice(v) }},
		{Input{Name: "agent-command", Kind: Words, DefaultDoc: "the agent's own program", Placeholder: "COMMAND",
			Help: "The program to start and its first arguments, split as a shell would. Needed by `text`; for `claude` it replaces the program."},
			func(l *loader, v value) { l.c.AgentCommand = l.words(v) }},
		{Input{Name: "agent-args", Kind: Words, Placeholder: "ARGS",
			Help: "More arguments for the agent, split as a shell would."},
			func(l *loader, v value) { l.c.AgentArgs = l.words(v) }},
		{Input{Name: "model", Kind: Line, Max: 200, DefaultDoc: "the agent's own default", Placeholder: "NAME",
			Help: "The model the agent is asked to use."},
			func(l *loader, v value) { l.c.Model = l.model(v) }},
	}
}

func loopRows() []row {
	return []row{
		{Input{Name: "max-iterations", Short: 'm', Kind: Count, Default: "10", Max: 10_000, Zero: "no limit", Placeholder: "N",
			Help: "How often the agent is started at most."},
			func(l *loader, v value) { l.c.MaxIterations = int(l.count(v)) }},
		{Input{Name: "completion", Kind: Choice, Enum: []string{"promise", "response"}, Default: "promise", Placeholder: "KIND",
			Help: "How the agent says that it is done: `promise` looks for `<promise>TOKEN</promise>`, exactly; `response` compares the first `<response>…</response>`, ignoring case."},
			func(l *loader, v value) { l.c.Completion.Kind = ralph.CompletionKind(l.choice(v)) }},
		{Input{Name: "completion-token", Short: 'c', Kind: Line, Max: 200, DefaultDoc: "COMPLETE for promise, DONE for response", Placeholder: "TOKEN",
			Help: "The word inside the completion tag."},
			func(l *loader, v value) { l.c.Completion.Token = l.token(v) }},
		{Input{Name: "min-tool-calls", Kind: Count, Default: "1", Max: 1000, Zero: "none needed", Placeholder: "N",
			Help: "Evidence of work that completion needs: so many tool calls, or a change in the repository. From an agent that reports no tool calls, guardrails that ran and passed count, too."},
			func(l *loader, v value) { l.c.MinToolCalls = int(l.count(v)) }},
		{Input{Name: "guardrails", Kind: GuardrailList, Max: maxGuardrails, Placeholder: "COMMAND",
			Help: "Commands that must pass before the work counts as done: one per line, or a YAML list of `command`, `failAction`, `hint`, `timeout`, `when`."},
			func(l *loader, v value) { l.c.Guardrails = l.guardrails(v) }},
		{Input{Name: "on-agent-error", Kind: Choice, Enum: []string{"retry", "continue", "fail"}, Default: "retry", Placeholder: "POLICY",
			Help: "After an agent that failed: `retry` the same iteration, `continue` with the next one, or `fail`."},
			func(l *loader, v value) { l.c.OnAgentError = ralph.OnAgentError(l.choice(v)) }},
		{Input{Name: "max-retries", Kind: Count, Default: "3", Max: 100, Zero: "none", Placeholder: "N",
			Help: "Additional attempts of one iteration with `on-agent-error: retry`."},
			func(l *loader, v value) { l.c.MaxRetries = int(l.count(v)) }},
		{Input{Name: "stall-limit", Kind: Count, Default: "5", Max: 1000, Zero: "never", Placeholder: "N",
			Help: "Stop after so many iterations in a row that changed nothing or failed the same way."},
			func(l *loader, v value) { l.c.StallLimit = int(l.count(v)) }},
		{Input{Name: "on-incomplete", Kind: Choice, Enum: []string{"fail", "succeed"}, Default: "fail", Placeholder: "POLICY",
			Help: "The result of a run that stopped at a limit before it was complete: `fail` or `succeed`."},
			func(l *loader, v value) { l.c.IncompleteOK = l.choice(v) == "succeed" }},
	}
}

func limitRows() []row {
	return []row{
		{Input{Name: "max-cost-usd", Kind: Dollars, Min: 1, Max: 1_000_000 * dollar, DefaultDoc: "no limit", Placeholder: "USD",
			Help: "Stop when the run has cost this much, as the agent reports it."},
			func(l *loader, v value) { l.c.MaxCost = l.dollars(v) }},
		{Input{Name: "max-tokens", Kind: Count, Min: 1, Max: 1_000_000_000_000, DefaultDoc: "no limit", Placeholder: "N",
			Help: "Stop when the run has used this many tokens, read and written."},
			func(l *loader, v value) { l.c.MaxTokens = l.count(v) }},
		{Input{Name: "max-duration", Kind: Duration, Default: "5h30m", Min: second, Max: 120 * hour, Zero: "no limit", Placeholder: "TIME",
			Help: "Wall clock of the whole run. The default leaves time to publish within the six hours GitHub gives a job."},
			func(l *loader, v value) { l.c.MaxDuration = l.duration(v) }},
		{Input{Name: "iteration-timeout", Kind: Duration, Default: "1h", Min: second, Max: 120 * hour, Zero: "no limit", Placeholder: "TIME",
			Help: "Longest run of the agent in one iteration."},
			func(l *loader, v value) { l.c.IterationTimeout = l.duration(v) }},
		{Input{Name: "idle-timeout", Kind: Duration, Default: "15m", Min: second, Max: 120 * hour, Zero: "no limit", Placeholder: "TIME",
			Help: "Longest silence of the agent."},
			func(l *loader, v value) { l.c.IdleTimeout = l.duration(v) }},
		{Input{Name: "result-grace", Kind: Duration, Default: "30s", Min: second, Max: hour, Zero: "no limit", Placeholder: "TIME",
			Help: "How long an agent that has given its final result may take to exit."},
			func(l *loader, v value) { l.c.ResultGrace = l.duration(v) }},
		{Input{Name: "guardrail-timeout", Kind: Duration, Default: "10m", Min: second, Max: 120 * hour, Zero: "no limit", Placeholder: "TIME",
			Help: "Longest run of one guardrail."},
			func(l *loader, v value) { l.c.GuardrailTimeout = l.duration(v) }},
	}
}

func placeRows() []row {
	return []row{
		{Input{Name: "working-directory", Kind: Path, Default: ".", Placeholder: "DIR",
			Help: "Where the agent, the guardrails and `setup` run, relative to the workspace."},
			func(l *loader, v value) { l.c.WorkingDirectory = l.directory(v) }},
		{Input{Name: "setup", Kind: Lines, Max: 100, Placeholder: "COMMAND",
			Help: "Command lines that run once before the first iteration, as the agent's user."},
			func(l *loader, v value) { l.c.Setup = l.lines(v) }},
		{Input{Name: "pass-env", Kind: Names, Max: 100, Placeholder: "NAME",
			Help: "Environment variables that the agent, the guardrails and `setup` may see, by name."},
			func(l *loader, v value) { l.c.PassEnv = l.envNames(v) }},
		{Input{Name: "isolation", Kind: Choice, Enum: []string{"auto", "strict", "off"}, Default: "auto", Placeholder: "LEVEL",
			Help: "The walls around the agent: `auto` (what the machine can do), `strict` (all, or the run is refused), or `off`."},
			func(l *loader, v value) { l.c.Isolation = Isolation(l.choice(v)) }},
	}
}

func publishRows() []row {
	return []row{
		{Input{Name: "branch", Kind: Line, Max: 200, DefaultDoc: "ralph/ and words of the prompt", Placeholder: "NAME",
			Help: "The branch that receives the work. An existing one is continued."},
			func(l *loader, v value) { l.c.Branch = l.branch(v) }},
		{Input{Name: "base", Kind: Line, Max: 200, DefaultDoc: "the checked-out branch, else the repository's default branch", Placeholder: "NAME",
			Help: "The branch the pull request is made against."},
			func(l *loader, v value) { l.c.Base = l.base(v) }},
		{Input{Name: "commit-message", Kind: Text, Max: 64 << 10, DefaultDoc: "ralph: iteration N", Placeholder: "TEXT",
			Help: "The message of our commits."},
			func(l *loader, v value) { l.c.CommitMessage = l.text(v) }},
		{Input{Name: "committer", Kind: Identity, Max: 320, Default: "github-actions[bot] <41898282+github-actions[bot]@users.noreply.github.com>", Placeholder: "PERSON",
			Help: "The committer of our commits, as `Name <email>`."},
			func(l *loader, v value) { l.c.Committer = l.person(v) }},
		{Input{Name: "author", Kind: Identity, Max: 320, DefaultDoc: "who started the run, else the committer", Placeholder: "PERSON",
			Help: "The author of our commits, as `Name <email>`."},
			func(l *loader, v value) { l.c.Author = l.person(v) }},
		{Input{Name: "include-dirty", Kind: Bool, Default: "false",
			Help: "Publish also what was changed and uncommitted before the run."},
			func(l *loader, v value) { l.c.IncludeDirty = l.boolean(v) }},
		{Input{Name: "push", Kind: Choice, Enum: []string{"auto", "true", "false"}, Default: "auto", Placeholder: "WHEN",
			Help: "Push the branch: `auto` (always on a runner; at a desk when GITHUB_REPOSITORY and a token are given), `true`, or `false`."},
			func(l *loader, v value) { l.c.Push = Push(l.choice(v)) }},
		{Input{Name: "pull-request", Kind: Choice, Enum: []string{"create", "none"}, Default: "create", Placeholder: "WHAT",
			Help: "Create or update a pull request, or `none`."},
			func(l *loader, v value) { l.c.PullRequest = l.choice(v) == "create" }},
		{Input{Name: "title", Kind: Line, Max: 256, DefaultDoc: "the first words of the prompt", Placeholder: "TEXT",
			Help: "The title of the pull request."},
			func(l *loader, v value) { l.c.Title = l.line(v) }},
		{Input{Name: "body", Kind: Text, Max: 32 << 10, Placeholder: "TEXT",
			Help: "Text that stands on top of the generated description of the pull request."},
			func(l *loader, v value) { l.c.Body = l.text(v) }},
		{Input{Name: "labels", Kind: Names, Max: 100, Placeholder: "LABEL",
			Help: "Labels to add to the pull request, separated by commas or line ends."},
			func(l *loader, v value) { l.c.Labels = l.labels(v) }},
		{Input{Name: "draft", Kind: Choice, Enum: []string{"auto", "true", "always-true", "false"}, Default: "auto", Placeholder: "WHEN",
			Help: "Draft pull request: `auto` (until the run is complete and every guardrail passes), `true` (when it is created), `always-true`, or `false`."},
			func(l *loader, v value) { l.c.Draft = Draft(l.choice(v)) }},
		{Input{Name: "github-token", Kind: Secret, DefaultDoc: "the job's token; on a desk GITHUB_TOKEN or GH_TOKEN", NoFlag: true, NoFile: true,
			Help: "The token that pushes and makes the pull request. The agent never sees it."},
			func(l *loader, v value) { l.c.Token = l.secret(v) }},
		{Input{Name: "summary", Kind: Bool, Default: "true",
			Help: "Write the job summary."},
			func(l *loader, v value) { l.c.Summary = l.boolean(v) }},
		{Input{Name: "dry-run", Kind: Bool, Default: "false",
			Help: "Run the loop and say what would be published, but push nothing and make no pull request."},
			func(l *loader, v value) { l.c.DryRun = l.boolean(v) }},
	}
}
