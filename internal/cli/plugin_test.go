package cli

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/org/ralph-action/internal/agent/hook"
)

func readJSON(t *testing.T, name string, into any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(read(t, name)))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// The marketplace leads to the plugin, and both tell of one version.
func TestPluginManifests(t *testing.T) {
	t.Parallel()
	type person struct{ Name, URL string }
	var plugin struct {
		Name, Description, Version, Homepage, Repository, License string
		Author                                                    person
		Keywords                                                  []string
	}
	var market struct {
		Name, Description string
		Owner             person
		Plugins           []struct{ Name, Source, Description, Version, Category, License string }
	}
	readJSON(t, "plugin/.claude-plugin/plugin.json", &plugin)
	readJSON(t, ".claude-plugin/marketplace.json", &market)
	if market.Name != "ralph-action" || len(market.Plugins) != 1 {
		t.Fatalf("the marketplace %q has %d plugins, want ralph-action with one", market.Name, len(market.Plugins))
	}
	one := market.Plugins[0]
	if plugin.Name != "ralph" || one.Name != plugin.Name || one.Version != plugin.Version || one.Description != plugin.Description || one.License != plugin.License {
		t.Errorf("the marketplace says %+v, the plugin %+v", one, plugin)
	}
	if one.Source != "./plugin" {
		t.Errorf("source %q, want ./plugin", one.Source)
	}
	if !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(plugin.Version) {
		t.Errorf("version %q, want three numbers", plugin.Version)
	}
	if released := regexp.MustCompile(`(?m)^## \[?(\d+\.\d+\.\d+)`).FindStringSubmatch(read(t, "CHANGELOG.md")); released != nil && released[1] != plugin.Version {
		t.Errorf("the plugin has version %s, the changelog %s", plugin.Version, released[1])
	}
	for _, path := range []string{strings.TrimPrefix(plugin.Homepage, plugin.Repository+"/blob/main/"), "plugin/skills/ralph-plan/SKILL.md"} {
		if _, err := os.Stat(filepath.Join(root, path)); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

type pluginHook struct {
	Matcher string
	Hooks   []struct {
		Type, Command string
		Timeout       int
	}
}

func pluginHooks(t *testing.T) map[string]pluginHook {
	t.Helper()
	var file struct {
		Description string
		Hooks       map[string][]pluginHook
	}
	readJSON(t, "plugin/hooks/hooks.json", &file)
	all := map[string]pluginHook{}
	for event, list := range file.Hooks {
		if len(list) != 1 || len(list[0].Hooks) != 1 || list[0].Hooks[0].Type != "command" || list[0].Hooks[0].Timeout <= 0 {
			t.Fatalf("%s: %+v, want one command with a time limit", event, list)
		}
		all[event] = list[0]
	}
	return all
}

// Each event calls the command that answers it. 003-16, 003-17
func TestPluginHooks(t *testing.T) {
	t.Parallel()
	all := pluginHooks(t)
	known := hook.Commands()
	call := regexp.MustCompile(`\bralph hook ([a-z-]+)`)
	for event, h := range all {
		calls := call.FindAllStringSubmatch(h.Hooks[0].Command, -1)
		if len(calls) != 1 || string(known[calls[0][1]]) != event {
			t.Errorf("%s calls %q", event, h.Hooks[0].Command)
		}
	}
	for name, event := range known {
		if all[string(event)].Hooks == nil {
			t.Errorf("nobody calls ralph hook %s", name)
		}
	}
	if got := all["PostToolUse"].Matcher; got != ".*" {
		t.Errorf("PostToolUse matches %q, want .*", got)
	}
	typed := regexp.MustCompile(all["UserPromptExpansion"].Matcher)
	for name, want := range map[string]bool{
		"ralph:ralph-loop": true, "ralph:ulw-loop": true, "ralph-loop": true, "ulw-loop": true,
		"ralph:cancel-ralph": false, "ralph:ralph-plan": false, "other:ralph-loop": false, "ralph:ralph-loops": false, "my-ralph-loop": false,
	} {
		if typed.MatchString(name) != want {
			t.Errorf("UserPromptExpansion matches %s: %v, want %v", name, !want, want)
		}
	}
}

// No ralph, another program of that name, and a ralph that wired its own hooks:
// the agent goes on.
func TestPluginHooksWithout(t *testing.T) {
	t.Parallel()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	refusing := t.TempDir()
	if err := os.WriteFile(filepath.Join(refusing, "ralph"), []byte("#!"+sh+"\necho $* >&2\nexit 2\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, env := range map[string][]string{
		"no ralph":      {"PATH=" + t.TempDir()},
		"another ralph": {"PATH=" + refusing},
		"ralph's own":   {"PATH=" + refusing, "RALPH_HOOKS=1"},
	} {
		for event, h := range pluginHooks(t) {
			var stdout, stderr bytes.Buffer
			cmd := exec.Command(sh, "-c", h.Hooks[0].Command)
			cmd.Env, cmd.Stdout, cmd.Stderr, cmd.Stdin = env, &stdout, &stderr, strings.NewReader("{}")
			if err := cmd.Run(); err != nil {
				t.Errorf("%s, %s: %v\n%s", name, event, err, stderr.Bytes())
			}
			var said struct{ SystemMessage string }
			switch {
			case event == "SessionStart" && len(env) == 1:
				if err := json.Unmarshal(stdout.Bytes(), &said); err != nil || !strings.Contains(said.SystemMessage, "ralph on PATH") {
					t.Errorf("%s, %s: %q, want a message about PATH", name, event, stdout.Bytes())
				}
			case stdout.Len() != 0:
				t.Errorf("%s, %s: %q, want nothing", name, event, stdout.Bytes())
			}
			if len(env) == 2 && stderr.Len() != 0 {
				t.Errorf("%s, %s: ralph was asked for %q", name, event, stderr.Bytes())
			}
		}
	}
}

// pluginText is a command or a skill: what stands in its head, and the rest.
func pluginText(t *testing.T, name string) (head map[string]any, text string) {
	t.Helper()
	front, text, found := strings.Cut(strings.TrimPrefix(read(t, name), "---\n"), "\n---\n")
	if err := yaml.Unmarshal([]byte(front), &head); err != nil || !found {
		t.Fatalf("%s: its head is no YAML between two lines of hyphens: %v", name, err)
	}
	if s, _ := head["description"].(string); s == "" {
		t.Errorf("%s has no description", name)
	}
	return head, text
}

// The commands are those that the binary answers, with its flags. 004-01, 004-09, 004-10
func TestPluginCommands(t *testing.T) {
	t.Parallel()
	for _, name := range []string{loopCommand, ulwCommand} {
		head, _ := pluginText(t, "plugin/commands/"+name+".md")
		hint, _ := head["argument-hint"].(string)
		flags := regexp.MustCompile(`--([a-z-]+)`).FindAllStringSubmatch(hint, -1)
		for _, flag := range flags {
			if slashFlags()[flag[1]] == "" {
				t.Errorf("/%s names the flag %s, which is not read", name, flag[0])
			}
		}
		if len(flags) != len(slashFlags()) || !strings.HasSuffix(slashUsage, hint) {
			t.Errorf("/%s shows %q, want what its usage says: %q", name, hint, slashUsage)
		}
		if head["disable-model-invocation"] != true {
			t.Errorf("/%s can be used by the model", name)
		}
	}
	head, text := pluginText(t, "plugin/commands/cancel-ralph.md")
	if !strings.Contains(text, "!`ralph cancel --session ${CLAUDE_SESSION_ID}`") || head["allowed-tools"] != "Bash(ralph cancel:*)" || head["disable-model-invocation"] != true {
		t.Errorf("/cancel-ralph: %v\n%s", head, text)
	}
	if strings.Contains(text, "$ARGUMENTS") {
		t.Error("/cancel-ralph gives a shell what somebody typed")
	}
}

// Every command line of ralph in the plugin's texts is one that ralph knows.
func TestPluginCommandLines(t *testing.T) {
	t.Parallel()
	var texts []string
	for _, pattern := range []string{"plugin/commands/*.md", "plugin/skills/*/SKILL.md"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %v, %v", pattern, paths, err)
		}
		texts = append(texts, paths...)
	}
	lines := map[string]bool{}
	for _, path := range append(texts, filepath.Join(root, "docs/plugin.md")) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, span := range regexp.MustCompile("`(ralph [^`]+)`").FindAllStringSubmatch(string(text), -1) {
			lines[span[1]] = true
		}
	}
	if len(lines) < 4 {
		t.Fatalf("found only %d command lines", len(lines))
	}
	for _, line := range slices.Sorted(maps.Keys(lines)) {
		var command, flags []string
		for _, word := range strings.Fields(line)[1:] {
			switch {
			case strings.HasPrefix(word, "--"):
				name, _, _ := strings.Cut(word, "=")
				flags = append(flags, name)
			case len(flags) == 0 && regexp.MustCompile(`^[a-z-]+$`).MatchString(word):
				command = append(command, word)
			}
		}
		if command[0] == "hook" { // answers everything
			if hook.Commands()[strings.Join(command[1:], " ")] == "" {
				t.Errorf("%s: no hook of that name", line)
			}
			continue
		}
		text := help(t, command...)
		for _, flag := range flags {
			if !regexp.MustCompile(regexp.QuoteMeta(flag) + `\b`).MatchString(text) {
				t.Errorf("%s: ralph %s has no flag %s", line, strings.Join(command, " "), flag)
			}
		}
	}
}

// The planning skill speaks of the files that `ralph tasks init` writes. 003-32
func TestPluginSkill(t *testing.T) {
	t.Parallel()
	head, text := pluginText(t, "plugin/skills/ralph-plan/SKILL.md")
	if head["name"] != "ralph-plan" || head["disable-model-invocation"] == true {
		t.Errorf("the skill's head is %v", head)
	}
	for _, phrase := range []string{"/ralph-plan", "plan this feature for ralph", "create a ralph prd", "generate tasks for ralph"} {
		if !strings.Contains(head["description"].(string), phrase) {
			t.Errorf("the description lacks the phrase %q", phrase)
		}
	}
	flat := strings.Join(strings.Fields(text), " ")
	for _, section := range regexp.MustCompile(`(?m)^## \d+\. (.+)$`).FindAllStringSubmatch(read(t, "internal/tasks/templates/prd.md"), -1) {
		if !strings.Contains(flat, section[1]) {
			t.Errorf("the skill does not name the section %q", section[1])
		}
	}
	_, rest, _ := strings.Cut(text, "```json\n")
	example, _, _ := strings.Cut(rest, "```")
	var story map[string]any
	var list struct{ UserStories []map[string]any }
	if err := json.Unmarshal([]byte(example), &story); err != nil {
		t.Fatalf("the story in the skill: %v\n%s", err, example)
	}
	if err := json.Unmarshal([]byte(read(t, "internal/tasks/templates/tasks.json")), &list); err != nil {
		t.Fatal(err)
	}
	for _, field := range slices.Sorted(maps.Keys(list.UserStories[0])) {
		value, there := story[field]
		if !there {
			t.Errorf("the story in the skill has no field %s", field)
		}
		switch want := list.UserStories[0][field].(type) {
		case bool, float64, nil:
			if value != want {
				t.Errorf("a story begins with %s = %v, want %v", field, value, want)
			}
		}
	}
	if len(story) != len(list.UserStories[0]) {
		t.Errorf("the story in the skill has %d fields, want %d", len(story), len(list.UserStories[0]))
	}
}
