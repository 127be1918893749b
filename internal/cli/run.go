package cli

import (
	"github.com/org/ralph-action/internal/actions"
	"github.com/org/ralph-action/internal/config"
)

// runCmd is the loop, run locally or in a container without a runner.
type runCmd struct{ localFlags }

// Help is shown below the flags.
func (runCmd) Help() string {
	return `Example:
  ralph run --prompt "Fix the failing tests. Print <response>DONE</response> when they pass." \
    --guardrails "make test" --max-iterations 5

Every flag but --config and --verbose is also a key of .github/ralph.yml, and in camelCase of .ralph/settings.json, which
'ralph init' writes. The agent or the SCM tasks commit; with --commit each-iteration ralph does, on a
branch of its own, which is pushed when GITHUB_REPOSITORY and GITHUB_TOKEN are set.`
}

// Run loops in the current directory.
func (c *runCmd) Run(a *app, done *exit) error {
	return a.runLocally(localRun{mode: "run", flags: c.values(), words: c.typed(a, nil), verbose: c.Verbose}, done)
}

// localDefaults are what differs locally: the mode's own, and no sandbox unless
// the image says so.
func (a *app) localDefaults(mode string) map[string]string {
	defaults := config.Defaults(mode, true)
	if own := a.getenv("RALPH_ISOLATION"); own != "" {
		defaults["isolation"], defaults["agent-install"] = own, "auto" // we are in the image
	}
	return defaults
}

// localSite is where a local run publishes to, when it is told.
func (a *app) localSite() actions.Context {
	site := actions.Context{
		Repository: a.getenv("GITHUB_REPOSITORY"), ServerURL: a.getenv("GITHUB_SERVER_URL"),
		APIURL: a.getenv("GITHUB_API_URL"), GraphQLURL: a.getenv("GITHUB_GRAPHQL_URL"),
	}
	if site.Repository == "" {
		return actions.Context{}
	}
	if site.ServerURL == "" {
		site.ServerURL, site.APIURL, site.GraphQLURL = "https://github.com", "https://api.github.com", "https://api.github.com/graphql"
	}
	return site
}
