package report

import "github.com/org/ralph-action/internal/ralph"

type publication struct {
	Branch      string       `json:"branch"`
	Base        string       `json:"base"`
	HeadSHA     string       `json:"head_sha"`
	Pushed      bool         `json:"pushed"`
	Fork        *string      `json:"fork"`
	Signed      bool         `json:"signed"`
	Verified    bool         `json:"verified"`
	ServerURL   string       `json:"server_url"`
	PullRequest *pullRequest `json:"pull_request"`
	Issue       *int         `json:"issue"`
	Comment     *string      `json:"comment_url"`
	Checks      *checks      `json:"checks"`
	Patch       *string      `json:"patch"`
	Steps       []published  `json:"steps"`
	Errors      []string     `json:"errors"`
}

type pullRequest struct {
	Number    int    `json:"number"`
	URL       string `json:"url"`
	Draft     bool   `json:"draft"`
	Operation string `json:"operation"`
	Foreign   bool   `json:"foreign"`
	AutoMerge bool   `json:"auto_merge"`
}

type checks struct {
	SHA    string   `json:"sha"`
	State  string   `json:"state"`
	Passed int      `json:"passed"`
	Failed []string `json:"failed"`
	Left   []string `json:"unfinished"`
}

type published struct {
	Name   string `json:"name"`
	Done   bool   `json:"done"`
	Detail string `json:"detail"`
}

type branch struct {
	Runs       []pastRun `json:"runs"`
	Iterations int       `json:"iterations"`
	Cost       cost      `json:"cost"`
	Cut        bool      `json:"cut"`
}

type pastRun struct {
	Run        string  `json:"run"`
	Iterations int     `json:"iterations"`
	Commits    int     `json:"commits"`
	Cost       cost    `json:"cost"`
	Outcome    *string `json:"outcome"`
}

func newPublication(p ralph.Publication) publication {
	n := publication{
		Branch: bounded(p.Branch), Base: bounded(p.Base), HeadSHA: p.HeadSHA, Pushed: p.Pushed, Signed: p.Signed, Verified: p.Verified,
		Fork: named(bounded(p.Fork)), Issue: positive(p.Issue), Comment: named(bounded(p.Comment)), Patch: named(bounded(p.Patch)),
		ServerURL: p.ServerURL, Steps: make([]published, 0, len(p.Steps)), Errors: boundedAll(p.Errors),
	}
	if pr := p.PullRequest; pr.Number > 0 || (pr.Operation != "" && pr.Operation != ralph.OperationNone) {
		n.PullRequest = &pullRequest{
			Number: pr.Number, URL: pr.URL, Draft: pr.Draft, Operation: string(pr.Operation), Foreign: pr.Foreign, AutoMerge: pr.AutoMerge,
		}
	}
	if c := p.Checks; c.State != "" {
		n.Checks = &checks{SHA: bounded(c.SHA), State: string(c.State), Passed: c.Passed, Failed: boundedAll(c.Failed), Left: boundedAll(c.Left)}
	}
	for _, s := range p.Steps {
		n.Steps = append(n.Steps, published{bounded(s.Name), s.Done, bounded(s.Detail)})
	}
	return n
}

// newBranch is nil when the branch begins with this run.
func newBranch(r ralph.Report) *branch {
	if !continued(r) {
		return nil
	}
	h := r.History
	n := branch{Runs: make([]pastRun, 0, len(h.Runs)), Iterations: h.Iterations(), Cost: newCost(h.Cost()), Cut: h.Cut}
	for _, p := range h.Runs {
		n.Runs = append(n.Runs, pastRun{bounded(p.Run), p.Iterations, p.Commits, newCost(p.Cost), named(string(p.Outcome))})
	}
	return &n
}
