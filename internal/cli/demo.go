package cli

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/cli/demo"
	"github.com/org/ralph-action/internal/cli/output"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/run"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// demoCmd runs the action against an embedded forge with a scripted agent.
// Nothing in the pipeline knows: it finds a checkout, a runner's environment
// and a claude that happens to be ours.
type demoCmd struct {
	Keep string `help:"Folder for the demo's files; it must not exist. Default: a new temporary one." placeholder:"DIR"`
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

const (
	demoOwner = "octo"
	demoName  = "greeter"
)

// Run sets the stage, runs the action, and says where everything lies.
func (c demoCmd) Run(a *app, done *exit) error {
	dir, err := c.folder(a.getenv("TMPDIR"))
	if err != nil {
		return err
	}
	ctx, cancel := a.signals(func(string) {})
	token := randomToken()
	forge, url, shut, err := openForge(dir, token)
	if err != nil {
		cancel()
		return fmt.Errorf("demo: %w", err)
	}
	defer shut()
	checkout := filepath.Join(dir, "workspace")
	err = a.checkout(ctx, checkout, url+"/"+demoOwner+"/"+demoName, token)
	cancel() // the action listens to signals on its own
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	stage := *a
	stage.environ, err = demoEnvironment(a, dir, checkout, url, token)
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

// openForge serves a repository with a failing test on loopback.
func openForge(dir, token string) (forge *demo.Forge, url string, shut func(), err error) {
	root := filepath.Join(dir, "forge")
	if err := os.Mkdir(root, 0o700); err != nil {
		return nil, "", nil, err
	}
	if forge, err = demo.NewForge(root, token); err != nil {
		return nil, "", nil, err
	}
	if err := forge.CreateRepository(demoOwner, demoName, "main"); err != nil {
		return nil, "", nil, err
	}
	files, err := demo.Files()
	if err != nil {
		return nil, "", nil, err
	}
	if _, err := forge.Commit(demoOwner, demoName, "main", "A greeter with a failing test", files); err != nil {
		return nil, "", nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", nil, err
	}
	server := &http.Server{Handler: forge, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(l) }() // ends with Close
	return forge, "http://" + l.Addr().String(), func() { _ = server.Close(); <-served }, nil
}

// checkout does what actions/checkout does: a shallow fetch with the token in
// the repository's configuration, where it stays.
func (a *app) checkout(ctx context.Context, dir, url, token string) error {
	children, err := proc.Start(ctx, proc.Options{})
	if err != nil {
		return err
	}
	defer children.Close()
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	header := "AUTHORIZATION: basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:"+token))
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main"},
		{"remote", "add", "origin", url},
		{"config", "http." + url + ".extraheader", header},
		{"fetch", "--quiet", "--no-tags", "--depth=1", "origin", "+refs/heads/main:refs/remotes/origin/main"},
		{"checkout", "--quiet", "-B", "main", "refs/remotes/origin/main"},
	} {
		stderr := proc.Head{Max: maxAnswer}
		exit, err := children.Run(ctx, proc.Command{
			Argv: append([]string{"git"}, args...), Dir: dir, Stderr: &stderr,
			Env: []string{"PATH=" + a.getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0"},
		})
		if err != nil {
			return err
		}
		if exit.Code != 0 {
			return fmt.Errorf("git %s: %s", args[0], strings.TrimSpace(stderr.String()))
		}
	}
	return nil
}

// demoEnvironment is what a runner hands to the action.
func demoEnvironment(a *app, dir, checkout, url, token string) ([]string, error) {
	event, err := json.Marshal(map[string]any{"repository": map[string]any{"default_branch": "main", "full_name": demoOwner + "/" + demoName}})
	if err != nil {
		return nil, err
	}
	paths := map[string]string{}
	for _, name := range []string{"output", "summary.md", "event.json"} {
		paths[name] = filepath.Join(dir, name)
		err = errors.Join(err, os.WriteFile(paths[name], nil, 0o600))
	}
	if err = errors.Join(err, os.WriteFile(paths["event.json"], event, 0o600)); err != nil {
		return nil, err
	}
	env := []string{
		"GITHUB_ACTIONS=true", "CI=true",
		"GITHUB_WORKSPACE=" + checkout, "GITHUB_REPOSITORY=" + demoOwner + "/" + demoName,
		"GITHUB_SERVER_URL=" + url, "GITHUB_API_URL=" + url + "/api/v3", "GITHUB_GRAPHQL_URL=" + url + "/api/graphql",
		"GITHUB_OUTPUT=" + paths["output"], "GITHUB_STEP_SUMMARY=" + paths["summary.md"], "GITHUB_EVENT_PATH=" + paths["event.json"],
		"GITHUB_RUN_ID=1", "GITHUB_RUN_NUMBER=1", "GITHUB_RUN_ATTEMPT=1", "GITHUB_EVENT_NAME=workflow_dispatch", "GITHUB_REF=refs/heads/main", "GITHUB_REF_NAME=main",
		"GITHUB_ACTOR=" + demoOwner, "GITHUB_ACTOR_ID=1", "GITHUB_WORKFLOW=ralph", "GITHUB_JOB=ralph",
		"INPUT_PROMPT=" + demo.Task, "INPUT_GUARDRAILS=" + demo.Guardrail, "INPUT_MAX-ITERATIONS=5", "INPUT_MAX-COST-USD=1",
		"INPUT_LABELS=ralph", "INPUT_GITHUB-TOKEN=" + token,
		"INPUT_AGENT=claude", "INPUT_AGENT-COMMAND=" + strconv.Quote(a.self) + " demo-agent", "ANTHROPIC_API_KEY=" + randomToken(),
	}
	for _, name := range []string{"PATH", "HOME", "TERM", "NO_COLOR", "LANG", "LC_ALL", "TMPDIR"} {
		if v := a.getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env, nil
}

// tell shows the pull request as the forge has it, and the way to the files.
func (c demoCmd) tell(a *app, dir, checkout string, forge *demo.Forge, r ralph.Report) error {
	var b strings.Builder
	for _, pr := range forge.PullRequests(demoOwner, demoName) {
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

func randomToken() string {
	b := make([]byte, 20)
	_, _ = rand.Read(b) // never fails
	return "demo_" + hex.EncodeToString(b)
}
