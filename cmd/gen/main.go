// Command gen writes the parts of documents, and the files of source, that are made from
// a table of the program's, or from the module of gitleaks. `go generate ./...` runs it, and a test fails when something
// is stale.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

//go:generate go run .

func main() {
	root, err := findRoot()
	if err == nil {
		err = write(root)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// findRoot is the directory of go.mod, above the one we are in.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod above the current directory")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}

// write brings every file up to date.
func write(root string) error {
	files, err := generate(root)
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// generate returns the files that are not as they should be, by their paths below
// root, with the text they should have.
func generate(root string) (map[string]string, error) {
	stale := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "Dockerfile"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			name, err := filepath.Rel(root, path)
			if err != nil {
				return nil, err
			}
			old, err := os.ReadFile(path) // #nosec G304 -- of this repository
			if err != nil {
				return nil, err
			}
			text, err := fill(string(old), blocks())
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if text != string(old) {
				stale[name] = text
			}
		}
	}
	written, err := sources()
	if err != nil {
		return nil, err
	}
	if written[reportSchemaFile], err = reportSchema(root); err != nil {
		return nil, err
	}
	if written[locksFile], err = packLocks(root); err != nil {
		return nil, err
	}
	for name, text := range written {
		if old, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(old) != text { // #nosec G304 -- of this repository
			stale[name] = text
		}
	}
	return stale, nil
}

// blocks are the texts that stand between markers, by their names.
func blocks() map[string]func() string {
	return map[string]func() string{
		"inputs":             inputsList,
		"core-inputs":        coreInputsTable,
		"outputs":            outputsList,
		"outcomes":           outcomesTable,
		"modes":              modesTable,
		"agents":             agentsTable,
		"agents-abilities":   abilitiesTable,
		"agents-versions":    versionsTable,
		"agents-credentials": credentialsTable,
		"agents-hosts":       hostsList,
		"agents-api-keys":    apiKeysTable,
		"agents-image":       imageVersions,
		"hook-thresholds":    thresholdsTable,
		"hook-kinds":         kindsTable,
		"hook-evasions":      evasionsList,
	}
}

// sources are the files that are written whole, by their paths.
func sources() (map[string]string, error) {
	rules, err := gitleaksRules()
	return map[string]string{
		"action.yml":                                actionYAML(false),
		"host/action.yml":                           actionYAML(true),
		"docs/ralph.schema.json":                    configurationSchema(),
		"docs/settings.schema.json":                 settingsSchema(),
		"internal/cli/starter/settings.schema.json": settingsSchema(),
		"internal/agent/drivers.go":                 drivers(),
		"internal/inspect/secretscan/gitleaks.json": rules,
	}, err
}
