package main

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/kong"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/runner"
	"github.com/org/ralph-action/internal/secret"
)

// runCmd is the loop at a desk, or in a container without a runner.
type runCmd struct {
	kong.Plugins
	Verbose bool `short:"V" help:"Show what is in force, and where each value came from."`
	flags   config.Flags
}

// Help is shown below the flags.
func (runCmd) Help() string {
	return `Example:
  ralph run --prompt "Fix the failing tests" --guardrails "make test" --max-iterations 5

The work is committed on a branch of its own; nothing is pushed unless GITHUB_REPOSITORY and
GITHUB_TOKEN are set. Every flag is also a key of .github/ralph.yml.`
}

// Run loads flags and file and runs the pipeline in the current directory.
func (c *runCmd) Run(a *app, done *exit) error {
	workspace, err := os.Getwd()
	if err != nil {
		return err
	}
	cfg, err := config.Load(config.LoadOptions{
		Dir: workspace, Flags: c.flags.Values(), Environment: a.environment(), Defaults: a.deskDefaults(),
	})
	if err != nil {
		for _, line := range lines(err) {
			fmt.Fprintln(a.stderr, "ralph:", line)
		}
		*done = exit(ralph.Invalid.ExitCode(false))
		return nil
	}
	redact := secret.NewRedactor(a.secrets(cfg)...)
	if c.Verbose {
		for line := range strings.Lines(redact.Text(cfg.Redacted())) {
			fmt.Fprintf(a.stderr, "[ralph] %s\n", runner.Sanitize([]byte(strings.TrimSuffix(line, "\n")))) // 001-34
		}
	}
	j := &job{app: a, cfg: cfg, redact: redact, workspace: workspace, site: a.deskSite(), out: a.newTerminal(redact)}
	ctx, cancel := a.signals(j.interrupted)
	defer cancel()
	*done = exit(j.run(ctx).ExitCode)
	return nil
}

// deskDefaults are what differs at a desk: no walls, unless the image says so.
func (a *app) deskDefaults() map[string]string {
	isolation := a.getenv("RALPH_ISOLATION")
	if isolation == "" {
		isolation = string(config.IsolationOff)
	}
	return map[string]string{"isolation": isolation}
}

// deskSite is where a desk run publishes to, when it is told.
func (a *app) deskSite() runner.Context {
	site := runner.Context{
		Repository: a.getenv("GITHUB_REPOSITORY"), ServerURL: a.getenv("GITHUB_SERVER_URL"),
		APIURL: a.getenv("GITHUB_API_URL"), GraphQLURL: a.getenv("GITHUB_GRAPHQL_URL"),
	}
	if site.Repository == "" {
		return runner.Context{}
	}
	if site.ServerURL == "" {
		site.ServerURL, site.APIURL, site.GraphQLURL = "https://github.com", "https://api.github.com", "https://api.github.com/graphql"
	}
	return site
}

// lastOrder is when the run was asked to stop.
type lastOrder struct {
	mu sync.Mutex
	t  time.Time
}

func (l *lastOrder) set() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.t = time.Now()
}

func (l *lastOrder) at() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.t
}

// interrupted notes the time, then says what is going on.
func (j *job) interrupted(text string) {
	j.stop.set()
	j.out.warn(text)
}
