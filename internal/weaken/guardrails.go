package weaken

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
	seen    map[string]bool
	scripts int               // that are being followed, one in the other
	found   map[string]string // paths of changed files, and what of them it is
	tools   int               // that were followed
	parts   map[string][2]map[string]target
}

// Bounds of following: depth of scripts that start scripts, and commands.
const (
	maxDepth    = 8
	maxCommands = 500
)

// words splits a command line as a shell roughly does; what is quoted is split
// as well, because it may be a command itself.
func words(command string) []string {
	return strings.FieldsFunc(command[:min(len(command), 16<<10)], func(r rune) bool {
		return strings.ContainsRune(" \t\r\n'\"`;|&(){}<>,", r)
	})
}

func (g *leads) command(command, dir string, depth int) {
	if depth > maxDepth || len(g.seen) > maxCommands || g.seen[dir+"\x00"+command] {
		return
	}
	g.seen[dir+"\x00"+command] = true
	list := words(command)
	for i, word := range list {
		next := ""
		if i+1 < len(list) {
			next = list[i+1]
		}
		if word == "cd" && next != "" {
			if to := path.Join(dir, next); to != dir && !strings.HasPrefix(to, "..") {
				g.command(strings.Join(list[i+2:], " "), to, depth+1)
			}
		}
		if g.judges(list, i, dir) && g.file(path.Join(dir, word)) {
			g.script(path.Join(dir, word), depth)
		}
		if _, value, ok := strings.Cut(word, "="); ok && g.judges(list, i, dir) && g.file(path.Join(dir, value)) {
			g.script(path.Join(dir, value), depth)
		}
		if g.tools > maxCommands {
			return
		}
		switch path.Base(word) {
		case "npm", "pnpm", "yarn", "bun", "composer", "make", "gmake", "just", "task", "go-task":
			g.tools++
		}
		switch path.Base(word) {
		case "npm", "pnpm", "yarn", "bun":
			g.npm(list[i+1:], dir, depth)
		case "composer":
			g.npm(list[i+1:], dir, depth)
		case "make", "gmake":
			g.make(list[i+1:], dir, depth)
		case "just":
			g.block([]string{"justfile", "Justfile", ".justfile"}, list[i+1:], dir, depth)
		case "task", "go-task":
			g.block([]string{"Taskfile.yml", "Taskfile.yaml"}, list[i+1:], dir, depth)
		case "tox":
			g.whole(dir, "tox.ini", "pyproject.toml", "setup.cfg")
		case "nox":
			g.whole(dir, "noxfile.py")
		case "rake":
			g.whole(dir, "Rakefile")
		case "pre-commit":
			g.whole(dir, ".pre-commit-config.yaml")
		case "lefthook":
			g.whole(dir, "lefthook.yml")
		case "mvn", "mvnw":
			g.whole(dir, "pom.xml")
		case "gradle", "gradlew":
			g.whole(dir, "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts")
		case "mix":
			g.whole(dir, "mix.exs")
		}
	}
}

// judges says that a word of a command may name a file that decides. A script
// names the program that it tests, too: there a file counts that is read as a
// part of the script, or whose name says that it tests.
func (g *leads) judges(list []string, i int, dir string) bool {
	if g.scripts == 0 || i > 0 && (list[i-1] == "." || list[i-1] == "source") {
		return true
	}
	name := strings.ToLower(path.Join(dir, list[i]))
	return slices.ContainsFunc([]string{"test", "spec", "check", "lint", "verif", "valid", "expect", "golden", "snapshot", "assert", "ci/", "ci."}, func(part string) bool {
		return strings.Contains(name, part)
	})
}

// file notes a changed file; it says so for one that is not, too.
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

// content is a file before and after; nil where there is none.
func (g *leads) content(name string) (old, now []byte) {
	if f := g.changed(name); f != nil {
		return f.Old, f.New
	}
	text := g.base(name)
	return text, text
}

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
			if line[0] != '#' {
				g.command(string(line), ".", depth+1)
			}
		}
	}
}

// npm follows the scripts of a package.json.
func (g *leads) npm(args []string, dir string, depth int) {
	name := ""
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case (arg == "--prefix" || arg == "-C" || arg == "--cwd" || arg == "--dir") && i+1 < len(args):
			dir = path.Join(dir, args[i+1])
			i++
		case arg == "run" || arg == "run-script" || strings.HasPrefix(arg, "-"):
		case arg == "t" || arg == "tst":
			name = "test"
		default:
			name = arg
		}
		if name != "" {
			break
		}
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

func (g *leads) make(args []string, dir string, depth int) {
	names := []string{"GNUmakefile", "makefile", "Makefile"}
	var goals []string
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "-C" && i+1 < len(args):
			dir = path.Join(dir, args[i+1])
			i++
		case arg == "-f" && i+1 < len(args):
			names = []string{args[i+1]}
			i++
		case strings.HasPrefix(arg, "-") || strings.Contains(arg, "="):
		default:
			goals = append(goals, arg)
		}
	}
	g.block(names, goals, dir, depth)
}

// block follows the targets of a Makefile and its kin, and what they need.
func (g *leads) block(files, goals []string, dir string, depth int) {
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
		todo := append([]string{""}, goals...)
		for len(todo) > 0 && len(g.seen) < 2*maxCommands {
			goal := todo[0]
			todo = todo[1:]
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
			if a[goal].text != b[goal].text && g.changed(file) != nil {
				g.found[g.changed(file).Path] = ""
				if goal != "" {
					g.found[g.changed(file).Path] = ": its target " + shown(goal)
				}
			}
		}
	}
}

// whole notes files that define a command as a whole.
func (g *leads) whole(dir string, names ...string) {
	for _, name := range names {
		name = path.Join(dir, name)
		if f := g.changed(name); f != nil {
			if what, part := g.configuration(name); what != "" && part != nil && f.Old != nil && f.New != nil && part(f.Old) == part(f.New) {
				continue
			}
			g.found[f.Path] = ""
		}
	}
}
