package cli

import (
	"fmt"

	"github.com/org/ralph-action/internal/cli/manual"
)

// completionCmd prints a script for a shell.
type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help is shown below the flags.
func (completionCmd) Help() string {
	return `Install it for
  bash:  echo 'source <(ralph completion bash)' >> ~/.bashrc
  zsh:   echo 'source <(ralph completion zsh)' >> ~/.zshrc    after compinit
  fish:  ralph completion fish > ~/.config/fish/completions/ralph.fish

The script asks the ralph on PATH for what fits, so it stays right when ralph is updated.`
}

// Run prints it.
func (c *completionCmd) Run(a *app) error {
	_, err := a.stdout.WriteString(manual.Script(c.Shell))
	return err
}

// manCmd prints the man page, for those who package ralph.
type manCmd struct{}

// Run prints it. Of the commands that take the flags of `ralph run`, that one lists them.
func (manCmd) Run(a *app) error {
	parser, err := a.parser([]string{"run"}, false, nil)
	if err != nil {
		return err
	}
	_, err = a.stdout.WriteString(manual.Page(parser.Model, a.build.Version))
	return err
}

// completeCmd answers the script.
type completeCmd struct {
	Words []string `arg:"" optional:"" passthrough:""`
}

// Run prints the candidates for the last word.
func (c *completeCmd) Run(a *app) error {
	parser, err := a.parser(c.Words, false, nil)
	if err != nil {
		return err
	}
	for _, line := range manual.Candidates(parser.Model, c.Words) {
		fmt.Fprintln(a.stdout, line)
	}
	return nil
}
