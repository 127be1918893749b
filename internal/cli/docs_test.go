package cli

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/org/ralph-action/internal/agent"
	"github.com/org/ralph-action/internal/cli/flagset"
	"github.com/org/ralph-action/internal/cli/starter"
	"github.com/org/ralph-action/internal/config"
)

// root is the repository, seen from here.
const root = "../.."

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// documents are the texts for people, by name.
func documents(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/internals/*.md"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			name, err := filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
			texts[filepath.ToSlash(name)] = read(t, name)
		}
	}
	if texts["README.md"] == "" || texts["docs/configuration.md"] == "" {
		t.Fatalf("found %d documents, and not all there should be", len(texts))
	}
	return texts
}

// help is what a command prints for --help --all.
func help(t *testing.T, command ...string) string {
	t.Helper()
	return printed(t, append(command, "--help", "--all"))
}

// printed is what a command prints that succeeds.
func printed(t *testing.T, command []string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "help")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if code := Main(Build{Version: "dev"}, command, nil, nil, out, out); code != 0 {
		t.Fatalf("ralph %v = %d, want 0", command, code)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var fence = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

// blocks are the fenced blocks of a language.
func blocks(text, language string) []string {
	var list []string
	for _, m := range fence.FindAllStringSubmatch(text, -1) {
		if m[1] == language {
			list = append(list, m[2])
		}
	}
	return list
}

// workflow is what of a workflow is looked at.
type workflow struct {
	Name        string
	On          any
	Permissions map[string]string
	Concurrency map[string]any
	Jobs        map[string]struct {
		RunsOn  string `yaml:"runs-on"`
		Uses    string
		With    map[string]string // of another workflow
		Secrets map[string]string
		Minutes int `yaml:"timeout-minutes"`
		Steps   []struct {
			ID, Uses, Run string
			Env, With     map[string]string
		}
	}
}

// The workflows of the README can be copied: they are whole, and the action
// accepts what they hand to it.
func TestReadmeWorkflows(t *testing.T) {
	t.Parallel()
	var action struct {
		Inputs, Outputs map[string]any
	}
	if err := yaml.Unmarshal([]byte(read(t, "action.yml")), &action); err != nil {
		t.Fatal(err)
	}
	triggers := map[string]bool{}
	for _, block := range blocks(read(t, "README.md"), "yaml") {
		var w workflow
		if err := yaml.Unmarshal([]byte(block), &w); err != nil {
			t.Errorf("README.md: %v in\n%s", err, block)
			continue
		}
		on, _ := w.On.(map[string]any)
		for trigger := range on {
			triggers[trigger] = true
		}
		if len(on) == 0 || w.Concurrency["group"] == nil || w.Permissions["contents"] != "write" || w.Permissions["pull-requests"] != "write" {
			t.Errorf("README.md: workflow %q lacks a trigger, permissions or concurrency", w.Name)
		}
		for _, output := range regexp.MustCompile(`steps\.ralph\.outputs\.([a-z-]+)`).FindAllStringSubmatch(block, -1) {
			if action.Outputs[output[1]] == nil {
				t.Errorf("README.md: workflow %q reads the output %q, which action.yml does not have", w.Name, output[1])
			}
		}
		for name, job := range w.Jobs {
			var checkedOut, ran bool
			for _, step := range job.Steps {
				switch uses, _, _ := strings.Cut(step.Uses, "@"); uses {
				case "actions/checkout":
					checkedOut = true
				case "org/ralph-action/host":
					ran = true
					for input := range step.With {
						if action.Inputs[input] == nil {
							t.Errorf("README.md: workflow %q gives the input %q, which action.yml does not have", w.Name, input)
						}
					}
					if step.Env["ANTHROPIC_API_KEY"] == "" {
						t.Errorf("README.md: workflow %q hands no key over", w.Name)
					}
					accepted(t, "README.md", w.Name, step.With, job.Minutes)
				}
			}
			if !checkedOut || !ran || job.RunsOn == "" {
				t.Errorf("README.md: job %q of workflow %q is not whole", name, w.Name)
			}
		}
	}
	if !triggers["workflow_dispatch"] {
		t.Error("README.md has no workflow that is started by hand")
	}
}

// The workflows that people can copy, and those of the other documents, hand to the action
// what it accepts.
func TestDocumentedWorkflows(t *testing.T) {
	t.Parallel()
	var action struct{ Inputs map[string]any }
	if err := yaml.Unmarshal([]byte(read(t, "action.yml")), &action); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "docs/examples/*.yml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("docs/examples: %v, %v", files, err)
	}
	workflows := map[string][]string{}
	for _, file := range files {
		name := "docs/examples/" + filepath.Base(file)
		workflows[name] = []string{read(t, name)}
	}
	for name, text := range documents(t) {
		for _, block := range blocks(text, "yaml") {
			if name != "README.md" && regexp.MustCompile(`(?m)^jobs:$`).MatchString(block) { // else it is a part of one
				workflows[name] = append(workflows[name], block)
			}
		}
	}
	for document, texts := range workflows {
		for _, text := range texts {
			var w workflow
			if err := yaml.Unmarshal([]byte(text), &w); err != nil {
				t.Errorf("%s: %v in\n%s", document, err, text)
			}
			used := 0
			for _, job := range w.Jobs {
				if strings.HasPrefix(job.Uses, "org/ralph-action/.github/workflows/stories.yml@") {
					used++
					stories(t, document, w)
				}
				for _, step := range job.Steps {
					uses, _, _ := strings.Cut(step.Uses, "@")
					if uses != "org/ralph-action" && uses != "org/ralph-action/host" && !strings.HasPrefix(uses, "docker://") {
						continue
					}
					used++
					for input := range step.With {
						if action.Inputs[input] == nil {
							t.Errorf("%s: workflow %q gives the input %q, which action.yml does not have", document, w.Name, input)
						}
					}
					accepted(t, document, w.Name, step.With, job.Minutes)
				}
			}
			if used == 0 && !strings.Contains(text, "    uses: ./") { // a workflow may call another
				t.Errorf("%s: workflow %q does not use the action", document, w.Name)
			}
		}
	}
}

// The workflow that others call hands to the action what it accepts, reads what it puts out,
// and gives flags that the command has.
func TestStoriesWorkflow(t *testing.T) {
	t.Parallel()
	var action struct{ Inputs, Outputs map[string]any }
	if err := yaml.Unmarshal([]byte(read(t, "action.yml")), &action); err != nil {
		t.Fatal(err)
	}
	text := read(t, ".github/workflows/stories.yml")
	var w workflow
	if err := yaml.Unmarshal([]byte(text), &w); err != nil {
		t.Fatal(err)
	}
	used := 0
	for name, job := range w.Jobs {
		for _, step := range job.Steps {
			if uses, _, _ := strings.Cut(step.Uses, "@"); uses == "org/ralph-action" || uses == "org/ralph-action/host" {
				used++
				for input := range step.With {
					if action.Inputs[input] == nil {
						t.Errorf("%s gives the input %q, which action.yml does not have", name, input)
					}
				}
			}
			for _, command := range regexp.MustCompile(`ralph (tasks \w+)(.*)`).FindAllStringSubmatch(strings.ReplaceAll(step.Run, "\n", " "), -1) {
				used++
				listed := help(t, strings.Fields(command[1])...)
				for _, flag := range regexp.MustCompile(`--[a-z-]+`).FindAllString(command[2], -1) {
					if !strings.Contains(listed, flag) {
						t.Errorf("%s gives %s, which ralph %s does not have", name, flag, command[1])
					}
				}
			}
		}
	}
	for _, m := range regexp.MustCompile(`steps\.(?:container|host)\.outputs\.([a-z-]+)`).FindAllStringSubmatch(text, -1) {
		used++
		if action.Outputs[m[1]] == nil {
			t.Errorf("it reads the output %q, which action.yml does not have", m[1])
		}
	}
	if used != 7 {
		t.Errorf("%d uses of the action, the command and outputs, want 7", used)
	}
}

// stories checks a workflow that calls ours: it hands over what ours takes, and may do what
// ours does.
func stories(t *testing.T, document string, caller workflow) {
	t.Helper()
	var called struct {
		On struct {
			Call struct{ Inputs, Secrets map[string]any } `yaml:"workflow_call"`
		}
		Jobs map[string]struct{ Permissions map[string]string }
	}
	if err := yaml.Unmarshal([]byte(read(t, ".github/workflows/stories.yml")), &called); err != nil {
		t.Fatal(err)
	}
	for _, job := range caller.Jobs {
		for name := range job.With {
			if called.On.Call.Inputs[name] == nil {
				t.Errorf("%s: workflow %q gives the input %q, which stories.yml does not have", document, caller.Name, name)
			}
		}
		for name := range job.Secrets {
			if _, ok := called.On.Call.Secrets[name]; !ok {
				t.Errorf("%s: workflow %q gives the secret %q, which stories.yml does not have", document, caller.Name, name)
			}
		}
		if job.With["wave"] != "${{ inputs.wave }}" {
			t.Errorf("%s: workflow %q gives the wave %q, want that of its dispatch", document, caller.Name, job.With["wave"])
		}
	}
	for _, job := range called.Jobs {
		for name, right := range job.Permissions {
			if have := caller.Permissions[name]; have != right && have != "write" {
				t.Errorf("%s: workflow %q may %q %s, and stories.yml wants %q", document, caller.Name, have, name, right)
			}
		}
	}
}

// Whatever people copy names commits: a tag can be moved. Ours is a placeholder that
// no runner takes for a version.
func TestDocumentedActionsArePinned(t *testing.T) {
	t.Parallel()
	texts := documents(t)
	files, err := filepath.Glob(filepath.Join(root, "docs/examples/*.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := "docs/examples/" + filepath.Base(file)
		texts[name] = read(t, name)
	}
	form := regexp.MustCompile(`^(org/ralph-action(/host|/setup|/\.github/workflows/stories\.yml)?@<SHA> # vX\.Y\.Z|[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+|\./\S+|docker://ghcr\.io/OWNER/\S+)$`)
	used := 0
	for name, text := range texts {
		for _, m := range regexp.MustCompile(`(?m)^ *(?:- )?uses: (.*)$`).FindAllStringSubmatch(text, -1) {
			used++
			if !form.MatchString(m[1]) {
				t.Errorf("%s: uses: %s: want OWNER/NAME@COMMIT # vX.Y.Z", name, m[1])
			}
		}
	}
	if used < 50 {
		t.Errorf("only %d times uses:", used)
	}
}

// accepted loads the inputs as the action does, in a workspace that has the
// prompt file, and wants the job to outlive the run.
func accepted(t *testing.T, document, name string, with map[string]string, minutes int) {
	t.Helper()
	dir := t.TempDir()
	inputs := map[string]string{}
	for input, value := range with {
		inputs[input] = regexp.MustCompile(`\$\{\{.*?\}\}`).ReplaceAllString(value, "expression")
	}
	if file := inputs["prompt-file"]; file != "" {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("a task\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "specs"), 0o755); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.LoadOptions{Dir: dir, Inputs: inputs, Prompts: starter.Prompts(), Infer: agent.Infer,
		Event: with["prompt"] == "" && with["prompt-file"] == "",
	})
	if err != nil {
		t.Errorf("%s: workflow %q: %v", document, name, err)
		return
	}
	if cfg.Limits.Duration.Minutes() >= float64(minutes) {
		t.Errorf("%s: workflow %q: timeout-minutes %d is not above max-duration %s", document, name, minutes, cfg.Limits.Duration)
	}
}

// The flags of a command that loops are the inputs, but for those that mean nothing there.
func TestHelpListsInputs(t *testing.T) {
	t.Parallel()
	for mode, command := range map[string]string{
		"run": "run", "plan": "plan", "build": "build", "prompt": "prompt", "supervise": "supervise", "tasks": "tasks run", "session": "session",
	} {
		text := help(t, strings.Fields(command)...)
		for _, in := range config.Inputs() {
			listed := regexp.MustCompile(`(?m)^ +(-\w, )?--(\[no-\])?` + in.Name + `\b($|[^-])`).MatchString(text)
			if want := flagset.Listed(mode, in); listed != want {
				t.Errorf("ralph %s --help lists --%s: %v, want %v", command, in.Name, listed, want)
			}
		}
	}
}

// The help of a command that loops is short, and says how to see the rest.
func TestHelpIsShort(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"run", "plan", "build", "prompt", "supervise", "tasks run", "session", "doctor"} {
		short, full := printed(t, append(strings.Fields(command), "--help")), help(t, strings.Fields(command)...)
		if n := strings.Count(short, "\n"); n > 65 || 2*n > strings.Count(full, "\n") {
			t.Errorf("ralph %s --help has %d lines, and with --all %d", command, n, strings.Count(full, "\n"))
		}
		if want := "For all of them: ralph " + command + " --help --all\n"; !strings.HasSuffix(short, want) {
			t.Errorf("ralph %s --help does not end with %q", command, want)
		}
		if !strings.Contains(short, "--max-iterations") && command != "supervise" || !strings.Contains(short, "--agent=") {
			t.Errorf("ralph %s --help lacks what every run needs:\n%s", command, short)
		}
	}
}

// Commands and flags that the documents show exist.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	commands := map[string]string{"": help(t)}
	for _, name := range []string{
		"run", "plan", "build", "prompt", "supervise", "tasks", "tasks init", "tasks run", "tasks check", "tasks archive", "tasks matrix", "tasks integrate", "tasks plan",
		"session", "status", "logs", "resume", "cancel", "hook", "init", "doctor", "completion", "action", "demo", "version",
	} {
		commands[name] = help(t, strings.Fields(name)...)
	}
	inline := regexp.MustCompile("`(?:\\./)?ralph ([^`]*)`")
	started := regexp.MustCompile(`(?:^|[\s/])ralph(?:-action)?\s+([a-z].*)$`)
	for name, text := range documents(t) {
		var lines []string
		for _, block := range blocks(text, "sh") {
			for line := range strings.Lines(strings.ReplaceAll(block, "\\\n", " ")) {
				line, _, _ = strings.Cut(strings.TrimSpace(line), "  #")
				if m := started.FindStringSubmatch(line); m != nil && !strings.Contains(line, "git clone") {
					lines = append(lines, m[1])
				}
			}
		}
		for _, m := range inline.FindAllStringSubmatch(text, -1) {
			lines = append(lines, strings.Join(strings.Fields(m[1]), " ")) // it may be broken over two lines
		}
		for _, line := range lines {
			command, rest, _ := strings.Cut(line, " ")
			if strings.HasPrefix(command, "sandbox-") {
				continue // hidden, for ralph itself
			}
			if word, more, _ := strings.Cut(rest, " "); command == "tasks" && word != "" { // a command of its own
				command, rest = command+" "+word, more
			}
			if commands[command] == "" {
				t.Errorf("%s shows `ralph %s`: there is no command %q", name, line, command)
				continue
			}
			missingFlags(t, name, rest, commands[command])
		}
	}
	// In the README a flag that stands alone is ralph's.
	for _, m := range regexp.MustCompile("`(--[^`]*)`").FindAllStringSubmatch(read(t, "README.md"), -1) {
		missingFlags(t, "README.md", m[1], commands["run"])
	}
}

var flagPattern = regexp.MustCompile(`(?:^|\s)--([a-z][a-z-]*)`)

func missingFlags(t *testing.T, document, line, help string) {
	t.Helper()
	for _, m := range flagPattern.FindAllStringSubmatch(line, -1) {
		if !regexp.MustCompile(`--(\[no-\])?` + m[1] + `\b`).MatchString(help) {
			t.Errorf("%s shows --%s, which no --help knows: %s", document, m[1], line)
		}
	}
}

// Links between the documents lead to files and headings that are there.
func TestDocumentedLinks(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	texts := documents(t)
	for name, text := range texts {
		for _, m := range link.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			u, err := url.Parse(m[1])
			if err != nil || u.IsAbs() {
				continue
			}
			target := name
			if u.Path != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(name), u.Path))
				if _, err := os.Stat(filepath.Join(root, target)); err != nil {
					t.Errorf("%s links to %s: %v", name, m[1], err)
					continue
				}
			}
			if u.Fragment != "" && !slices.Contains(headings(texts[target]), u.Fragment) {
				t.Errorf("%s links to %s: no such heading in %s", name, m[1], target)
			}
		}
	}
}

// Nobody finds a document that nothing links to: the README links to each page for
// users, CONTRIBUTING.md to each page about the project's own workings.
func TestDocumentedPages(t *testing.T) {
	t.Parallel()
	for name := range documents(t) {
		from := "README.md"
		if strings.HasPrefix(name, "docs/internals/") {
			from = "CONTRIBUTING.md"
		}
		if name != from && !strings.Contains(read(t, from), "]("+name+")") {
			t.Errorf("%s has no link to %s", from, name)
		}
	}
}

// headings are the anchors GitHub makes of a document's headings.
func headings(text string) []string {
	var list []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		anchor := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		list = append(list, strings.ReplaceAll(anchor, " ", "-"))
	}
	return list
}

// The versions that are installed stand where people look for them, and are those
// of the image.
func TestDocumentedVersions(t *testing.T) {
	t.Parallel()
	dockerfile := read(t, "Dockerfile")
	text, rows := read(t, "docs/agents.md"), 0
	for _, name := range agent.Known() {
		from, ok := agent.PackageOf(name)
		if !ok {
			continue
		}
		rows++
		if row := "|`" + name + "`|`" + from.Name + "`|" + from.Version + "|"; !strings.Contains(text, "\n"+row) {
			t.Errorf("docs/agents.md lacks the row %s", row)
		}
	}
	if got := len(regexp.MustCompile("(?m)^\\|`[a-z]+`\\|`@?[a-z/-]+`\\|[0-9]").FindAllString(text, -1)); got != rows {
		t.Errorf("docs/agents.md has %d rows of agents with their versions, want %d", got, rows)
	}
	for variable, name := range map[string]string{"CLAUDE_VERSION": "claude", "CODEX_VERSION": "codex"} {
		from, _ := agent.PackageOf(name)
		if !strings.Contains(dockerfile, "\nARG "+variable+"="+from.Version+"\n") {
			t.Errorf("Dockerfile: ARG %s is not %s", variable, from.Version)
		}
	}
}

// Every agent has a column in the tables of what agents can do, a section, and a
// place among the credentials, which name each variable it is handed.
func TestDocumentedAgents(t *testing.T) {
	t.Parallel()
	doc, readme := read(t, "docs/agents.md"), read(t, "README.md")
	_, credentials, _ := strings.Cut(doc, "\n## Credentials\n")
	credentials, _, _ = strings.Cut(credentials, "\n## ")
	var headers []string
	for line := range strings.Lines(doc) {
		if strings.HasPrefix(line, "||`claude`|`codex`|") {
			headers = append(headers, line)
		}
	}
	if len(headers) == 0 {
		t.Fatal("docs/agents.md: no table with a column for each agent")
	}
	for _, name := range agent.Known() {
		for _, header := range headers {
			if !strings.Contains(header, "`"+name+"`") {
				t.Errorf("docs/agents.md: no column for %s in the table %s", name, header)
			}
		}
		if !strings.Contains(doc, "\n## "+name+"\n") {
			t.Errorf("docs/agents.md: no section \"## %s\" about its command line and what is special", name)
		}
		if !regexp.MustCompile("(?m)^\\|.*`" + name + "`").MatchString(credentials) {
			t.Errorf("docs/agents.md: no credentials of %s", name)
		}
		for _, variable := range agent.Credentials(name) {
			if !strings.Contains(credentials, "`"+variable+"`") {
				t.Errorf("docs/agents.md does not name %s, which %s is handed", variable, name)
			}
		}
		if !strings.Contains(readme, "\n|`"+name+"`|") {
			t.Errorf("README.md: no row about the agent %s", name)
		}
	}
	for _, m := range regexp.MustCompile("`([A-Z][A-Z_]*_[A-Z_]+)`").FindAllStringSubmatch(credentials, -1) {
		handed := func(name string) bool { return slices.Contains(agent.Credentials(name), m[1]) }
		told := []string{ // the credentials no agent gets by itself, and where CLIs keep their logins
			"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "GOOGLE_APPLICATION_CREDENTIALS", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME",
		}
		if !slices.ContainsFunc(agent.Known(), handed) && !slices.Contains(told, m[1]) {
			t.Errorf("docs/agents.md names %s among the credentials, which no agent is handed", m[1])
		}
	}
}

// What is promised of agents has tests that exist. These rows have no numbers.
func TestConformanceOfAgents(t *testing.T) {
	t.Parallel()
	_, rows, _ := strings.Cut(read(t, conformance), "\n## Agents\n")
	named := regexp.MustCompile("`([^`]*\\.(?:txtar|go:[A-Za-z0-9]+))`")
	count := 0
	for line := range strings.Lines(rows) {
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|What is promised|") || strings.HasPrefix(line, "|---|") {
			continue
		}
		tests := named.FindAllStringSubmatch(line, -1)
		if count++; len(tests) == 0 {
			t.Errorf("%s: no test in the row %s", conformance, line)
		}
		for _, m := range tests {
			path, function, inGo := strings.Cut(m[1], ":")
			if text := read(t, path); inGo && !strings.Contains(text, "\nfunc "+function+"(t *testing.T)") {
				t.Errorf("%s: %s has no test %s", conformance, path, function)
			}
		}
	}
	if count == 0 {
		t.Errorf("%s has no rows about agents", conformance)
	}
}

// Every module that is required directly stands in the list with its reason,
// and nothing else does.
func TestDocumentedDependencies(t *testing.T) {
	t.Parallel()
	doc := read(t, "docs/internals/dependencies.md")
	direct := regexp.MustCompile(`(?m)^\t(\S+) v\S+$`).FindAllStringSubmatch(read(t, "go.mod"), -1)
	if len(direct) == 0 {
		t.Fatal("go.mod: no direct dependency found")
	}
	for _, m := range direct {
		if !strings.Contains(doc, "\n|`"+m[1]+"`") {
			t.Errorf("docs/internals/dependencies.md lacks %s", m[1])
		}
	}
	if rows := strings.Count(doc, "\n|`"); rows != len(direct) {
		t.Errorf("docs/internals/dependencies.md has %d rows, go.mod %d direct dependencies", rows, len(direct))
	}
}
