package actions

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// StepOutputs hands values to later steps of a job, as pairs of name and value, by
// the file of GITHUB_OUTPUT.
// The delimiter is random: no value can end its own lines.
func StepOutputs(path string, pairs ...string) error {
	if path == "" {
		return errors.New("flag --output: GITHUB_OUTPUT is not set: it works in a step of GitHub Actions only")
	}
	var b strings.Builder
	for i := 0; i+1 < len(pairs); i += 2 {
		end := "ralph_" + rand.Text()
		fmt.Fprintf(&b, "%s<<%s\n%s\n%s\n", pairs[i], end, pairs[i+1], end)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return fmt.Errorf("GITHUB_OUTPUT names a file that cannot be written: %w", err)
	}
	_, err = file.WriteString(b.String())
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("GITHUB_OUTPUT: %w", err)
	}
	return nil
}
