package config_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/config/problem"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/sandbox/hosts"
)

// workspace makes a folder with files; a name that ends with a slash is a
// folder.
func workspace(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[name]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// with is a set of inputs that is valid without more, and more.
func with(pairs ...string) map[string]string {
	m := map[string]string{"prompt": "make the tests pass"}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return m
}

func load(t *testing.T, inputs map[string]string) (config.Config, error) {
	t.Helper()
	return config.Load(asAction(t.TempDir(), inputs))
}

// asAction hands values to the action: as inputs, or as flags where there is no such
// input.
func asAction(dir string, values map[string]string) config.LoadOptions {
	o := config.LoadOptions{Dir: dir, Inputs: maps.Clone(values), Flags: map[string]string{}}
	for _, in := range config.Inputs() {
		for _, name := range append([]string{in.Name}, in.Aliases...) {
			if value, ok := values[name]; ok && !slices.Contains(in.ActionNames(), name) {
				delete(o.Inputs, name)
				o.Flags[name] = value
			}
		}
	}
	return o
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	c, err := load(t, with())
	if err != nil {
		t.Fatal(err)
	}
	want := config.Config{
		Mode:   "run",
		Prompt: config.Prompt{Text: "make the tests pass", Home: ".ralph"},
		Agent:  config.Agent{Name: "claude", Install: true, Prompt: "stdin"},
		Loop: config.Loop{
			Completion: ralph.Completion{Kind: ralph.CompletionPromise, Token: "COMPLETE", Either: true}, MaxIterations: 10, MinToolCalls: 1,
			StallLimit: 5, MaxRetries: 3, OnAgentError: ralph.RetryOnError, CompletionRule: true, IterationCount: true,
			RetryDelay: 2 * time.Second,
		},
		Output: config.Output{
			Stream: true, Display: config.Display{Emoji: true, Color: "auto", Timestamps: true, MaxLines: 40, MaxChars: 4000},
		},
		Checks: config.Checks{Baseline: true, TruncateChars: 5000},
		Limits: config.Limits{
			ChildWait: 5 * time.Minute, Guardrail: 10 * time.Minute, Iteration: time.Hour, Idle: 15 * time.Minute,
			ResultGrace: 30 * time.Second, Duration: 5*time.Hour + 30*time.Minute, QuotaWait: 6 * time.Hour, FreeDisk: 200_000_000,
		},
		Git: config.Git{
			Commit: config.CommitEach, WorkingDirectory: ".",
			Committer: config.Person{Name: "github-actions[bot]", Email: "41898282+github-actions[bot]@users.noreply.github.com"},
			Push:      config.PushAuto,
		},
		Sandbox: config.Sandbox{Isolation: config.IsolationAuto, DefaultHosts: true},
		PullRequest: config.PullRequest{
			Wanted: true, Draft: config.DraftAuto, MaintainersCanModify: true, CITimeout: time.Hour, CIStart: 2 * time.Minute,
		},
		Tasks:    config.Tasks{RalphDir: "ralph", ReviewCap: 5},
		Trigger:  config.Trigger{Command: "/ralph", Label: "ralph", Use: config.EventAuto, Comment: true},
		Provider: config.Provider{KeyProxy: true},
		Content: config.Content{
			ProtectedPaths: []string{"default"}, ProtectedPolicy: config.ContentLeaveOut, SecretScan: config.ContentBlock, MaxFiles: 2000,
			MaxBytes: 100_000_000,
		},
	}
	if got := plain(c); !reflect.DeepEqual(got, want) {
		t.Errorf("Load(prompt) =\n%+v, want\n%+v", got, want)
	}
}

// plain is the exported part of a Config without its sources.
func plain(c config.Config) config.Config {
	var p config.Config
	from, to := reflect.ValueOf(c), reflect.ValueOf(&p).Elem()
	for i := range from.NumField() {
		if f := from.Type().Field(i); f.IsExported() && f.Name != "Sources" {
			to.Field(i).Set(from.Field(i))
		}
	}
	return p
}

func TestEveryInputArrives(t *testing.T) {
	t.Parallel()
	dir := workspace(t, map[string]string{"sub/dir/": "", "task.md": "do it\n"})
	c, err := config.Load(asAction(dir, map[string]string{
		"prompt-file": "task.md", "mode": "run", "agent": "Text", "agent-command": `my-agent --sys "be brief" a\ b`,
		"agent-args": "--x 'y z'\n--w", "model": "opus", "max-iterations": " 7 ", "completion": "response",
		"min-tool-calls": "0", "guardrails": "go vet ./...\n\n# slow\n  go test ./... \r\n", "guardrail-timeout": "1m",
		"iteration-timeout": "90s", "idle-timeout": "0", "result-grace": "5s", "max-duration": "1h30m", "max-retries": "0",
		"on-agent-error": "continue", "stall-limit": "0",
		"on-incomplete": "succeed", "working-directory": "./sub//dir/", "setup": "npm ci\n# no\nmake gen", "pass-env": "B, A\nB",
		"branch": "ralph/x", "base": "release#1", "commit-message": "fix: it\n\nbody", "committer": "C <c@x>",
		"author": "A B <a@x>", "push": "false", "pull-request": "none", "title": " A title ", "body": "more\nlines",
		"labels": "a, b c\nd,,a", "draft": "always-true", "github-token": " ghp_secret\n",
		"dry-run": "TRUE", "include-dirty": "True", "isolation": "strict",
		"output-format": "TEXT", "response-filter": ".text", "display-filter": "jq -r .x", "stream-agent-output": "false",
		"completion-rule": "false", "include-iteration-count": "false", "baseline": "false", "output-truncate-chars": "100", "retry-delay": "0", "delay": "1500ms",
		"child-wait-timeout": "10s", "poll-interval": "2s", "commit": "agent", "scm-command": "git -C x", "scm-tasks": "commit, add -A\npush",
		"emoji": "false", "color": "never", "timestamps": "true", "max-output-lines": "0", "max-output-chars": "7",
		"quota-wait": "1m", "pricing": ` {"models": {}} `, "append-system-prompt": "be\nbrief", "fallback-agent": "codex", "fallback-model": "m",
		"add-paths": "src, :!docs\n*.go,:(exclude,glob)a/**", "branch-suffix": "random", "update-base": "merge", "delete-branch": "true", "push-to-fork": "bot/repo",
		"signoff": "true", "sign-commits": "true", "assignees": "@a, b", "reviewers": "b-c", "team-reviewers": "octo/y,x\norg/x", "milestone": "3",
		"maintainer-can-modify": "false", "wait-for-ci": "true", "ci-timeout": "5m", "ci-start-timeout": "0", "merge": "auto", "merge-method": "squash",
		"max-total-cost-usd": "", "use-event": "never", "trigger-command": "/go", "trigger-label": "go on", "allow-bots": "renovate[bot]", "issue-comment": "false",
		"allowed-hosts": "example.com, *.example.org:8080\ntcp://db:5432", "default-hosts": "false", "key-proxy": "off", "max-memory": "1.5GiB", "max-processes": "100",
		"min-free-disk": "0", "protected-paths": "default, /deploy/\n*.pem", "protected-paths-policy": "draft", "secret-scan": "off", "secret-scan-allow": "testdata/",
		"max-changed-files": "0", "max-changed-bytes": "5 mb",
		"services": `{
  "redis": {"id": "c0ffee", "network": "github_network_1", "ports": {"6379": "49153", "8001": "8001"}},
  "My_DB": {"id": "c0ffee", "ports": {}}
}`,
	}))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Git.Token.Reveal(); got != "ghp_secret" {
		t.Errorf("Token = %q, want ghp_secret", got)
	}
	if got := c.Sandbox.AllowedHosts.String(); got != "example.com *.example.org:8080 tcp://db:5432" {
		t.Errorf("AllowedHosts = %s", got)
	}
	if len(c.Warnings) == 0 {
		t.Error("no warnings, want those about what has no effect")
	}
	c.Warnings = nil
	want := config.Config{
		Mode:   "run",
		Prompt: config.Prompt{Text: "do it\n", File: "task.md", Home: ".ralph"},
		Agent: config.Agent{
			Name: "text", Command: []string{"my-agent", "--sys", "be brief", "a b"}, Args: []string{"--x", "y z", "--w"}, Model: "opus",
			Install: true, Prompt: "stdin", System: "be\nbrief", Fallback: "codex", FallbackModel: "m",
		},
		Loop: config.Loop{
			Completion: ralph.Completion{Kind: ralph.CompletionResponse, Token: "DONE"}, MaxIterations: 7, OnAgentError: ralph.ContinueOnError,
			IncompleteOK: true, Delay: 1500 * time.Millisecond,
		},
		Checks: config.Checks{
			Guardrails: []config.Guardrail{
				{Command: "go vet ./...", FailAction: ralph.Append, Timeout: time.Minute, When: config.Always},
				{Command: "go test ./...", FailAction: ralph.Append, Timeout: time.Minute, When: config.Always},
			},
			Setup: []string{"npm ci", "make gen"}, TruncateChars: 100,
		},
		Sandbox: config.Sandbox{PassEnv: []string{"A", "B"}, Isolation: config.IsolationStrict, AllowedHosts: c.Sandbox.AllowedHosts,
			Services: []hosts.Service{{Name: "my_db"}, {Name: "redis", Port: 6379, Published: 49153}, {Name: "redis", Port: 8001, Published: 8001}}},
		Limits: config.Limits{
			Guardrail: time.Minute, Iteration: 90 * time.Second, ResultGrace: 5 * time.Second, Duration: 90 * time.Minute,
			ChildWait: 10 * time.Second, QuotaWait: time.Minute, Memory: 3 << 29, Processes: 100,
		},
		Git: config.Git{
			WorkingDirectory: "sub/dir", IncludeDirty: true, Branch: "ralph/x", Base: "release#1", Message: "fix: it\n\nbody",
			Committer: config.Person{Name: "C", Email: "c@x"}, Author: config.Person{Name: "A B", Email: "a@x"}, Push: config.PushNever,
			Token: c.Git.Token, Commit: config.CommitAgent,
			SCM:      config.SCM{Command: []string{"git", "-C", "x"}, Tasks: [][]string{{"commit"}, {"add", "-A"}, {"push"}}},
			AddPaths: []string{"src", ":!docs", "*.go", ":(exclude,glob)a/**"}, BranchSuffix: config.SuffixRandom,
			UpdateBase: config.UpdateMerge, PushToFork: "bot/repo", Signoff: true, SignCommits: true,
		},
		DryRun: true,
		PullRequest: config.PullRequest{
			Title: "A title", Body: "more\nlines", Labels: []string{"a", "b c", "d"}, Draft: config.DraftAlways, DeleteBranch: true,
			Assignees: []string{"a", "b"}, Reviewers: []string{"b-c"}, TeamReviewers: []string{"x", "y"}, Milestone: 3, WaitForCI: true,
			CITimeout: 5 * time.Minute, AutoMerge: true, MergeMethod: config.MergeSquash,
		},
		Output: config.Output{
			Format: "text", ResponseFilter: ".text", DisplayFilter: "jq -r .x",
			Display: config.Display{Color: "never", Timestamps: true, MaxChars: 7},
		},
		Tasks:    config.Tasks{RalphDir: "ralph", ReviewCap: 5},
		Provider: config.Provider{Pricing: `{"models": {}}`},
		Trigger:  config.Trigger{Command: "/go", Label: "go on", AllowBots: []string{"renovate[bot]"}, Use: config.EventNever},
		Content: config.Content{
			ProtectedPaths: []string{"default", "/deploy/", "*.pem"}, ProtectedPolicy: config.ContentDraft, SecretScan: config.ContentOff,
			SecretScanAllow: []string{"testdata/"}, MaxBytes: 5_000_000,
		},
	}
	if got := plain(c); !reflect.DeepEqual(got, want) {
		t.Errorf("Load =\n%+v, want\n%+v", got, want)
	}
}

// Every row of the table can be set from every source it claims.
func TestSourcesOfEveryInput(t *testing.T) {
	t.Parallel()
	dir := workspace(t, map[string]string{"f": "text", "empty.yml": "", "o.json": "{}"})
	sample := func(in config.Input) string {
		switch in.Name {
		case "mcp-config", "agent-settings", "pricing":
			return "o.json"
		case "append-system-prompt":
			return "'@f'"
		case "base-url":
			return "https://models.example.com/v1"
		case "agent-version":
			return "1.2.3"
		case "push-to-fork":
			return "octo/hello"
		case "cache-dirs":
			return "npm"
		case "allowed-hosts":
			return "example.com"
		case "services":
			return "{}"
		case "publish":
			return "bundle"
		case "lane":
			return "w1-L001-0123456789ab"
		case "lanes":
			return "lanes"
		case "max-processes":
			return "100"
		case "agent-filters":
			return "'text: .x'"
		}
		if in.Default != "" {
			return in.Default
		}
		switch in.Kind {
		case config.Path:
			return map[string]string{"prompt-file": "f", "body-path": "f", "config": "empty.yml", "task-dir": "task"}[in.Name]
		case config.Choice:
			return in.Enum[0]
		case config.Identity:
			return "A <a@b>"
		case config.Count, config.Dollars:
			return "5"
		default:
			return "sample"
		}
	}
	tasks, session := map[string]string{"mode": "tasks"}, map[string]string{"mode": "session"}
	lane := map[string]string{"mode": "tasks", "stories": "US-1", "lane": "w1-L001-0123456789ab", "publish": "bundle"}
	integrate := map[string]string{"mode": "integrate", "lanes": "."}
	custom := map[string]string{"agent": "custom", "agent-command": "x", "response-filter": ".x"}
	for _, in := range config.Inputs() {
		base := map[string]string{}
		if in.Name == "fallback-agent" {
			base["model"] = "m"
		}
		if in.Name != "prompt" && in.Name != "prompt-file" {
			base["prompt"] = "go"
		}
		maps.Copy(base, map[string]map[string]string{
			"ralph-dir": tasks, "stories": tasks, "parallel": tasks, "publish": lane, "lane": lane, "lanes": lane, "on-conflict": integrate, "skip-review": tasks, "review-cap": tasks, "review-cap-policy": tasks, "review-agent": tasks, "review-model": tasks,
			"agent-prompt": custom, "agent-filters": custom,
			"ultrawork": session, "ultrawork-prompt": session,
			"task-dir": {"completion": "done-file"}, "max-restarts": {"completion": "done-file", "task-dir": "task"}, "scm-tasks": {"scm-command": "git"},
		}[in.Name])
		check := func(o config.LoadOptions, want string) {
			t.Helper()
			c, err := config.Load(o)
			if err != nil {
				t.Errorf("Load(%s = %q) = %v", in.Name, sample(in), err)
			}
			if got := c.Sources[in.Name]; got != want {
				t.Errorf("Sources[%s] = %q, want %q", in.Name, got, want)
			}
		}
		set := maps.Clone(base)
		given := strings.Trim(sample(in), "'")
		set[in.Name] = given
		if !in.NoAction {
			check(asAction(dir, set), "input "+in.Name)
		}
		o := asAction(dir, base)
		o.Flags[in.Name] = given
		check(o, "flag --"+in.Name)
		if !in.NoFile {
			file := filepath.Join(t.TempDir(), "c.yml")
			if err := os.WriteFile(file, []byte(in.Name+": "+sample(in)+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			// Without a sandbox, a file may set everything.
			o := asAction(dir, base)
			o.Flags["config"], o.Defaults = file, map[string]string{"isolation": "off"}
			check(o, file+":1: "+in.Name)
		}
	}
}

// A file of the repository, which the agent of an earlier step may have written,
// loosens no sandbox and hands over no variable.
func TestFilesOpenNoWalls(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		files    map[string]string
		inputs   map[string]string
		local    bool
		defaults map[string]string
		want     []string // parts of the problems, in order
	}{
		{"settings", map[string]string{".ralph/settings.json": `{"isolation": "off", "passEnv": ["KEY"]}`}, nil, false, nil, []string{"isolation: a file can only make it stricter than auto", "passEnv: a file cannot set it"}},
		{"the action's own file", map[string]string{".github/ralph.yml": "isolation: off\npass-env: KEY\n"}, nil, false, nil, []string{"ralph.yml:1: isolation: a file can only", "ralph.yml:2: pass-env: a file cannot"}},
		{"the file of plan", map[string]string{".ralph/config": "RALPH_ISOLATION=off\nRALPH_PASS_ENV=KEY\n", "specs/": ""}, map[string]string{"mode": "plan"}, false, nil, []string{"RALPH_ISOLATION: a file can only", "RALPH_PASS_ENV: a file cannot"}},
		{"who asks, where it goes, who looks", map[string]string{".github/ralph.yml": "allow-bots: x[bot]\npush-to-fork: o/r\nmerge: auto\n"}, nil, false, nil, []string{"ralph.yml:2: push-to-fork: a file cannot", "ralph.yml:3: merge: a file cannot", "ralph.yml:1: allow-bots: a file cannot"}},
		{"a fuller disk", map[string]string{".github/ralph.yml": "min-free-disk: 0\n"}, nil, false, nil, []string{"ralph.yml:1: min-free-disk: a file can only make it more than 200MB"}},
		{"an emptier disk", map[string]string{".github/ralph.yml": "min-free-disk: 1GB\n"}, nil, false, nil, nil},
		{"stricter is welcome", map[string]string{".github/ralph.yml": "isolation: strict\n"}, nil, false, nil, nil},
		{"the workflow decides", map[string]string{".github/ralph.yml": "isolation: strict\n"}, map[string]string{"isolation": "off", "pass-env": "KEY"}, false, nil, nil},
		{"locally, without a sandbox", map[string]string{".ralph/settings.json": `{"isolation": "off", "passEnv": ["KEY"]}`}, nil, true, nil, nil},
		{"locally in a container", map[string]string{".ralph/settings.json": `{"isolation": "off"}`}, nil, true, map[string]string{"isolation": "strict"}, []string{"stricter than strict"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			inputs := map[string]string{"prompt": "go"}
			maps.Copy(inputs, tc.inputs)
			_, err := config.Load(config.LoadOptions{Dir: workspace(t, tc.files), Inputs: inputs, Local: tc.local, Defaults: tc.defaults, Prompts: map[string]string{"plan": "p"}})
			got := problems(t, err)
			if len(got) != len(tc.want) {
				t.Fatalf("Load() = %q, want %d problems", got, len(tc.want))
			}
			for i, want := range tc.want {
				if !strings.Contains(got[i], want) {
					t.Errorf("problem %d = %q, want %q in it", i, got[i], want)
				}
			}
		})
	}
}

func TestPriority(t *testing.T) {
	t.Parallel()
	file := "max-iterations: 3\nmodel: from-file\nlabels: [a, b]\nprompt: from file\nmax-retries:\n"
	dir := workspace(t, map[string]string{".github/ralph.yml": file, "task.md": "from task.md"})
	c, err := config.Load(config.LoadOptions{
		Dir:      dir,
		Inputs:   map[string]string{"max-iterations": "4", "model": "", "labels": "c", "prompt-file": "task.md", "max-duration": "  ", "title": "t"},
		Flags:    map[string]string{"max-iterations": "5"},
		Defaults: map[string]string{"isolation": "off", "model": "from-default"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name      string
		got, want any
	}{
		{"flag over input over file", c.Loop.MaxIterations, 5},
		{"file over default, empty input unset", c.Agent.Model, "from-file"},
		{"lists are replaced", strings.Join(c.PullRequest.Labels, " "), "c"},
		{"an input's prompt-file replaces the file's prompt", c.Prompt.Text, "from task.md"},
		{"blank input unset", c.Limits.Duration, 5*time.Hour + 30*time.Minute},
		{"empty key unset", c.Loop.MaxRetries, 3},
		{"a command's own default", c.Sandbox.Isolation, config.IsolationOff},
		{"source of a flag", c.Sources["max-iterations"], "flag --max-iterations"},
		{"source of a key", c.Sources["model"], ".github/ralph.yml:2: model"},
		{"source of an input", c.Sources["title"], "input title"},
		{"source of a default", c.Sources["mode"], "default"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, tt.got, tt.want)
		}
	}
}

func TestToken(t *testing.T) {
	t.Parallel()
	env := map[string]string{"GITHUB_TOKEN": "env-github", "GH_TOKEN": "env-gh"}
	for _, tt := range []struct {
		name, input string
		env         map[string]string
		want, from  string
	}{
		{"input first", "input-token", env, "input-token", "input github-token"},
		{"then GITHUB_TOKEN", "", env, "env-github", "environment variable GITHUB_TOKEN"},
		{"then GH_TOKEN", "", map[string]string{"GH_TOKEN": "env-gh"}, "env-gh", "environment variable GH_TOKEN"},
		{"none", "", nil, "", ""},
	} {
		c, err := config.Load(config.LoadOptions{Dir: t.TempDir(), Inputs: with("github-token", tt.input), Environment: tt.env})
		if err != nil || c.Git.Token.Reveal() != tt.want || c.Sources["github-token"] != tt.from {
			t.Errorf("%s: token %q from %q, %v; want %q from %q", tt.name, c.Git.Token.Reveal(), c.Sources["github-token"], err, tt.want, tt.from)
		}
	}
}

func TestRedacted(t *testing.T) {
	t.Parallel()
	c, err := load(t, with("prompt", strings.Repeat("long ", 100)+"\n::error::x", "github-token", "ghp_verysecret", "max-cost-usd", "5"))
	if err != nil {
		t.Fatal(err)
	}
	if all := fmt.Sprintf("%v %+v %#v", c, c, c); strings.Contains(all, "verysecret") {
		t.Errorf("the token shows in %s", all)
	}
	got := c.Redacted()
	for _, want := range []string{"github-token: *** (input github-token)\n", "max-cost-usd: 5 (input max-cost-usd)\n", "\ndefaults: ", "max-iterations=10,", "…"} {
		if !strings.Contains(got, want) {
			t.Errorf("Redacted() = %q, want %q in it", got, want)
		}
	}
	for _, bad := range []string{"verysecret", "\n::error", strings.Repeat("long ", 50)} {
		if strings.Contains(got, bad) {
			t.Errorf("Redacted() = %q, want %q not in it", got, bad)
		}
	}
}

// problems are the lines of an error of Load.
func problems(t *testing.T, err error) []string {
	t.Helper()
	var p *problem.Problems
	if err == nil {
		return nil
	}
	if !errors.As(err, &p) {
		t.Fatalf("Load error is %T, want *problem.Problems", err)
	}
	var list []string
	for _, one := range p.List {
		list = append(list, one.String())
	}
	return list
}
