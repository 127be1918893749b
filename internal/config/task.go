package config

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/config/textfile"
)

// Task is the task as it is now: a prompt file is read again, so that it can be
// edited while the run goes on. A file of the workspace is never read through a
// symbolic link that leads out of it: the agent may have put one there.
func (c Config) Task(workspace string) (string, error) {
	if c.Prompt.File == "" {
		return c.Prompt.Text, nil
	}
	data, err := textfile.Again(workspace, c.Prompt.File, maxPrompt)
	switch {
	case err != nil:
		return "", fmt.Errorf("prompt file %q cannot be read again: %s", c.Prompt.File, textfile.Cause(err))
	case len(data) > maxPrompt:
		return "", fmt.Errorf("prompt file %q is larger than %d MiB now", c.Prompt.File, maxPrompt>>20)
	case !utf8.Valid(data):
		return "", fmt.Errorf("prompt file %q is no UTF-8 text any more", c.Prompt.File)
	case strings.TrimSpace(string(data)) == "":
		return "", fmt.Errorf("prompt file %q is empty now", c.Prompt.File)
	}
	return string(data), nil
}

// HasTask reports whether there is a task besides that of the event that started
// the run: a prompt, or one that the mode brings.
func (c Config) HasTask() bool {
	return c.Prompt.Text != "" || c.Prompt.File != "" || !takesEvent(c.Mode)
}

// Uncounted reports whether the agent's output, plain text, says neither cost nor tokens.
func (c Config) Uncounted() bool { return c.Agent.Name == "text" || c.Output.Format == "text" }

// WhyResume is what asks for a session that goes on, in the words of who set it.
func (c Config) WhyResume() string {
	return map[bool]string{true: "mode session", false: "session: resume"}[c.Mode == ModeSession]
}

// Files are what configuration and task were read from, as people would name them.
func (c Config) Files() []string {
	if c.Prompt.File == "" {
		return c.Loaded
	}
	return append(slices.Clone(c.Loaded), c.Prompt.File)
}
