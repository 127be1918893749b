// Package build is what a binary knows of itself.
package build

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// Info is what a binary says of itself.
type Info struct {
	Version string // such as v1.2.3; "dev" unless it was set when the binary was built
	Commit  string // it was built from; may be empty
	Time    string // of the commit, RFC 3339; may be empty
}

// JSON is what `ralph version --json` prints.
func (i Info) JSON() ([]byte, error) {
	return json.MarshalIndent(struct {
		Version  string `json:"version"`
		Commit   string `json:"commit,omitempty"`
		Time     string `json:"commit-time,omitempty"`
		Source   string `json:"source"`
		Go       string `json:"go"`
		Platform string `json:"platform"`
	}{i.Version, i.Commit, i.Time, "https://github.com/org/ralph-action", runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}, "", "  ")
}

// retired names versions that were withdrawn, one a line, each with the reason
// behind a space.
//
//go:embed retired.txt
var retired string

// Retired returns a warning for each of some versions that was withdrawn.
func Retired(versions ...string) []string { return retiredIn(retired, versions...) }

func retiredIn(list string, versions ...string) []string {
	var warnings []string
	for line := range strings.Lines(list) {
		name, why, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name != "" && name != "#" && slices.Contains(versions, name) {
			warnings = append(warnings, fmt.Sprintf("ralph-action %s was withdrawn: %s. Use a newer version.", name, strings.TrimSuffix(why, ".")))
		}
	}
	return warnings
}
