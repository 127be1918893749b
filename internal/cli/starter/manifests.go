package starter

import (
	"encoding/json"
	"io/fs"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
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
	has := tools(string(data))
	if has["ruff"] {
		ruff = run + "ruff check"
	}
	tests, err := fs.Stat(root, "tests")
	if has["pytest"] || (err == nil && tests.IsDir()) {
		pytest = run + "pytest"
	}
	return ruff, pytest
}

// toolTable is the header of a table of ruff's or pytest's.
var toolTable = lazyregexp.New(`(?m)^\s*\[\s*tool\s*\.\s*"?(ruff|pytest)"?\s*[.\]]`)

// tools are those of ruff and pytest that have a table.
func tools(pyproject string) map[string]bool {
	found := map[string]bool{}
	for _, match := range toolTable.FindAllStringSubmatch(pyproject, -1) {
		found[match[1]] = true
	}
	return found
}
