package config_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/config"
)

// Each bad input is one problem that names the input, the value and the way out.
func TestBadInputs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, value, want string }{
		{"mode", "task", `input mode: "task" is not allowed: give run, plan, build, prompt, supervise, tasks, session or integrate; did you mean tasks?`},
		{"agent", "cluade", `input agent: "cluade" is not allowed: give ` + orOf(catalog.Names()) + `; did you mean claude?`},
		{"agent", "gpt-5", `input agent: "gpt-5" is not allowed: give ` + orOf(catalog.Names()) + ``},
		{"agent", "text", `input agent: text needs agent-command: the program that reads the prompt on stdin and prints its answer`},
		{"agent-command", "# nothing", ""},
		{"agent-command", `claude "--x`, `input agent-command: "claude \"--x" is not allowed: it cannot be split as a shell would: a quote is not closed, or it ends with a backslash`},
		{"agent-command", `"" x`, `input agent-command: "\"\" x" is not allowed: its first word is the program and cannot be empty`},
		{"agent-args", `a\`, `input agent-args: "a\\" is not allowed: it cannot be split as a shell would: a quote is not closed, or it ends with a backslash`},
		{"agent-args", "a\x00b", `input agent-args: is binary: give UTF-8 text without NUL bytes`},
		{"model", "--evil", `input model: "--evil" is not allowed: give the name of a model, without spaces and not beginning with -`},
		{"max-iterations", "-1", `input max-iterations: "-1" is not allowed: give a whole number from 0 to 10000 (0: no limit)`},
		{"max-iterations", "10001", `input max-iterations: "10001" is not allowed: give a whole number from 0 to 10000 (0: no limit)`},
		{"max-iterations", "99999999999999999999", `input max-iterations: "99999999999999999999" is not allowed: give a whole number from 0 to 10000 (0: no limit)`},
		{"max-iterations", "ten", `input max-iterations: "ten" is not allowed: give a whole number from 0 to 10000 (0: no limit)`},
		{"max-iterations", "1e3", `input max-iterations: "1e3" is not allowed: give a whole number from 0 to 10000 (0: no limit)`},
		{"max-retries", "1.5", `flag --max-retries: "1.5" is not allowed: give a whole number from 0 to 100 (0: none)`},
		{"max-cost-usd", "0", `input max-cost-usd: "0" is not allowed: leave it empty for no limit`},
		{"max-cost-usd", "0.00", `input max-cost-usd: "0.00" is not allowed: leave it empty for no limit`},
		{"max-cost-usd", "$5", `input max-cost-usd: "$5" is not allowed: give dollars as a plain number such as 5 or 2.50, above 0 and at most 1000000`},
		{"max-cost-usd", "-5", `input max-cost-usd: "-5" is not allowed: give dollars as a plain number such as 5 or 2.50, above 0 and at most 1000000`},
		{"max-cost-usd", "1e9", `input max-cost-usd: "1e9" is not allowed: give dollars as a plain number such as 5 or 2.50, above 0 and at most 1000000`},
		{"max-cost-usd", "NaN", `input max-cost-usd: "NaN" is not allowed: give dollars as a plain number such as 5 or 2.50, above 0 and at most 1000000`},
		{"max-cost-usd", "5,50", `input max-cost-usd: "5,50" is not allowed: give dollars as a plain number such as 5 or 2.50, above 0 and at most 1000000`},
		{"max-tokens", "0", `flag --max-tokens: "0" is not allowed: leave it empty for no limit`},
		{"max-tokens", "1M", `flag --max-tokens: "1M" is not allowed: give a whole number from 1 to 1000000000000`},
		{"idle-timeout", "900", `flag --idle-timeout: "900" is not allowed: say the unit: 900s, 900m or 900h`},
		{"idle-timeout", "soon", `flag --idle-timeout: "soon" is not allowed: give a duration such as 90s, 15m or 1h30m (0: no limit)`},
		{"idle-timeout", "-5m", `flag --idle-timeout: "-5m" is not allowed: give a duration from 1s to 120h (0: no limit)`},
		{"idle-timeout", "1ms", `flag --idle-timeout: "1ms" is not allowed: give a duration from 1s to 120h (0: no limit)`},
		{"max-duration", "121h", `input max-duration: "121h" is not allowed: give a duration from 1s to 120h (0: no limit)`},
		{"result-grace", "2h", `flag --result-grace: "2h" is not allowed: give a duration from 1s to 1h (0: no limit)`},
		{"on-agent-error", "retyr", `flag --on-agent-error: "retyr" is not allowed: give retry, continue, fail or restart; did you mean retry?`},
		{"completion-token", "<b>", `flag --completion-token: "<b>" is not allowed: give the word that stands inside the tag, without < and >`},
		{"completion-token", "a\nb", `flag --completion-token: "a\nb" is not allowed: give one line without a line break`},
		{"completion-token", strings.Repeat("x", 201), `flag --completion-token: 201 characters are too many: at most 200`},
		{"squash", "yes", `flag --squash: "yes" is not allowed: give true or false`},
		{"push", "sometimes", `flag --push: "sometimes" is not allowed: give auto, true or false`},
		{"branch", "-x", `input branch: "-x" is not allowed: the name of a branch does not begin with -`},
		{"push-to-fork", "fork", `input push-to-fork: "fork" is not allowed: give owner/name, such as octo-org/hello`},
		{"push-to-fork", "a/..", `input push-to-fork: "a/.." is not allowed: give owner/name, such as octo-org/hello`},
		{"assignees", "a, b c", `input assignees: "b c" is no name of an account: give logins, separated by commas`},
		{"reviewers", "../../x", `input reviewers: "../../x" is no name of an account: give logins, separated by commas`},
		{"team-reviewers", "a/b/c", `input team-reviewers: "a/b/c" is no slug of a team: give it as the team's address has it, such as backend or octo-org/backend`},
		{"allow-bots", "x[bot]y", `input allow-bots: "x[bot]y" is no name of an account: give logins, separated by commas`},
		{"milestone", "v1", `input milestone: "v1" is not allowed: give a whole number from 0 to 1000000000 (0: none)`},
		{"add-paths", "a\x01", `input add-paths: pathspec "a\x01" is not allowed: it holds the control character U+0001`},
		{"branch-suffix", "uuid", `input branch-suffix: "uuid" is not allowed: give none, random, timestamp or short-commit-hash`},
		{"trigger-command", "go on", `flag --trigger-command: "go on" is not allowed: give one word such as /ralph`},
		{"services", "Object", "input services: it is not what the runner says of the job's services: line 1: invalid character 'O' looking for beginning of value; write services: ${{ toJSON(job.services) }}"},
		{"services", "{\n\"a\": {\"ports\": {\"1\": 2}}}", "input services: it is not what the runner says of the job's services: line 2: no number belongs there; write services: ${{ toJSON(job.services) }}"},
		{"services", `{"a": {"ports": {"80": "x"}}}`, `input services: the ports "80": "x" of a are no numbers from 1 to 65535; write services: ${{ toJSON(job.services) }}`},
		{"services", `{"a": {"ports": {"80": "81"}}, "b": {"ports": {"80": "81"}}}`, `input services: port 81 of localhost is there twice`},
		{"services", `{"10.0.0.1": {"ports": {"80": "81"}}}`, `input services: "10.0.0.1" is no name of a service; write services: ${{ toJSON(job.services) }}`},
		{"services", `{"evil.example": {"ports": {"80": "81"}}}`, `input services: "evil.example" is no name of a service; write services: ${{ toJSON(job.services) }}`},
		{"services", `{"localhost": {"ports": {"80": "81"}}}`, `input services: "localhost" is no name of a service; write services: ${{ toJSON(job.services) }}`},
		{"services", "{" + strings.Repeat(" ", 64<<10) + "}", `input services: 65538 bytes are too many: at most 65536`},
		{"body-path", "missing.md", `input body-path: "missing.md" cannot be read: it does not exist`},
		{"ci-token", "two words", `input ci-token: the token holds white space or characters no token has: was it pasted with something else?`},
		{"title", "a\nb", `input title: "a\nb" is not allowed: give one line without a line break`},
		{"committer", "nobody", `input committer: "nobody" is not allowed: give Name <email>`},
		{"committer", "A <a@b> x", `input committer: "A <a@b> x" is not allowed: give Name <email>`},
		{"author", "<a@b>", `input author: "<a@b>" is not allowed: give Name <email>`},
		{"branch", "a b", `input branch: "a b" is not allowed: the name of a branch cannot hold ' '`},
		{"title", "a\nb", `input title: "a\nb" is not allowed: give one line without a line break`},
		{"title", "a\u202eb", `input title: "a\u202eb" is not allowed: give one line without the invisible character U+202E`},
		{"title", "a\u2028b", `input title: "a\u2028b" is not allowed: give one line without the control character U+2028`},
		{"title", "a\x1b[31m", `input title: "a\x1b[31m" is not allowed: give one line without the control character U+001B`},
		{"title", strings.Repeat("x", 257), `input title: 257 characters are too many: at most 250`},
		{"committer", "nobody", `input committer: "nobody" is not allowed: give Name <email>`},
		{"committer", "<a@b>", `input committer: "<a@b>" is not allowed: give Name <email>`},
		{"author", "A <a@b> <c@d>", `input author: "A <a@b> <c@d>" is not allowed: give Name <email>`},
		{"author", "A\nB <a@b>", `input author: "A\nB <a@b>" is not allowed: give one line without a line break`},
		{"labels", "ok, a\tb", `input labels: label "a\tb" is not allowed: it holds the control character U+0009`},
		{"labels", strings.Repeat("ü", 51), `input labels: label "` + strings.Repeat("ü", 51) + `" is not allowed: give at most 50 characters`},
		{"pass-env", "A-B", `input pass-env: "A-B" is no name of a variable: give letters, digits and underscores`},
		{"pass-env", "A=1", `input pass-env: give names without values: "A" instead of A=…`},
		{"pass-env", "GITHUB_TOKEN", `input pass-env: "GITHUB_TOKEN" is not allowed: the agent never sees the tokens of the workflow`},
		{"pass-env", "ACTIONS_RUNTIME_TOKEN", `input pass-env: "ACTIONS_RUNTIME_TOKEN" is not allowed: the agent never sees the tokens of the workflow`},
		{"pass-env", "input_github_token", `input pass-env: "input_github_token" is not allowed: the agent never sees the tokens of the workflow`},
		{"pass-env", "HOME", `input pass-env: "HOME" is not allowed: the agent has its own`},
		{"working-directory", "../x", `input working-directory: "../x" is not allowed: it is outside the workspace: give a folder relative to it`},
		{"working-directory", "/etc", `input working-directory: "/etc" is not allowed: it is outside the workspace: give a folder relative to it`},
		{"working-directory", "\x01", `input working-directory: "\x01" cannot be used: it does not exist`},
		{"working-directory", "nowhere", `input working-directory: "nowhere" cannot be used: it does not exist`},
		{"github-token", "ghp_very secret", `input github-token: the token holds white space or characters no token has: was it pasted with something else?`},
		{"github-token", strings.Repeat("x", 5000), `input github-token: 5000 bytes are too long for a token: at most 4096`},
		{"agent-exact-args", "-p 'x", `flag --agent-exact-args: "-p 'x" is not allowed: it cannot be split as a shell would: a quote is not closed, or it ends with a backslash`},
		{"output-format", "yaml", `flag --output-format: "yaml" is not allowed: give json or text`},
		{"response-filter", ".a\n.b", `flag --response-filter: ".a\n.b" is not allowed: give one line without a line break`},
		{"display-filter", strings.Repeat("x", 10_001), `flag --display-filter: 10001 characters are too many: at most 10000`},
		{"stream-agent-output", "no", `flag --stream-agent-output: "no" is not allowed: give true or false`},
		{"completion", "file", `flag --completion: "file" is not allowed: give promise, response, done-file or tasks`},
		{"completion", "done-file", `flag --completion: done-file needs task-dir: the folder that the agent puts the file DONE into`},
		{"completion-rule", "on", `flag --completion-rule: "on" is not allowed: give true or false`},
		{"output-truncate-chars", "0", `flag --output-truncate-chars: "0" is not allowed: give a whole number from 1 to 10000000`},
		{"retry-delay", "2", `flag --retry-delay: "2" is not allowed: say the unit: 2s, 2m or 2h`},
		{"restart-delay", "-1s", `flag --restart-delay: "-1s" is not allowed: give a duration from 1ms to 24h (0: none)`},
		{"child-wait-timeout", "1us", `flag --child-wait-timeout: "1us" is not allowed: give a duration from 1ms to 120h (0: no limit)`},
		{"commit", "never", `flag --commit: "never" is not allowed: give each-iteration, at-end, agent or off`},
		{"scm-command", "git '", `flag --scm-command: "git '" is not allowed: it cannot be split as a shell would: a quote is not closed, or it ends with a backslash`},
		{"color", "blue", `flag --color: "blue" is not allowed: give auto, always or never`},
		{"emoji", "1", `flag --emoji: "1" is not allowed: give true or false`},
		{"max-output-lines", "-1", `flag --max-output-lines: "-1" is not allowed: give a whole number from 0 to 1000000 (0: all)`},
		{"task-dir", "../x", `input task-dir: "../x" is not allowed: it is outside the workspace: give a folder relative to it`},
		{"max-iteration", "5", `input max-iteration: there is no such input; did you mean max-iterations?`},
		{"reviews", "false", `input reviews: there is no such input; did you mean skip-review, review-cap, review-cap-policy, review-agent or review-model?`},
		{"timeout", "5m", `input timeout: there is no such input; did you mean child-wait-timeout, wait-timeout, iteration-timeout, idle-timeout, guardrail-timeout, ci-timeout or ci-start-timeout?`},
		{"max", "5", `input max: there is no such input; docs/configuration.md lists all`},
		{"story", "A", `input story: there is no such input; did you mean stories?`},
		{"lables", "x", `input lables: there is no such input; did you mean labels?`},
		{"maxIterations", "5", `input maxIterations: there is no such input; did you mean max-iterations?`},
		{"frobnicate-all", "5", `input frobnicate-all: there is no such input; docs/configuration.md lists all`},
		{"config", "ci/ralph.yml", `input config: "ci/ralph.yml" cannot be read: it does not exist`},
		{"config", "../ralph.yml", `input config: "../ralph.yml" is outside the workspace: give a path relative to it`},
		{"prompt", " \n", `input prompt: is blank: say what is to be done`},
		{"prompt", "a\xff", `input prompt: is binary: give UTF-8 text without NUL bytes`},
		{"prompt-file", "x", `input prompt: there are two prompts, input prompt-file is the other: give only one of them`},
	} {
		_, err := load(t, with(tt.name, tt.value))
		got := problems(t, err)
		if tt.name == "prompt-file" {
			got = got[1:] // the file does not exist either
		}
		if strings.Join(got, "\n") != tt.want {
			t.Errorf("Load(%s = %.100q) =\n%q, want\n%q", tt.name, tt.value, got, tt.want)
		}
	}
}

func TestNoPrompt(t *testing.T) {
	t.Parallel()
	_, err := load(t, nil)
	if want := "prompt: there is nothing to do: give the task as prompt or as prompt-file"; err == nil || err.Error() != want {
		t.Errorf("Load() = %v, want %s", err, want)
	}
}

func TestPromptFile(t *testing.T) {
	t.Parallel()
	dir := workspace(t, map[string]string{
		"ok.md": "task", "empty.md": " \n", "dir/": "", "nul.md": "a\x00b", "latin1.md": "\xe9t\xe9",
		"five.md": strings.Repeat("words ", 5<<20/6), "large.md": strings.Repeat("x", 16<<20+1),
	})
	outside := workspace(t, map[string]string{"task.md": "from outside"})
	if err := os.Symlink(filepath.Join(outside, "task.md"), filepath.Join(dir, "link.md")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("ok.md", filepath.Join(dir, "inner.md")); err != nil {
		t.Fatal(err)
	}
	pipe := "is not a regular file"
	if runtime.GOOS == "windows" {
		pipe = "it does not exist"
	}
	for _, tt := range []struct{ file, want string }{
		{"ok.md", ""}, {"./ok.md", ""}, {filepath.Join(dir, "ok.md"), ""}, {"inner.md", ""}, {"five.md", ""},
		{"empty.md", `"empty.md" is empty: say what is to be done`},
		{"missing.md", `"missing.md" cannot be read: it does not exist`},
		{"dir", `"dir" is a folder: give a file`},
		{"nul.md", `"nul.md" is binary: give UTF-8 text without NUL bytes`},
		{"latin1.md", `"latin1.md" is binary: give UTF-8 text without NUL bytes`},
		{"large.md", `"large.md" is larger than 16 MiB`},
		{"../x.md", `"../x.md" is outside the workspace: give a path relative to it`},
		{"link.md", `"link.md" cannot be read: path escapes from parent`},
		{os.DevNull, `outside the workspace`},
	} {
		c, err := config.Load(config.LoadOptions{Dir: dir, Inputs: map[string]string{"prompt-file": tt.file}})
		switch {
		case tt.want == "" && (err != nil || c.Prompt.Text == "" || c.Prompt.File != tt.file):
			t.Errorf("Load(prompt-file = %q) = %d bytes, %v, want a prompt", tt.file, len(c.Prompt.Text), err)
		case tt.want != "" && (err == nil || !strings.HasPrefix(err.Error(), "input prompt-file: ") || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("Load(prompt-file = %q) = %v, want %s", tt.file, err, tt.want)
		}
	}

	// Who types a flag can read the file anyway.
	c, err := config.Load(config.LoadOptions{Dir: dir, Flags: map[string]string{"prompt-file": filepath.Join(outside, "task.md")}})
	if err != nil || c.Prompt.Text != "from outside" {
		t.Errorf("Load(--prompt-file outside) = %q, %v, want the file", c.Prompt.Text, err)
	}
	_, err = config.Load(config.LoadOptions{Dir: dir, Flags: map[string]string{"prompt-file": os.DevNull}})
	if err == nil || !strings.Contains(err.Error(), pipe) {
		t.Errorf("Load(--prompt-file %s) = %v, want %s", os.DevNull, err, pipe)
	}
}

func TestUnreadableFiles(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Log("root reads everything; the other half of this test is the workspace that does not exist")
	} else {
		dir := workspace(t, map[string]string{"secret.md": "x"})
		if err := os.Chmod(filepath.Join(dir, "secret.md"), 0); err != nil {
			t.Fatal(err)
		}
		_, err := config.Load(config.LoadOptions{Dir: dir, Inputs: map[string]string{"prompt-file": "secret.md"}})
		if err == nil || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("Load(unreadable prompt) = %v, want permission denied", err)
		}
	}
	_, err := config.Load(config.LoadOptions{Dir: filepath.Join(t.TempDir(), "gone"), Inputs: with()})
	if err == nil || !strings.Contains(err.Error(), `cannot be opened: it does not exist`) {
		t.Errorf("Load(no workspace) = %v, want that it does not exist", err)
	}
}

func TestEverythingWrongAtOnce(t *testing.T) {
	t.Parallel()
	dir := workspace(t, map[string]string{".github/ralph.yml": "max-retries: many\nmax-iteration: 5\nguardrails:\n  - comand: x\n"})
	_, err := config.Load(config.LoadOptions{
		Dir:    dir,
		Inputs: map[string]string{"agent": "robot", "max-cost-usd": "0"},
		Flags:  map[string]string{"branch": "a..b"},
	})
	got := problems(t, err)
	for _, want := range []string{
		`.github/ralph.yml:1: max-retries: "many"`,
		`.github/ralph.yml:2: unknown key "max-iteration"; did you mean max-iterations?`,
		`.github/ralph.yml:4: guardrails: unknown key "comand" in a guardrail; did you mean command?`,
		`.github/ralph.yml:4: guardrails: the guardrail has no command`,
		`input agent: "robot"`,
		`input max-cost-usd: "0"`,
		`flag --branch: "a..b"`,
		`prompt: there is nothing to do`,
	} {
		found := false
		for _, line := range got {
			found = found || strings.HasPrefix(line, want)
		}
		if !found {
			t.Errorf("Load = %q, want %q among them", got, want)
		}
	}
	if len(got) != 8 || !strings.HasPrefix(err.Error(), "8 problems with the configuration:\n  ") {
		t.Errorf("Load = %d problems, %q, want 8", len(got), err)
	}
}

func TestProblemsShowNoSecret(t *testing.T) {
	t.Parallel()
	const token = "ghp_abcdefghijklmnop"
	for _, inputs := range []map[string]string{
		with("github-token", token, "branch", token+" x"),
		with("github-token", token+" \x01", "agent", token),
		with("github-token", token, token, "x"),
		with("github-token", token, "guardrails", "- "+token+": x"),
		with("github-token", token, "prompt-file", token),
		with("github-token", token, "pass-env", token+"-x"),
		with("github-token", token, "agent-args", "'"+strings.Repeat("x", 70)+token),
	} {
		_, err := load(t, inputs)
		if err == nil || strings.Contains(err.Error(), token[:12]) {
			t.Errorf("Load(%v) = %v, want problems without the token", inputs, err)
		}
	}
	_, err := config.Load(config.LoadOptions{
		Dir:         t.TempDir(),
		Inputs:      with("github-token", token, "pass-env", "OTHER, MINE"),
		Environment: map[string]string{"MINE": "Bearer " + token, "OTHER": "x"},
	})
	if want := `input pass-env: "MINE" is not allowed: it holds a token of the forge`; err == nil || err.Error() != want {
		t.Errorf("Load(pass-env of the token) = %v, want %s", err, want)
	}
}

// What a hostile value can put into a message stays on its line.
func TestProblemsAreOneLine(t *testing.T) {
	t.Parallel()
	for _, in := range config.Inputs() {
		for _, evil := range []string{"\n::set-env name=X::y", "\r##[add-mask]e", "\x1b[2J\n- [}", "- a: b\n\n::error::"} {
			_, err := load(t, map[string]string{in.Name: evil, "x" + evil: evil})
			for _, line := range problems(t, err) {
				if strings.ContainsAny(line, "\n\r\x1b") {
					t.Errorf("Load(%s = %q) = %q, want one line", in.Name, evil, line)
				}
			}
		}
	}
}

func TestUnknownFlag(t *testing.T) {
	t.Parallel()
	_, err := config.Load(config.LoadOptions{Dir: t.TempDir(), Inputs: with(), Flags: map[string]string{"modeel": "x"}})
	if want := "flag --modeel: there is no such flag; did you mean model?"; err == nil || err.Error() != want {
		t.Errorf("Load(--modeel) = %v, want %s", err, want)
	}
	// The runner hands these to every container action that is given them.
	if _, err := load(t, with("args", "x", "entrypoint", "y")); err != nil {
		t.Errorf("Load(args, entrypoint) = %v, want nil", err)
	}
}

func TestTextAgentNeedsACommand(t *testing.T) {
	t.Parallel()
	const needs = "input agent: text needs agent-command: the program that reads the prompt on stdin and prints its answer"
	for command, want := range map[string]string{
		"":          needs,
		"# nothing": needs,
		"cat":       "",
		"'cat":      `input agent-command: "'cat" is not allowed: it cannot be split as a shell would: a quote is not closed, or it ends with a backslash`,
	} {
		_, err := load(t, with("agent", "text", "agent-command", command))
		if got := strings.Join(problems(t, err), "\n"); got != want {
			t.Errorf("Load(text, %q) = %q, want %q", command, got, want)
		}
	}
}

// orOf is a list as a message has it.
func orOf(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
