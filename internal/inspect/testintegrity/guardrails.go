package testintegrity

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
)

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// guardrails tells which of the commands that judge the work are defined in
// files of the change.
func (k *look) guardrails() {
	for _, command := range k.options.Guardrails {
		g := &leads{look: k, seen: map[string]bool{}, found: map[string]string{}, parts: map[string][2]map[string]target{}}
		g.command(command, ".", 0)
		for _, name := range sorted(g.found) {
			k.add(rankGuardrail, ralph.FindingChecks, name, 0, "guardrail", "the guardrail "+shown(command)+" is defined in a file that the run changed"+g.found[name])
		}
	}
}

// leads follows a command to the files that define it.
type leads struct {
	*look
	seen     map[string]bool
	steps    int               // commands and targets that were followed
	scripts  int               // that are being followed, one in the other
	captured int               // above 0: what a command writes is compared with something
	found    map[string]string // paths of changed files, and what of them it is
	parts    map[string][2]map[string]target
}

// Bounds of following: depth of scripts that start scripts, commands and targets.
const (
	maxDepth = 8
	maxSteps = 500
)

// words splits a command line as a shell roughly does. Between two commands stands
// a semicolon; what is quoted is split as well, because it may be a command itself.
func words(command string) []string {
	var list []string
	for part := range strings.FieldsFuncSeq(command[:min(len(command), 16<<10)], func(r rune) bool { return strings.ContainsRune("\n`;|&(){}", r) }) {
		list = append(append(list, strings.FieldsFunc(part, func(r rune) bool { return strings.ContainsRune(" \t\r'\"<>,", r) })...), ";")
	}
	return list
}

// rest are the words of a command behind the one at i.
func rest(list []string, i int) []string {
	list = list[i+1:]
	if end := slices.Index(list, ";"); end >= 0 {
		list = list[:end]
	}
	return list
}

// command follows what a command line starts.
func (g *leads) command(command, dir string, depth int) {
	if g.steps++; depth > maxDepth || g.steps > maxSteps || g.seen[dir+"\x00"+command] {
		return
	}
	g.seen[dir+"\x00"+command] = true
	list := words(command)
	for i, word := range list {
		if word == ";" || g.steps > maxSteps {
			continue
		}
		if word == "cd" && i+1 < len(list) {
			if to := path.Join(dir, list[i+1]); to != dir && !strings.HasPrefix(to, "..") {
				g.command(strings.Join(list[i+2:], " "), to, depth+1)
			}
		}
		if name := path.Join(dir, named(word)); g.judges(list, i, dir) && g.file(name) {
			g.script(name, depth)
		}
		switch tool := path.Base(word); tool {
		case "npm", "pnpm", "yarn", "bun", "composer":
			g.npm(rest(list, i), dir, depth)
		case "make", "gmake":
			g.block([]string{"GNUmakefile", "makefile", "Makefile"}, rest(list, i), dir, depth)
		case "just":
			g.block([]string{"justfile", "Justfile", ".justfile"}, rest(list, i), dir, depth)
		default:
			for _, name := range definitions[tool] {
				g.whole(path.Join(dir, name))
			}
		}
	}
}

// named is the file that a word may name: itself, or the value of a flag.
func named(word string) string {
	if flag, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(flag, "-") {
		return value
	}
	return word
}

// definitions are the files that define what a tool runs, as a whole.
var definitions = map[string][]string{
	"tox": {"tox.ini", "pyproject.toml", "setup.cfg"}, "nox": {"noxfile.py"}, "rake": {"Rakefile"},
	"pre-commit": {".pre-commit-config.yaml"}, "lefthook": {"lefthook.yml"},
	"mvn": {"pom.xml"}, "mvnw": {"pom.xml"},
	"gradle":  {"build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"},
	"gradlew": {"build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"},
}

// judges reports whether a word of a command names a file that decides: the program
// that runs, or its configuration. What a tool is told to look at decides nothing,
// but where it is what a result is compared with. A script starts the program that
// it tests, too: of what it starts, other scripts count whose output it does not
// capture, and what is named as a check.
func (g *leads) judges(list []string, i int, dir string) bool {
	flag, value, _ := strings.Cut(list[i], "=")
	name := path.Join(dir, named(list[i]))
	check := checkFile.MatchString(name)
	old, now := g.content(name)
	switch {
	case value != "" && !strings.HasPrefix(flag, "-"): // a variable
		return false
	case runs(list, i):
		if lang := languageOf(name); lang != nil && isTest(name) && old != nil && len(lang.cases(lex(old, lang.lexis))) > 0 {
			return false // its tests are compared
		}
		return g.scripts == 0 || check || g.captured == 0 && (isScript(name, old) || isScript(name, now))
	case value != "":
		return configures.MatchString(flag)
	case i > 0 && configures.MatchString(list[i-1]):
		return true
	}
	return check && languageOf(name) == nil
}

// checkFile finds names of files that check something, or are compared with.
var checkFile = re(`(?i)test|spec|check|lint|verif|valid|expect|golden|snapshot|assert|ci[/.]`)

// configures finds flags behind which a file stands that a tool obeys.
var configures = re(`^-(?:c|f|r|-\w*(?:conf|rc|file|setting|project|require|import|load|plugin|rules|baseline|setup|script)[\w-]*)$`)

// What is written in front of a command, what runs the command behind a second
// word, what runs the program that is named behind it, and the flags with which it
// only looks at that.
const (
	before       = " sudo time env exec nohup command xargs timeout then do else if while until ! @ npx cross-env eval "
	runners      = " go uv poetry pipenv pdm hatch rye bundle npm pnpm yarn bun deno mise dotenv "
	interpreters = " sh bash dash zsh ksh . source node nodejs python python3 python2 ruby perl php deno bun tsx ts-node babel-node pwsh lua Rscript "
	lookers      = " --check --test -n -l -m --lint --syntax-check "
)

// runs reports whether the word at i is the program of its command.
func runs(list []string, i int) bool {
	start := i
	for start > 0 && list[start-1] != ";" {
		start--
	}
	args := list[start:i]
	for len(args) > 0 {
		switch word := strings.TrimLeft(args[0], "@-+"); {
		case word == "", contains(before, word), strings.Contains(word, "="), word[0] >= '0' && word[0] <= '9':
			args = args[1:]
			continue
		case len(args) > 1 && contains(runners, word) && (args[1] == "run" || args[1] == "exec"):
			if args = args[2:]; word == "go" || word == "deno" || word == "bun" {
				return !slices.ContainsFunc(args, func(arg string) bool { return !strings.HasPrefix(arg, "-") })
			}
			continue
		}
		break
	}
	if len(args) == 0 {
		return true
	}
	program := path.Base(args[0])
	if len(args) > 1 && args[len(args)-1] == "-c" && strings.HasSuffix(program, "sh") {
		return true
	}
	return contains(interpreters, program) && !slices.ContainsFunc(args[1:], func(arg string) bool {
		return !strings.HasPrefix(arg, "-") || contains(lookers, arg) || arg == "-c"
	})
}

// file notes a changed file, and reports whether there is one of the name, changed or not.
func (g *leads) file(name string) bool {
	if name == "." || strings.HasPrefix(name, "/") || strings.HasPrefix(name, "..") {
		return false
	}
	if f := g.changed(name); f != nil {
		if !f.Added || g.base(name) != nil {
			g.found[f.Path] = ""
		} else {
			g.found[f.Path] = " (it is new)"
		}
		return true
	}
	return path.Ext(name) != "" && g.base(name) != nil
}

// changed is the file of the change by a name it has or had.
func (g *leads) changed(name string) *File {
	for i := range g.files {
		if f := &g.files[i]; f.Path == name || f.From == name {
			return f
		}
	}
	return nil
}

func (g *leads) base(name string) []byte {
	if g.options.Base == nil {
		return nil
	}
	return g.options.Base(name)
}

// content returns a file before and after, nil if there was or is none.
func (g *leads) content(name string) (old, now []byte) {
	if f := g.changed(name); f != nil {
		return f.Old, f.New
	}
	text := g.base(name)
	return text, text
}

// captured finds commands whose output a script keeps.
var captured = re("\\$\\([^()]*\\)|`[^`]*`")

// script follows what a shell script starts.
func (g *leads) script(name string, depth int) {
	g.scripts++
	defer func() { g.scripts-- }()
	old, now := g.content(name)
	for _, text := range [][]byte{old, now} {
		if len(text) == 0 || len(text) > maxFile || !isScript(name, text) {
			continue
		}
		for _, line := range linesOf(text) {
			if line[0] == '#' {
				continue
			}
			g.command(string(captured.ReplaceAll(line, []byte("-"))), ".", depth+1)
			g.captured++
			for _, command := range captured.FindAll(line, -1) {
				g.command(string(command), ".", depth+1)
			}
			g.captured--
		}
	}
}

// arguments gives the goals of a tool, the directory it works in, and the file it reads
// when it is told.
func arguments(args []string, dir string) (goals []string, in, file string) {
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case contains(" -C --prefix --cwd --dir ", arg) && i+1 < len(args):
			i++
			dir = path.Join(dir, args[i])
		case arg == "-f" && i+1 < len(args):
			i++
			file = args[i]
		case strings.HasPrefix(arg, "-") || strings.Contains(arg, "=") || arg == "run" || arg == "run-script":
		default:
			goals = append(goals, arg)
		}
	}
	return goals, dir, file
}

// npm follows the scripts of a package.json.
func (g *leads) npm(args []string, dir string, depth int) {
	goals, dir, _ := arguments(args, dir)
	if len(goals) == 0 {
		return
	}
	name := goals[0]
	if name == "t" || name == "tst" {
		name = "test"
	}
	for _, file := range []string{"package.json", "composer.json"} {
		file = path.Join(dir, file)
		old, now := g.content(file)
		a, b := scripts(old), scripts(now)
		for _, script := range []string{"pre" + name, name, "post" + name} {
			if a[script] != b[script] {
				g.found[file] = ": its script " + shown(script)
			}
			for _, text := range []string{a[script], b[script]} {
				if text != "" {
					g.command(text, dir, depth+1)
				}
			}
		}
	}
}

// scripts are those of a package.json or composer.json, lists joined.
func scripts(text []byte) map[string]string {
	var doc struct {
		Scripts map[string]any `json:"scripts"`
	}
	_ = json.Unmarshal(text, &doc) // what cannot be read has no scripts
	out := map[string]string{}
	for name, v := range doc.Scripts {
		switch v := v.(type) {
		case string:
			out[name] = v
		case []any:
			for _, part := range v {
				if s, ok := part.(string); ok {
					out[name] += s + " ; "
				}
			}
		}
	}
	return out
}

// block follows the targets of a Makefile and its kin, and what they need.
func (g *leads) block(files, args []string, dir string, depth int) {
	goals, dir, told := arguments(args, dir)
	if told != "" {
		files = []string{told}
	}
	for _, file := range files {
		file = path.Join(dir, file)
		old, now := g.content(file)
		if old == nil && now == nil {
			continue
		}
		parts, ok := g.parts[file]
		if !ok {
			parts = [2]map[string]target{blocks(path.Base(file), old), blocks(path.Base(file), now)}
			g.parts[file] = parts
		}
		a, b := parts[0], parts[1]
		if len(goals) == 0 {
			goals = []string{first(a), first(b), "default"}
		}
		for todo := append([]string{""}, goals...); len(todo) > 0 && g.steps < maxSteps; todo = todo[1:] {
			goal := todo[0]
			id := "target\x00" + file + "\x00" + goal
			if g.seen[id] {
				continue
			}
			g.seen[id] = true
			for _, text := range []string{a[goal].text, b[goal].text} {
				head, _, _ := strings.Cut(text, "\n")
				if _, needs, ok := strings.Cut(head, ":"); ok && goal != "" {
					todo = append(todo, words(needs)...)
				}
				if goal != "" {
					g.command(strings.ReplaceAll(strings.ReplaceAll(text, "$(MAKE)", "make"), "@", " "), dir, depth+1)
				}
			}
			if f := g.changed(file); f != nil && a[goal].text != b[goal].text {
				g.found[f.Path] = ""
				if goal != "" {
					g.found[f.Path] = ": its target " + shown(goal)
				}
			}
		}
	}
}

// whole notes a file that defines a command as a whole.
func (g *leads) whole(name string) {
	f := g.changed(name)
	if f == nil {
		return
	}
	if c := configurationOf(name); c == nil || path.Base(name) == "tox.ini" || c.differs(name, *f) {
		g.found[f.Path] = ""
	}
}
