package demo

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
	"strconv"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/sandbox/proc"
)

// The repository of the demo.
const (
	Owner      = "octo"
	Name       = "greeter"
	Repository = Owner + "/" + Name
)

// Serve serves a repository with a failing test on loopback.
func Serve(dir, token string) (forge *Forge, url string, shut func(), err error) {
	root := filepath.Join(dir, "forge")
	if err := os.Mkdir(root, 0o700); err != nil {
		return nil, "", nil, err
	}
	if forge, err = NewForge(root, token); err != nil {
		return nil, "", nil, err
	}
	if err := forge.CreateRepository(Owner, Name, "main"); err != nil {
		return nil, "", nil, err
	}
	files, err := Files()
	if err != nil {
		return nil, "", nil, err
	}
	if _, err := forge.Commit(Owner, Name, "main", "A greeter with a failing test", files); err != nil {
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

// Checkout does what actions/checkout does: a shallow fetch with the token in
// the repository's configuration, where it stays.
func Checkout(ctx context.Context, dir, url, token, path string) error {
	children, err := proc.Start(ctx, proc.Options{})
	if err != nil {
		return err
	}
	defer children.Close()
	header := "AUTHORIZATION: basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:"+token))
	stderr := proc.Head{Max: 4 << 10}
	exit, err := children.Run(ctx, proc.Command{
		Argv:   []string{"git", "clone", "--quiet", "--no-tags", "--depth=1", "--config", "http." + url + ".extraheader=" + header, url, dir},
		Dir:    filepath.Dir(dir),
		Stderr: &stderr,
		Env:    []string{"PATH=" + path, "HOME=" + filepath.Dir(dir), "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0"},
	})
	if err == nil && exit.Code != 0 {
		err = fmt.Errorf("git clone: %s", strings.TrimSpace(stderr.String()))
	}
	return err
}

// Environment is what a runner hands to the action.
func Environment(dir, checkout, url, token, self string, getenv func(string) string) ([]string, error) {
	event, err := json.Marshal(map[string]any{"repository": map[string]any{"default_branch": "main", "full_name": Repository}})
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
		"GITHUB_WORKSPACE=" + checkout, "GITHUB_REPOSITORY=" + Repository,
		"GITHUB_SERVER_URL=" + url, "GITHUB_API_URL=" + url + "/api/v3", "GITHUB_GRAPHQL_URL=" + url + "/api/graphql",
		"GITHUB_OUTPUT=" + paths["output"], "GITHUB_STEP_SUMMARY=" + paths["summary.md"], "GITHUB_EVENT_PATH=" + paths["event.json"],
		"GITHUB_RUN_ID=1", "GITHUB_RUN_NUMBER=1", "GITHUB_RUN_ATTEMPT=1", "GITHUB_EVENT_NAME=workflow_dispatch", "GITHUB_REF=refs/heads/main", "GITHUB_REF_NAME=main",
		"GITHUB_ACTOR=" + Owner, "GITHUB_ACTOR_ID=1", "GITHUB_WORKFLOW=ralph", "GITHUB_JOB=ralph",
		"INPUT_PROMPT=" + Task, "INPUT_GUARDRAILS=" + Guardrail, "INPUT_MAX-ITERATIONS=5", "INPUT_MAX-COST-USD=1",
		"INPUT_LABELS=ralph", "INPUT_GITHUB-TOKEN=" + token,
		"INPUT_AGENT=claude", "INPUT_AGENT-COMMAND=" + strconv.Quote(self) + " demo-agent", "ANTHROPIC_API_KEY=" + Token(),
	}
	env = append(env, "HOME="+dir) // the user's own has caches, which are not the demo's
	for _, name := range []string{"PATH", "TERM", "NO_COLOR", "LANG", "LC_ALL", "TMPDIR"} {
		if v := getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env, nil
}

// Token is a credential of the demo alone.
func Token() string {
	b := make([]byte, 20)
	_, _ = rand.Read(b) // never fails
	return "demo_" + hex.EncodeToString(b)
}
