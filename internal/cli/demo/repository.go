package demo

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"github.com/org/ralph-action/internal/cli/demo/gitserver"
)

//go:embed repository
var repositoryFiles embed.FS

// Task is what the demo asks of its agent.
const Task = "greet.sh is wrong when it is called without a name: it should greet the whole world. Make it pass test.sh and say so in README.md."

// Guardrail is the command that judges the demo's agent.
const Guardrail = "sh test.sh"

// Files is the demo's repository: a small program with a failing test.
func Files() (map[string]gitserver.File, error) {
	root, err := fs.Sub(repositoryFiles, "repository")
	if err != nil {
		return nil, fmt.Errorf("demo repository: %w", err)
	}
	files := map[string]gitserver.File{}
	err = fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		raw, err := fs.ReadFile(root, path)
		// Embedding loses the executable bit; here it is what scripts have.
		files[path] = gitserver.File{Content: string(raw), Executable: strings.HasSuffix(path, ".sh")}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("demo repository: %w", err)
	}
	return files, nil
}
