package actions

import (
	"io"
	"strconv"
	"strings"

	"github.com/sethvargo/go-githubactions"
)

// Inputs reads the action's inputs from the environment, by their names in
// action.yml. A shell such as dash drops environment names with hyphens, so a
// wrapper may hand them over with underscores; the hyphened name wins. An input
// that is set and empty is in the map.
func Inputs(environ []string) map[string]string {
	values := make(map[string]string)
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if _, twice := values[name]; !twice && strings.HasPrefix(name, "INPUT_") {
			values[name] = value
		}
	}
	action := githubactions.New(githubactions.WithWriter(io.Discard),
		githubactions.WithGetenv(func(name string) string { return values[name] }))
	inputs := make(map[string]string, len(values))
	for variable := range values {
		name := strings.ToLower(strings.TrimPrefix(variable, "INPUT_"))
		hyphened := strings.ReplaceAll(name, "_", "-")
		if _, ok := values["INPUT_"+strings.ToUpper(hyphened)]; ok && name != hyphened || name == "" {
			continue
		}
		inputs[hyphened] = action.GetInput(name)
	}
	return inputs
}

// Context is what the runner says about the run. Fields it does not say are
// empty, except the URLs, which are GitHub's.
type Context struct {
	Repository string // owner/name
	ServerURL  string
	APIURL     string
	GraphQLURL string

	RunID      string
	RunAttempt string
	Workflow   string

	Actor   string
	ActorID string
}

// Context reads the environment. go-githubactions would also read the event,
// unbounded, and fail with it; Event does that.
func (r *Runner) Context() Context {
	lib, _ := githubactions.New(githubactions.WithGetenv(func(name string) string {
		if name == "GITHUB_EVENT_PATH" {
			return ""
		}
		return r.getenv(name)
	})).Context() // errors: numbers that are none, which become ""
	return Context{
		Repository: lib.Repository, ServerURL: strings.TrimRight(lib.ServerURL, "/"), APIURL: strings.TrimRight(lib.APIURL, "/"), GraphQLURL: lib.GraphqlURL,
		RunID: number(lib.RunID), RunAttempt: number(lib.RunAttempt), Workflow: lib.Workflow, Actor: lib.Actor, ActorID: lib.ActorID,
	}
}

func number(n int64) string {
	if n <= 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// RunURL is the run's page; empty outside of a run.
func (r *Runner) RunURL() string {
	c := r.Context()
	if c.Repository == "" || c.RunID == "" {
		return ""
	}
	url := c.ServerURL + "/" + c.Repository + "/actions/runs/" + c.RunID
	if c.RunAttempt != "" {
		url += "/attempts/" + c.RunAttempt
	}
	return url
}
