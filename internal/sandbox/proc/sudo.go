package proc

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"time"
)

// Sudo returns why sudo does not work without a password; nil if it does.
func Sudo(ctx context.Context, environ []string) error {
	sudo, err := LookPath("sudo", environ)
	if err != nil {
		return errors.New("sudo is not on PATH")
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, sudo, "-n", "true") // #nosec G204 -- what the owner's PATH calls sudo
	cmd.Env, cmd.Dir = environ, "/"
	if says, err := cmd.CombinedOutput(); err != nil {
		text := strings.TrimSpace(string(says))
		if text == "" {
			text = err.Error()
		}
		return errors.New(text)
	}
	return nil
}
