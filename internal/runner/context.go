package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
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
	Workspace  string

	RunID      string
	RunNumber  string
	RunAttempt string
	Workflow   string
	Job        string

	Actor     string
	ActorID   string
	EventName string
	EventPath string

	Ref     string
	RefName string
	HeadRef string
	BaseRef string
	SHA     string
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
		Repository: lib.Repository,
		ServerURL:  strings.TrimRight(lib.ServerURL, "/"),
		APIURL:     strings.TrimRight(lib.APIURL, "/"),
		GraphQLURL: lib.GraphqlURL,
		Workspace:  lib.Workspace,
		RunID:      number(lib.RunID),
		RunNumber:  number(lib.RunNumber),
		RunAttempt: number(lib.RunAttempt),
		Workflow:   lib.Workflow,
		Job:        lib.Job,
		Actor:      lib.Actor,
		ActorID:    lib.ActorID,
		EventName:  lib.EventName,
		EventPath:  r.getenv("GITHUB_EVENT_PATH"),
		Ref:        lib.Ref,
		RefName:    lib.RefName,
		HeadRef:    lib.HeadRef,
		BaseRef:    lib.BaseRef,
		SHA:        lib.SHA,
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

// Event is what ralph needs of the event that started the run. All of it is
// foreign text.
type Event struct {
	DefaultBranch string       // of the repository; empty for events that do not say
	PullRequest   *PullRequest // nil when the event has none
}

// PullRequest is the pull request an event is about.
type PullRequest struct {
	Number  int
	HeadRef string
	HeadSHA string
	BaseRef string
	// Fork says that the head lies in another repository, or in one that is
	// gone.
	Fork bool
}

// maxEvent bounds the event file; GitHub's own limit for payloads is 25 MB.
const maxEvent = 32 << 20

// Event reads the event file. Call it once before the agent starts, which may
// own the file: later calls give the first answer. Without an event the answer
// is the zero Event.
func (r *Runner) Event() (Event, error) { return r.event() }

func (r *Runner) readEvent() (Event, error) {
	path := r.getenv("GITHUB_EVENT_PATH")
	if path == "" {
		return Event{}, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return Event{}, fmt.Errorf("the runner's event file (GITHUB_EVENT_PATH) cannot be read: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return Event{}, errors.Join(fmt.Errorf("the runner's event file %s (GITHUB_EVENT_PATH) is not a file", path), err)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxEvent+1))
	if err != nil {
		return Event{}, fmt.Errorf("the runner's event file (GITHUB_EVENT_PATH) cannot be read: %w", err)
	}
	if len(data) > maxEvent {
		return Event{}, fmt.Errorf("the runner's event file %s (GITHUB_EVENT_PATH) is larger than %d MiB", path, maxEvent>>20)
	}
	event, err := parseEvent(data)
	if err != nil {
		return Event{}, fmt.Errorf("the runner's event file %s (GITHUB_EVENT_PATH) is not an event: %w", path, err)
	}
	return event, nil
}

func parseEvent(data []byte) (Event, error) {
	type repository struct {
		FullName      string `json:"full_name"`
		DefaultBranch string `json:"default_branch"`
	}
	type side struct {
		Ref  string      `json:"ref"`
		SHA  string      `json:"sha"`
		Repo *repository `json:"repo"`
	}
	var payload *struct {
		Repository  repository `json:"repository"`
		PullRequest *struct {
			Number int  `json:"number"`
			Head   side `json:"head"`
			Base   side `json:"base"`
		} `json:"pull_request"`
	}
	if err := json.Unmarshal(data, &payload); err != nil {
		return Event{}, err
	}
	if payload == nil {
		return Event{}, errors.New("it is null")
	}
	event := Event{DefaultBranch: payload.Repository.DefaultBranch}
	if pr := payload.PullRequest; pr != nil {
		same := pr.Head.Repo != nil && pr.Base.Repo != nil && pr.Head.Repo.FullName != "" &&
			strings.EqualFold(pr.Head.Repo.FullName, pr.Base.Repo.FullName)
		event.PullRequest = &PullRequest{
			Number: pr.Number, HeadRef: pr.Head.Ref, HeadSHA: pr.Head.SHA, BaseRef: pr.Base.Ref,
			Fork: !same,
		}
	}
	return event, nil
}
