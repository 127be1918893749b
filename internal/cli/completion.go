package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/org/ralph-action/internal/cli/flagset"
	"github.com/org/ralph-action/internal/cli/manual"
	"github.com/org/ralph-action/internal/config"
)

// completionCommand prints a script for a shell, which asks cobra's hidden command.
func (a *app) completionCommand() *cobra.Command {
	shells := []string{"bash", "zsh", "fish"}
	cmd := a.command("completion <shell>", "Print a script that completes commands in bash, zsh or fish.", `Install it for
  bash:  echo 'source <(ralph completion bash)' >> ~/.bashrc    it needs the package bash-completion
  zsh:   echo 'source <(ralph completion zsh)' >> ~/.zshrc      after compinit
  fish:  ralph completion fish > ~/.config/fish/completions/ralph.fish

The script asks the ralph on PATH for what fits, so it stays right when ralph is updated.`, nil)
	cmd.ValidArgsFunction = cobra.FixedCompletions(shells, cobra.ShellCompDirectiveNoFileComp)
	cmd.RunE = func(cmd *cobra.Command, words []string) error {
		switch root := cmd.Root(); words[0] {
		case "bash":
			return root.GenBashCompletionV2(a.stdout, true)
		case "zsh":
			return root.GenZshCompletion(a.stdout)
		case "fish":
			return root.GenFishCompletion(a.stdout, true)
		}
		return wrong("<shell> must be one of %s, not %q", strings.Join(shells, ", "), words[0])
	}
	return cmd
}

// manCommand prints the man page, for those who package ralph. Of the commands that take
// the flags of `ralph run`, that one lists them.
func (a *app) manCommand() *cobra.Command {
	return a.command("man", "", "", func([]string) error {
		root := a.commands()
		i := slices.IndexFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == config.ModeRun })
		flagset.Register(root.Commands()[i].Flags(), config.ModeRun, a.localDefaults(config.ModeRun), false)
		_, err := a.stdout.WriteString(manual.Page(root, a.build.Version))
		return err
	})
}
