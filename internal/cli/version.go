package cli

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
)

// Build is what a binary says of itself.
type Build struct {
	Version string // such as v1.2.3; "dev" unless it was set when the binary was built
	Commit  string // it was built from; may be empty
	Time    string // of the commit, RFC 3339; may be empty
}

// retiredList names versions that nobody should use any more, one a line, each
// with the reason behind a space.
//
//go:embed retired.txt
var retiredList string

// retired returns a warning for each of the given versions that was withdrawn.
func retired(list string, versions ...string) []string {
	var warnings []string
	for line := range strings.Lines(list) {
		name, why, _ := strings.Cut(strings.TrimSpace(line), " ")
		for _, v := range versions {
			if name != "" && !strings.HasPrefix(name, "#") && v == name {
				warnings = append(warnings, fmt.Sprintf("ralph-action %s was withdrawn: %s. Use a newer version.", name, strings.TrimSuffix(why, ".")))
			}
		}
	}
	return warnings
}

// retired returns what is wrong with the version in use: the binary's, or the one that
// the workflow asked for.
func (a *app) retired() []string {
	versions := []string{a.build.Version}
	if ref := a.getenv("GITHUB_ACTION_REF"); ref != a.build.Version {
		versions = append(versions, ref)
	}
	return retired(retiredList, versions...)
}

// version is the build's, or for a build without one, the version of the action
// that a workflow asked for.
func (a *app) version() string {
	if ref := a.getenv("GITHUB_ACTION_REF"); a.build.Version == "dev" && ref != "" {
		return ref
	}
	return a.build.Version
}

type versionCmd struct {
	JSON bool `name:"json" help:"Print version, commit, its time, Go and platform as JSON."`
}

func (c versionCmd) Run(a *app) error {
	if !c.JSON {
		_, err := fmt.Fprintln(a.stdout, a.build.Version)
		return err
	}
	text, err := json.MarshalIndent(struct {
		Version  string `json:"version"`
		Commit   string `json:"commit,omitempty"`
		Time     string `json:"commit-time,omitempty"`
		Source   string `json:"source"`
		Go       string `json:"go"`
		Platform string `json:"platform"`
	}{a.build.Version, a.build.Commit, a.build.Time, "https://github.com/org/ralph-action", runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(a.stdout, "%s\n", text)
	}
	return err
}
