package content

import (
	"slices"

	"github.com/org/ralph-action/internal/agent/catalog"
)

// Protected are the paths that only people may change where nothing else is
// asked for: whoever changes one of them runs programs elsewhere, decides who has to agree, or
// gives the next agent rights.
func Protected() []string {
	return slices.Concat(
		[]string{
			// Run with the secrets of the repository, as soon as they are pushed.
			".github/workflows/", ".github/actions/", ".gitea/workflows/", ".forgejo/workflows/",
			// What everybody who uses the repository as an action runs.
			"action.yml", "action.yaml",
			// Who has to agree to a change; it has three places and one counts.
			"CODEOWNERS",
			// Where submodules come from: git fetches and checks out from there.
			".gitmodules",
			// Which server gets everybody's large files, and their credentials.
			"/.lfsconfig",
		},
		AgentPrograms(),
		[]string{
			// Editors run these when the directory is opened.
			"**/.vscode/settings.json", "**/.vscode/tasks.json", "**/.vscode/launch.json", "**/.vscode/mcp.json",
			".devcontainer/", ".devcontainer.json",
		},
	)
}

// AgentConfig are the paths that agents, their CLIs and ralph read of a
// repository: AgentPrograms, and the prose that tells agents what to do. That is often
// the task itself, so it is not protected.
func AgentConfig() []string {
	return slices.Concat(AgentPrograms(), catalog.Prose(), []string{
		// gemini and others read variables from it: addresses that keys are sent to.
		".env",
	})
}

// AgentPrograms are the paths by which a repository makes agents, their CLIs and
// ralph start something or allow it: rights, servers, hooks. All are in Protected.
func AgentPrograms() []string { return slices.Concat(ralphConfig(), catalog.Programs(), hooks()) }

// ralphConfig are the files that decide what a run does: guardrails, providers,
// limits. They may lie in a directory that is not the top.
func ralphConfig() []string {
	return []string{
		"**/.github/ralph.yml", "**/.github/ralph.yaml",
		"**/.ralph/settings.json", "**/.ralph/settings.local.json", "**/.ralph/config",
	}
}

// hooks are the directories and files from which git's hooks are set up.
func hooks() []string {
	return []string{
		".husky/", ".githooks/", "/.hooks/", ".lefthook/",
		"lefthook.yml", "lefthook.yaml", ".lefthook.yml", ".lefthook.yaml", "lefthook-local.yml", ".lefthook-local.yml",
		".pre-commit-config.yaml", ".pre-commit-hooks.yaml",
	}
}

// agentFiles are those of AgentConfig whose every change is named, ready to match. A
// .env holds much else; what of it matters to agents is found by its lines.
func agentFiles() Patterns {
	p, _ := Parse(append(AgentPrograms(), catalog.Prose()...)) // a test has parsed them
	return p
}
