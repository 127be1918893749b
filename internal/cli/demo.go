package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/cli/demo"
	"github.com/org/ralph-action/internal/cli/output"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/run"
)

// demoCmd runs the action against an embedded forge with a scripted agent.
// Nothing in the pipeline knows: it finds a checkout, a runner's environment
// and a claude that happens to be ours.
type demoCmd struct {
	Keep string `file:"" help:"Folder for the demo's files; it must not exist. Default: a new temporary one." placeholder:"DIR"`
}

// Help is shown below the flags.
func (demoCmd) Help() string { return "Example:\n  ralph demo" }

// demoAgentCmd plays the agent; the demo starts it as claude.
type demoAgentCmd struct {
	Args []string `arg:"" optional:"" passthrough:""`
}

const demoPause = 120 * time.Millisecond

// Run ignores claude's flags and acts its script.
func (c demoAgentCmd) Run(a *app, done *exit) error {
	if slices.Contains(c.Args, "--version") {
		_, err := fmt.Fprintln(a.stdout, "ralph demo agent")
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	*done = exit(demo.Agent(a.stdin, a.stdout, dir, demoPause))
	return nil
}

// Run sets the stage, runs the action, and says where everything lies.
func (c demoCmd) Run(a *app, done *exit) error {
	dir, err := c.folder(a.getenv("TMPDIR"))
	if err != nil {
		return err
	}
	ctx, cancel := a.signals(func(string) {})
	token := demo.Token()
	forge, url, shut, err := demo.Serve(dir, token)
	if err != nil {
		cancel()
		return fmt.Errorf("demo: %w", err)
	}
	defer shut()
	checkout := filepath.Join(dir, "workspace")
	err = demo.Checkout(ctx, checkout, url+"/"+demo.Repository, token, a.getenv("PATH"))
	cancel() // the action listens to signals on its own
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	stage := *a
	stage.environ, err = demo.Environment(dir, checkout, url, token, a.self, a.getenv)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	fmt.Fprintf(a.stdout, "A repository with a failing test, a forge and a scripted agent, all in %s.\nThe task: %s\n\n", dir, demo.Task)
	r := stage.action(func(redact *secret.Redactor) run.Printer {
		return output.NewTerminal(stage.outputTo(redact, demoOutput()))
	})
	*done = exit(r.ExitCode)
	return c.tell(a, dir, checkout, forge, r)
}

// demoDisplay is what a desk shows by default.
func demoOutput() config.Output {
	return config.Output{Stream: true, Display: config.Display{Emoji: true, Color: "auto", MaxLines: 6, MaxChars: 1000}}
}

func (c demoCmd) folder(temp string) (string, error) {
	if c.Keep == "" {
		dir, err := os.MkdirTemp(temp, "ralph-demo-")
		if err != nil {
			return "", err
		}
		return dir, os.Chmod(dir, 0o755) // as root, the agent is another user
	}
	if err := os.Mkdir(c.Keep, 0o755); err != nil {
		return "", fmt.Errorf("--keep: %w: name a folder that does not exist, in one that does", err)
	}
	return filepath.Abs(c.Keep)
}

// tell shows the pull request as the forge has it, and the way to the files.
func (c demoCmd) tell(a *app, dir, checkout string, forge *demo.Forge, r ralph.Report) error {
	var b strings.Builder
	for _, pr := range forge.PullRequests(demo.Owner, demo.Name) {
		fmt.Fprintf(&b, "\nPull request #%d on the embedded forge: %s\n", pr.Number, pr.Title)
		fmt.Fprintf(&b, "  %s -> %s, draft: %v, labels: %s\n  The forge stops with this command, so its links no longer work.\n", pr.Head, pr.Base, pr.Draft, strings.Join(pr.Labels, ", "))
	}
	fmt.Fprintf(&b, `
Look at
  the job summary, in Markdown    %s
  the same, to open in a browser  %s
  everything, for machines        %s
  the outputs for later steps     %s
  the commits                     git -C %s log -p --reverse %s
`, filepath.Join(dir, "summary.md"), filepath.Join(checkout, ".ralph", "report.html"), filepath.Join(checkout, ".ralph", "report.json"),
		filepath.Join(dir, "output"), checkout, r.Publication.Branch)
	_, err := a.stdout.WriteString(b.String())
	return err
}
