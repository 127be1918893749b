package config_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/ralph"
)

// What a mode decides is in force when nobody says otherwise.
func TestModes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		mode  string
		local bool
		flags []string
		want  []string
	}{
		{"run", false, nil, []string{
			"agent claude", "completion promise", "completion-rule true", "include-iteration-count true", "baseline true", "min-tool-calls 1",
			"max-iterations 10", "on-agent-error retry", "stall-limit 5", "on-incomplete fail", "commit each-iteration", "delay 0",
			"iteration-timeout 1h", "idle-timeout 15m", "max-duration 5h30m", "isolation auto",
		}},
		{"run", true, nil, []string{ // 001-09
			"agent claude", "completion response", "completion-rule true", "include-iteration-count false", "baseline false", "min-tool-calls 0",
			"max-iterations 10", "on-agent-error continue", "stall-limit 5", "on-incomplete fail", "commit agent", "delay 0",
			"iteration-timeout 0", "idle-timeout 0", "max-duration 0", "isolation off",
		}},
		{"plan", true, nil, []string{ // 000-31, 000-39
			"agent claude", "completion promise", "completion-rule true", "include-iteration-count false", "baseline false", "min-tool-calls 0",
			"max-iterations 0", "on-agent-error retry", "stall-limit 0", "on-incomplete succeed", "commit agent", "delay 0",
			"iteration-timeout 1h", "idle-timeout 15m", "max-duration 0", "isolation off", "max-retries 3",
		}},
		{"build", false, nil, []string{
			"completion promise", "completion-rule true", "include-iteration-count false", "baseline true", "min-tool-calls 0",
			"max-iterations 0", "on-agent-error retry", "stall-limit 5", "on-incomplete succeed", "commit each-iteration", "delay 0",
			"iteration-timeout 1h", "idle-timeout 15m", "max-duration 5h30m", "isolation auto",
		}},
		{"prompt", true, []string{"prompt", "x"}, []string{"completion promise", "completion-rule false", "max-iterations 0", "on-incomplete succeed", "commit agent"}},
		{"supervise", true, []string{"agent-command", "x", "task-dir", "task"}, []string{ // 002-03
			"agent text", "completion done-file", "completion-rule true", "include-iteration-count false", "baseline true", "min-tool-calls 0",
			"max-restarts 100", "on-agent-error restart", "stall-limit 0", "on-incomplete fail", "commit off", "delay 1s",
			"child-wait-timeout 5m", "poll-interval 1s", "iteration-timeout 5m", "idle-timeout 0", "max-duration 0", "isolation off",
		}},
		{"supervise", false, []string{"agent-command", "x", "task-dir", "task"}, []string{
			"agent text", "completion done-file", "stall-limit 0", "commit each-iteration", "max-duration 5h30m", "isolation auto",
		}},
		{"tasks", true, nil, []string{ // 003-01, 003-02, 003-03
			"agent claude", "completion tasks", "completion-rule false", "include-iteration-count false", "baseline true", "min-tool-calls 0",
			"max-iterations 15", "on-agent-error retry", "stall-limit 0", "on-incomplete fail", "commit agent", "delay 0", "session fresh",
			`ralph-dir "ralph"`, "skip-review false", "review-cap 5", "review-cap-policy draft", "max-duration 0", "isolation auto",
		}},
		{"tasks", false, nil, []string{"completion tasks", "max-iterations 15", "stall-limit 5", "commit each-iteration", "max-duration 5h30m", "isolation auto"}},
		{"session", true, []string{"prompt", "x"}, []string{ // 004-01
			"agent claude", "completion promise", "completion-rule true", "include-iteration-count false", "baseline false", "min-tool-calls 1",
			"on-promise-no-work reject", "max-iterations 10", "on-agent-error continue", "stall-limit 0", "commit agent", "session resume", "isolation off",
		}},
		{"session", false, []string{"prompt", "x"}, []string{"session resume", "stall-limit 5", "commit each-iteration", "isolation auto", "baseline true"}},
	} {
		o := config.LoadOptions{
			Dir: workspace(t, map[string]string{"specs/": ""}), Local: tt.local, Prompts: map[string]string{"plan": "plan", "build": "build"},
			Flags: pairs(tt.flags...), Inputs: map[string]string{},
		}
		if tt.local {
			o.Mode = tt.mode
		} else {
			o.Inputs["mode"] = tt.mode
		}
		if tt.mode == "run" {
			o.Inputs["prompt"] = "go"
		}
		c, err := config.Load(o)
		if err != nil || c.Mode != tt.mode {
			t.Errorf("Load(%s, local %v) = mode %q, %v", tt.mode, tt.local, c.Mode, err)
			continue
		}
		shown := strings.NewReplacer("\ndefaults: ", ", ", "\n", ", ").Replace("\n" + c.Redacted())
		for _, want := range tt.want {
			name, text, _ := strings.Cut(want, " ")
			if !strings.Contains(shown, ", "+name+"="+text+", ") {
				t.Errorf("Load(%s, local %v): %s is not the default %s:\n%s", tt.mode, tt.local, name, text, shown)
			}
		}
	}
}

func pairs(list ...string) map[string]string {
	m := map[string]string{}
	for i := 0; i+1 < len(list); i += 2 {
		m[list[i]] = list[i+1]
	}
	return m
}

// The table documents the action in mode run; every mode decides the same
// inputs.
func TestDefaultsFollowTable(t *testing.T) {
	t.Parallel()
	run := config.Defaults("run", false)
	for _, in := range config.Inputs() {
		if text, ok := run[in.Name]; ok && text != in.Default {
			t.Errorf("Defaults(run) has %s = %q, the table %q", in.Name, text, in.Default)
		}
	}
	for _, mode := range []string{"run", "plan", "build", "prompt", "supervise", "tasks", "session", "nonsense"} {
		for _, local := range []bool{false, true} {
			got := config.Defaults(mode, local)
			if want := slices.Sorted(maps.Keys(run)); !slices.Equal(slices.Sorted(maps.Keys(got)), want) {
				t.Errorf("Defaults(%s, %v) decides %v, want %v", mode, local, slices.Sorted(maps.Keys(got)), want)
			}
		}
	}
}

// Every policy can be set by hand in any mode.
func TestPoliciesByHand(t *testing.T) {
	t.Parallel()
	dir := workspace(t, map[string]string{"specs/": ""})
	flags := pairs("completion", "response", "completion-token", "OK", "on-incomplete", "fail", "min-tool-calls", "2", "commit", "at-end",
		"on-agent-error", "fail", "max-iterations", "4", "completion-rule", "true", "stall-limit", "3", "task-dir", "task", "agent-command", "x", "agent", "text", "prompt", "go")
	for _, mode := range []string{"run", "plan", "build", "prompt", "supervise"} {
		flags := maps.Clone(flags)
		if mode != "supervise" {
			delete(flags, "task-dir")
		}
		c, err := config.Load(config.LoadOptions{Dir: dir, Mode: mode, Local: true, Flags: flags})
		if err != nil {
			t.Errorf("Load(%s) = %v", mode, err)
		}
		if c.Loop.Completion != (ralph.Completion{Kind: ralph.CompletionResponse, Token: "OK"}) || c.Loop.IncompleteOK || c.Loop.MinToolCalls != 2 ||
			c.Git.Commit != config.CommitAtEnd || c.Loop.OnAgentError != ralph.FailOnError || c.Loop.MaxIterations != 4 || !c.Loop.CompletionRule || c.Loop.StallLimit != 3 {
			t.Errorf("Load(%s) = %+v, want what was given", mode, plain(c))
		}
	}
}

// Which files are read, in which order, and that the higher wins. 001-05, 001-06
func TestLayers(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		".github/ralph.yml":           "model: yml\nmax-retries: 1\nstall-limit: 1\n",
		".ralph/settings.json":        `{"model": "settings", "maxRetries": 2, "maximumIterations": 2}`,
		".ralph/settings.local.json":  `{"model": "local"}`,
		".ralph/config":               "RALPH_MODEL=shell\nMAX_RETRIES=4\nCUSTOM='of the team'\n",
		"tools/loop/config":           "RALPH_MODEL=home\n",
		"specs/":                      "",
		"other.yml":                   "model: other-yml\n",
		"other.json":                  `{"model": "other-json"}`,
		"other.env":                   "RALPH_MODEL=other-shell\n",
		".ralph/prompts/plan.md":      "plan",
		"tools/loop/prompts/build.md": "build",
	}
	dir := workspace(t, files)
	for _, tt := range []struct {
		name   string
		o      config.LoadOptions
		loaded string
		model  string
		after  int // max-retries
	}{
		{"local run", config.LoadOptions{Mode: "run", Local: true}, ".github/ralph.yml .ralph/settings.json .ralph/settings.local.json", "local", 2},
		{"local plan", config.LoadOptions{Mode: "plan", Local: true}, ".ralph/config", "shell", 4},
		{"local build, another home", config.LoadOptions{Mode: "build", Local: true, Home: "tools/loop"}, "tools/loop/config", "home", 3},
		{"local prompt", config.LoadOptions{Mode: "prompt", Local: true}, ".ralph/config", "shell", 4},
		{"local supervise", config.LoadOptions{Mode: "supervise", Local: true, Flags: pairs("task-dir", "task", "agent-command", "x")}, "", "", 3},
		{"action run", config.LoadOptions{}, ".ralph/settings.json .github/ralph.yml", "yml", 1},
		{"action plan", config.LoadOptions{Inputs: pairs("mode", "Plan")}, ".ralph/config .github/ralph.yml", "yml", 1},
		{"action supervise", config.LoadOptions{Inputs: pairs("mode", "supervise", "task-dir", "task", "agent-command", "x")}, ".github/ralph.yml", "yml", 1},
		{"yaml by name", config.LoadOptions{Mode: "plan", Local: true, Flags: pairs("config", "other.yml")}, "other.yml .ralph/config", "shell", 4},
		{"yaml by name in the action", config.LoadOptions{Inputs: pairs("config", "other.yml")}, ".ralph/settings.json other.yml", "other-yml", 2},
		{"settings by name", config.LoadOptions{Mode: "run", Local: true, Flags: pairs("config", "other.json")}, ".github/ralph.yml other.json", "other-json", 1},
		{"settings by name in another mode", config.LoadOptions{Mode: "prompt", Local: true, Flags: pairs("config", "other.json")}, "other.json .ralph/config", "shell", 4},
		{"shell by name", config.LoadOptions{Mode: "plan", Local: true, Flags: pairs("config", "other.env")}, "other.env", "other-shell", 3}, // 000-03
		{"shell by name in mode run", config.LoadOptions{Inputs: pairs("config", "other.env")}, ".ralph/settings.json other.env .github/ralph.yml", "yml", 1},
		{"flags above all", config.LoadOptions{Mode: "run", Local: true, Flags: pairs("model", "flag", "max-retries", "9")},
			".github/ralph.yml .ralph/settings.json .ralph/settings.local.json", "flag", 9},
	} {
		o := tt.o
		o.Dir, o.Prompts = dir, map[string]string{"plan": "built in", "build": "built in"}
		if o.Flags == nil {
			o.Flags = map[string]string{}
		}
		o.Flags["prompt"] = "go"
		c, err := config.Load(o)
		if got := strings.Join(c.Loaded, " "); err != nil || got != tt.loaded || c.Agent.Model != tt.model || c.Loop.MaxRetries != tt.after {
			t.Errorf("%s: loaded %q, model %q, max-retries %d, %v; want %q, %q, %d", tt.name, got, c.Agent.Model, c.Loop.MaxRetries, err, tt.loaded, tt.model, tt.after)
		}
	}
}

// A folder called config is somebody else's; the mode is an input, and a key
// of .github/ralph.yml in the action.
func TestWhereTheModeStands(t *testing.T) {
	t.Parallel()
	dir := workspace(t, map[string]string{".github/ralph.yml": "mode: build\n", "specs/": "", "config/": "", "bad.json": `{"mode": "plan"}`, "bad.env": "RALPH_MODE=plan\n"})
	prompts := map[string]string{"build": "built in", "plan": "built in"}

	c, err := config.Load(config.LoadOptions{Dir: dir, Home: ".", Prompts: prompts})
	if err != nil || c.Mode != "build" || c.Sources["mode"] != ".github/ralph.yml:1: mode" || c.Prompt.Text != "built in" {
		t.Errorf("Load(action) = mode %q from %q, %v, want build from the file", c.Mode, c.Sources["mode"], err)
	}
	c, err = config.Load(config.LoadOptions{Dir: dir, Inputs: pairs("mode", "plan"), Prompts: prompts})
	if err != nil || c.Mode != "plan" {
		t.Errorf("Load(input mode) = %q, %v, want plan", c.Mode, err)
	}
	c, err = config.Load(config.LoadOptions{Dir: dir, Mode: "run", Local: true, Flags: pairs("prompt", "go")})
	if err != nil || c.Mode != "run" || c.Sources["mode"] != "the command" {
		t.Errorf("Load(local) = mode %q from %q, %v, want run from the command", c.Mode, c.Sources["mode"], err)
	}
	for file, want := range map[string]string{
		"bad.json": "bad.json:1: mode: it cannot be set here: give it as an input, or in .github/ralph.yml",
		"bad.env":  "bad.env:1: RALPH_MODE: it cannot be set here: give it as an input, or in .github/ralph.yml",
	} {
		_, err := config.Load(config.LoadOptions{Dir: dir, Mode: "run", Local: true, Flags: pairs("prompt", "go", "config", file)})
		if err == nil || err.Error() != want {
			t.Errorf("Load(%s) = %v, want %s", file, err, want)
		}
	}
}

// completionResponse of the settings says how it is matched, too, unless that
// is said outright.
func TestImpliedCompletion(t *testing.T) { // 001-08
	t.Parallel()
	for _, tt := range []struct{ yml, inputs, want string }{
		{"", "", "response FIN"},
		{"completion: promise", "", "promise FIN"},
		{"completion-token: X", "", "promise X"},
		{"", "completion=promise", "promise FIN"},
		{"", "completion-response=Y", "promise Y"},
	} {
		inputs := pairs("prompt", "go")
		if name, text, ok := strings.Cut(tt.inputs, "="); ok {
			inputs[name] = text
		}
		c, err := config.Load(asAction(workspace(t, map[string]string{".ralph/settings.json": `{"completionResponse": "FIN"}`, ".github/ralph.yml": tt.yml}), inputs))
		if got := string(c.Loop.Completion.Kind) + " " + c.Loop.Completion.Token; got != tt.want || err != nil {
			t.Errorf("Load(%q, %q) = %q, %v, want %q", tt.yml, tt.inputs, got, err, tt.want)
		}
	}
}

// The documented default of an input is what the action does in mode run.
func TestDocumentedDefaultsAreTheActions(t *testing.T) {
	t.Parallel()
	defaults := config.Defaults("run", false)
	for _, in := range config.Inputs() {
		if want, decided := defaults[in.Name]; decided && in.Default != want {
			t.Errorf("input %s: documented default %q, the action's is %q", in.Name, in.Default, want)
		}
	}
}

// Defaults that mean nothing for a run are not shown; what was given always is.
func TestPointlessDefaults(t *testing.T) {
	t.Parallel()
	dir := workspace(t, nil)
	for _, tt := range []struct {
		name      string
		flags     []string
		want, not string
	}{
		{"nothing is published", nil, "commit stall-limit isolation max-duration", "use-event ultrawork skip-review poll-interval draft squash push secret-scan key-proxy default-hosts"},
		{"ralph commits", []string{"commit", "each-iteration"}, "draft squash push secret-scan", "use-event trigger-label key-proxy"},
		{"in a sandbox", []string{"isolation", "auto"}, "key-proxy default-hosts min-free-disk", "draft"},
		{"given", []string{"key-proxy", "off"}, "", "default-hosts"},
	} {
		c, err := config.Load(config.LoadOptions{Dir: dir, Local: true, Mode: "run", Flags: pairs(append([]string{"prompt", "x"}, tt.flags...)...)})
		if err != nil {
			t.Fatalf("%s: Load() = %v", tt.name, err)
		}
		shown := c.Redacted()
		for _, name := range strings.Fields(tt.want) {
			if !strings.Contains(shown, name+"=") {
				t.Errorf("%s: Redacted() lacks the default of %s:\n%s", tt.name, name, shown)
			}
		}
		for _, name := range strings.Fields(tt.not) {
			if strings.Contains(shown, " "+name+"=") {
				t.Errorf("%s: Redacted() has the default of %s:\n%s", tt.name, name, shown)
			}
		}
		for i := 0; i < len(tt.flags); i += 2 {
			if !strings.Contains(shown, tt.flags[i]+": ") {
				t.Errorf("%s: Redacted() lacks %s, which was given:\n%s", tt.name, tt.flags[i], shown)
			}
		}
	}
}

// What --help does not list is refused, and with a reason.
func TestRefused(t *testing.T) {
	t.Parallel()
	samples := map[string]string{
		"completion": "text", "working-directory": "specs", "scm-tasks": "commit", "session": "resume", "task-dir": "specs", "max-restarts": "3",
		"ralph-dir": "other", "stories": "US-1", "parallel": "2", "publish": "bundle", "lane": "w1-L001-0123456789ab", "lanes": "specs", "on-conflict": "return", "skip-review": "true", "review-cap": "2", "review-cap-policy": "accept", "review-agent": "codex",
		"review-model": "m", "ultrawork": "true", "ultrawork-prompt": "Go on.", "prompt": "Go on.", "prompt-file": "f.md",
	}
	for _, mode := range []string{"run", "plan", "build", "prompt", "supervise", "tasks", "session"} {
		for _, in := range config.Inputs() {
			if !config.Refuses(mode, in.Name) || mode == "prompt" && in.Name == "prompt-file" { // it is the word
				continue
			}
			flags := pairs("agent", "claude", "scm-command", "git", in.Name, samples[in.Name])
			switch mode {
			case "prompt":
				flags["prompt-file"] = "f.md"
			case "run", "session":
				flags["prompt"] = "Go on."
			case "supervise":
				flags["task-dir"] = "specs"
			}
			if mode == "session" && in.Name == "session" {
				flags["session"] = "fresh" // the other one is its default
			}
			_, err := config.Load(config.LoadOptions{
				Dir: workspace(t, map[string]string{"specs/": "", "f.md": "Go on."}), Local: true, Mode: mode, Flags: flags,
				Prompts: map[string]string{"plan": "plan", "build": "build"},
			})
			if err == nil || !regexp.MustCompile(`(?m)(^|flag --)`+in.Name+`:`).MatchString(err.Error()) {
				t.Errorf("Load(%s, --%s %s) = %v, want it refused", mode, in.Name, samples[in.Name], err)
			}
		}
	}
}
