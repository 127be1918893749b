package starter

import (
	"encoding/json"
	"io/fs"
	"slices"
	"strings"
)

// scripts lists the commands for what package.json has of lint, typecheck and
// test, by the package manager whose lock file is there, else by npm.
func scripts(root fs.FS) []string {
	data, ok := manifest(root, "package.json")
	if !ok {
		return nil
	}
	run := "npm run "
	for _, lock := range []struct{ file, run string }{
		{"pnpm-lock.yaml", "pnpm run "}, {"yarn.lock", "yarn run "}, {"bun.lock", "bun run "}, {"bun.lockb", "bun run "},
	} {
		if isFile(root, lock.file) {
			run = lock.run
			break
		}
	}
	var commands []string
	for _, name := range packageScripts(data) {
		commands = append(commands, run+name)
	}
	return commands
}

// packageScripts lists which of lint, typecheck and test are scripts. What npm
// init writes as test is none, nor is one that watches: it never ends.
func packageScripts(data []byte) []string {
	// Maps, because struct fields would also match "Scripts".
	var file, all map[string]json.RawMessage
	if json.Unmarshal(data, &file) != nil || json.Unmarshal(file["scripts"], &all) != nil {
		return nil
	}
	var found []string
	for _, name := range []string{"lint", "typecheck", "test"} {
		var command string
		if json.Unmarshal(all[name], &command) != nil || strings.TrimSpace(command) == "" || strings.Contains(command, "no test specified") {
			continue
		}
		if words := strings.Fields(command); slices.Contains(words, "--watch") || slices.Contains(words, "--watchAll") {
			continue
		}
		found = append(found, name)
	}
	return found
}

// python is the linter's and the test runner's command, "" for none, through
// the tool whose lock file is there.
func python(root fs.FS) (ruff, pytest string) {
	data, ok := manifest(root, "pyproject.toml")
	if !ok {
		return "", ""
	}
	run := ""
	switch {
	case isFile(root, "uv.lock"):
		run = "uv run "
	case isFile(root, "poetry.lock"):
		run = "poetry run "
	}
	tools := tomlTools(string(data))
	if tools["ruff"] {
		ruff = run + "ruff check"
	}
	tests, err := fs.Stat(root, "tests")
	if tools["pytest"] || (err == nil && tests.IsDir()) {
		pytest = run + "pytest"
	}
	return ruff, pytest
}

// tomlTools are the names below [tool] that have a table or a value. It reads
// as much of TOML 1.0 as that takes: headers, keys, and where a value ends.
func tomlTools(text string) map[string]bool {
	tools := map[string]bool{}
	note := func(path []string) {
		if len(path) > 1 && path[0] == "tool" {
			tools[path[1]] = true
		}
	}
	var table []string
	for rest := strings.TrimPrefix(text, "\ufeff"); rest != ""; {
		rest = strings.TrimLeft(rest, " \t\r\n")
		if header, ok := strings.CutPrefix(rest, "["); ok {
			table, rest = tomlKey(strings.TrimPrefix(header, "["))
			note(table)
			rest = skipValue(rest, false)
			continue
		}
		key, after := tomlKey(rest)
		if value, ok := strings.CutPrefix(after, "="); ok {
			note(slices.Concat(table, key))
			rest = skipValue(value, true)
			continue
		}
		rest = skipValue(rest, false) // a comment, or no TOML
	}
	return tools
}

// tomlKey reads a dotted key and returns what follows it.
func tomlKey(text string) (path []string, rest string) {
	for {
		text = strings.TrimLeft(text, " \t")
		if text == "" {
			return path, text
		}
		if quote := text[0]; quote == '"' || quote == '\'' {
			end := strings.IndexAny(text[1:], string(quote)+"\n")
			if end < 0 || text[1+end] == '\n' {
				return path, text
			}
			path, text = append(path, text[1:1+end]), text[end+2:]
		} else {
			end := strings.IndexFunc(text, func(r rune) bool {
				return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
			})
			if end < 0 {
				end = len(text)
			}
			if end == 0 {
				return path, text
			}
			path, text = append(path, text[:end]), text[end:]
		}
		text = strings.TrimLeft(text, " \t")
		if !strings.HasPrefix(text, ".") {
			return path, text
		}
		text = text[1:]
	}
}

// skipValue returns what follows the line; of a value, the line in which it
// ends: strings and brackets may span several.
func skipValue(text string, value bool) string {
	depth := 0
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '\n' && depth <= 0:
			return text[i+1:]
		case c == '#':
			if n := strings.IndexByte(text[i:], '\n'); n >= 0 {
				i += n
				continue
			}
			return ""
		case value && (c == '"' || c == '\''):
			i += tomlString(text[i:])
			continue
		case value && (c == '[' || c == '{'):
			depth++
		case value && (c == ']' || c == '}'):
			depth--
		}
		i++
	}
	return ""
}

// tomlString is the length in bytes of the string that text begins with. One
// that is not closed ends with its line, or with the text.
func tomlString(text string) int {
	quote := text[:1]
	long := strings.HasPrefix(text, quote+quote+quote)
	closing, i := quote, 1
	if long {
		closing, i = quote+quote+quote, 3
	}
	for ; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote == `"`:
			i++
		case text[i] == '\n' && !long:
			return i
		case strings.HasPrefix(text[i:], closing):
			return i + len(closing)
		}
	}
	return len(text)
}
