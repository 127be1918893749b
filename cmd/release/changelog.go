package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	versionForm = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)
	// heading is one of Keep a Changelog: "## [1.2.3] - 2026-01-31" or "## [Unreleased]".
	heading = regexp.MustCompile(`(?m)^## \[([^\]]+)\](?: - (\d{4}-\d{2}-\d{2}))?[ \t]*$`)
)

func (r *release) changelog() string {
	text, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return ""
	}
	return string(text)
}

// unreleased is the version of a tree whose changelog names none yet.
const unreleased = "v0.0.0-unreleased"

// changelogVersion returns the version of the changelog's first section.
func changelogVersion(text string) (string, error) {
	first := heading.FindStringSubmatch(text)
	switch {
	case first == nil:
		return "", errors.New(`CHANGELOG.md has no section like "## [1.2.3] - 2026-01-31"`)
	case first[1] == "Unreleased":
		return unreleased, nil
	}
	return "v" + first[1], nil
}

// notes returns the section of the changelog for the release.
func (r *release) notes() (string, error) {
	text := r.changelog()
	all := heading.FindAllStringSubmatchIndex(text, -1)
	for i, at := range all {
		name := text[at[2]:at[3]]
		if "v"+name != r.version && (name != "Unreleased" || r.version != unreleased) {
			continue
		}
		end := len(text)
		if i+1 < len(all) {
			end = all[i+1][0]
		}
		if section := strings.TrimSpace(text[at[1]:end]); section != "" {
			return section, nil
		}
		return "", fmt.Errorf("CHANGELOG.md says nothing under [%s]", name)
	}
	return "", fmt.Errorf("CHANGELOG.md has no section [%s]: name the release there first", strings.TrimPrefix(r.version, "v"))
}
