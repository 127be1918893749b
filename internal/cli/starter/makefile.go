package starter

import (
	"io/fs"
	"slices"
	"strings"
)

// targets lists which of lint, vet, check and test `make` would do something for, in this
// order. As make does, it looks at the first of the three names only; included files and
// conditions are not followed.
func targets(root fs.FS) []string {
	for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} {
		if data, ok := manifest(root, name); ok {
			return makeTargets(string(data))
		}
	}
	return nil
}

// makeTargets reads the rules of a makefile, but for what functions and definitions make.
// A rule without recipe and prerequisites is no check.
func makeTargets(text string) []string {
	var checks, open []string // that do something; the targets of the last rule, which wait for a recipe
	for line := range strings.Lines(strings.NewReplacer("\ufeff", "", "\r\n", "\n", "\\\n", " ").Replace(text)) {
		if recipe, ok := strings.CutPrefix(line, "\t"); ok {
			if strings.TrimSpace(recipe) != "" {
				checks = append(checks, open...)
			}
			continue
		}
		line, _, _ = strings.Cut(line, "#")
		names, rest, ok := strings.Cut(line, ":")
		if !ok || strings.ContainsAny(names, "=$") {
			continue
		}
		prerequisites, recipe, _ := strings.Cut(strings.TrimPrefix(rest, ":"), ";")
		if open = nil; strings.Contains(prerequisites, "=") {
			continue // it sets a variable
		}
		open = strings.Fields(strings.TrimSuffix(strings.TrimSpace(names), "&")) // &: is for grouped targets
		if strings.TrimSpace(prerequisites) != "" || strings.TrimSpace(recipe) != "" {
			checks = append(checks, open...)
		}
	}
	return slices.DeleteFunc([]string{"lint", "vet", "check", "test"}, func(name string) bool { return !slices.Contains(checks, name) })
}
