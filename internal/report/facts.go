package report

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
)

var (
	repositoryName = regexp.MustCompile(`^[A-Za-z0-9._-]*[A-Za-z0-9_-][A-Za-z0-9._-]*/[A-Za-z0-9._-]*[A-Za-z0-9_-][A-Za-z0-9._-]*$`)
	commitID       = regexp.MustCompile(`^[0-9a-f]{7,64}$`)
)

// row is one iteration in words. Text of foreign origin stands in Models,
// Failing and Error only.
type row struct {
	Number     string
	Rounds     string // of an agent that its stop hook kept going; else empty
	Time       string
	Turns      string
	Tools      string
	Tokens     string
	Cost       string
	Files      string
	Guardrails string
	Failing    []string
	Rejected   bool // by the guardrails
	Result     string
	Icon       string
	Error      string
	SHA        string
}

func newRow(it ralph.Iteration) row {
	u := it.Usage()
	r := row{
		Number: iterationNumber(it),
		Rounds: roundWords(it),
		Time:   span(it.Duration),
		Turns:  requests(everyTurn(it)) + retried(len(it.Turns)-1),
		Tools:  tools(everyTurn(it)),
		Tokens: tokenPair(u.Tokens),
		Cost:   u.Cost.String(),
		Files:  files(it.Change),
		SHA:    sha(it.Commit.SHA),
	}
	r.Guardrails, r.Failing = guardrails(it.Verdicts)
	r.Icon, r.Result, r.Error = result(it)
	r.Rejected = it.Rejection == ralph.RejectedGuardrails
	return r
}

const nothing = "–"

// everyTurn is every run of the agent in an iteration: its tries, and the
// questions for a verdict and for a commit message.
func everyTurn(it ralph.Iteration) []ralph.Turn {
	turns := slices.Clip(it.Turns)
	if it.Asked != nil {
		turns = append(turns, *it.Asked)
	}
	if it.Delivery.Turn != nil {
		turns = append(turns, *it.Delivery.Turn)
	}
	return turns
}

// requests counts the requests to the model.
func requests(list []ralph.Turn) string {
	n := 0
	for _, t := range list {
		n += t.Messages
	}
	if n == 0 {
		return nothing
	}
	return strconv.Itoa(n)
}

func retried(n int) string {
	switch {
	case n <= 0:
		return ""
	case n == 1:
		return " (1 retry)"
	default:
		return fmt.Sprintf(" (%d retries)", n)
	}
}

func tools(list []ralph.Turn) string {
	calls, failed, counted := 0, 0, false
	for _, t := range list {
		calls, failed = calls+t.Tools, failed+t.ToolErrors
		counted = counted || t.CountsTools
	}
	switch {
	case !counted && calls == 0:
		return nothing
	case failed > 0:
		return fmt.Sprintf("%d (%d failed)", calls, failed)
	default:
		return strconv.Itoa(calls)
	}
}

func files(c ralph.Change) string {
	if c.Files == 0 {
		return nothing
	}
	switch {
	case c.Uncounted >= c.Files:
		return fmt.Sprintf("%d (lines not counted)", c.Files)
	case c.Uncounted > 0:
		return fmt.Sprintf("%d (+%d −%d, %d not counted)", c.Files, c.Insertions, c.Deletions, c.Uncounted)
	}
	return fmt.Sprintf("%d (+%d −%d)", c.Files, c.Insertions, c.Deletions)
}

// guardrails counts the verdicts and names those that failed.
func guardrails(verdicts []ralph.Verdict) (text string, failing []string) {
	if len(verdicts) == 0 {
		return nothing, nil
	}
	for _, v := range verdicts {
		if !v.Passed {
			failing = append(failing, v.Command)
		}
	}
	mark := "✅"
	if len(failing) > 0 {
		mark = "❌"
	}
	return fmt.Sprintf("%s %d/%d", mark, len(verdicts)-len(failing), len(verdicts)), failing
}

// verdictWords says how a guardrail failed: "failed with exit code 1" or
// "could not be started", with the reason when there is one (foreign text).
func verdictWords(v ralph.Verdict) (text, reason string) {
	switch {
	case v.Passed:
		return "passed", ""
	case v.Broken:
		return "could not be started", v.Reason
	case v.Reason != "":
		return "failed", v.Reason
	default:
		return "failed with exit code " + strconv.Itoa(v.ExitCode), ""
	}
}

// exitWords is an exit code in words; below 0 there was none.
func exitWords(code int) string {
	if code < 0 {
		return "no exit code"
	}
	return "exit code " + strconv.Itoa(code)
}

// now says what became of a guardrail that was red before the run; empty when
// no iteration asked it.
func now(r ralph.Report, command string) string {
	for i := len(r.Iterations) - 1; i >= 0; i-- {
		for _, v := range r.Iterations[i].Verdicts {
			if v.Command == command && v.Passed {
				return "passes now"
			}
			if v.Command == command {
				return "still fails"
			}
		}
	}
	return ""
}

// sha shortens a commit id; what is no commit id is nothing.
func sha(id string) string {
	if !commitID.MatchString(id) {
		return ""
	}
	return id[:7]
}

// web is the repository's address on the forge, or empty.
func web(r ralph.Report) string { return webOf(r, r.Repository) }

func webOf(r ralph.Report, repository string) string {
	server := strings.TrimRight(r.Publication.ServerURL, "/")
	if server == "" || !repositoryName.MatchString(repository) || webAddress(server) == "" {
		return ""
	}
	return webAddress(server) + "/" + repository
}

// commitURL leads to a commit in the repository that the branch lies in.
func commitURL(r ralph.Report, id string) string {
	home := webOf(r, cmp.Or(r.Publication.Fork, r.Repository))
	if home == "" || !commitID.MatchString(id) {
		return ""
	}
	return home + "/commit/" + id
}

// compareURL shows what the branch holds against its base; with open it leads
// to the form for a new pull request.
func compareURL(r ralph.Report, open bool) string {
	p := r.Publication
	if web(r) == "" || p.Base == "" || p.Branch == "" || !p.Pushed {
		return ""
	}
	head := refPath(p.Branch)
	if p.Fork != "" {
		if !repositoryName.MatchString(p.Fork) {
			return ""
		}
		owner, name, _ := strings.Cut(p.Fork, "/")
		if !strings.HasSuffix(r.Repository, "/"+name) {
			owner += ":" + name // two forks of one owner have other names
		}
		head = owner + ":" + head
	}
	address := web(r) + "/compare/" + refPath(p.Base) + "..." + head
	if open {
		address += "?expand=1&title=" + url.QueryEscape(Title(r))
	}
	return address
}

func refPath(ref string) string {
	return strings.ReplaceAll(url.PathEscape(ref), "%2F", "/")
}

// commits counts what the run put on the branch, the agent's own included.
func commits(r ralph.Report) int {
	n := 0
	for _, it := range r.Iterations {
		if it.Commit.SHA != "" {
			n += 1 + it.Commit.Own
		}
	}
	return n
}

// models names the models the agent reported, in the order of first use, or
// the one that was asked for. Foreign text.
func models(r ralph.Report) []string {
	var names []string
	seen := map[string]bool{"": true}
	for _, it := range r.Iterations {
		for _, t := range everyTurn(it) {
			if !seen[t.Model] {
				seen[t.Model] = true
				names = append(names, t.Model)
			}
		}
	}
	if len(names) == 0 && r.Model != "" {
		names = append(names, r.Model)
	}
	return names
}

// finalText is the last thing the agent said in the run.
func finalText(r ralph.Report) string {
	for i := len(r.Iterations) - 1; i >= 0; i-- {
		if text := r.Iterations[i].Last().FinalText; strings.TrimSpace(text) != "" {
			return text
		}
	}
	return ""
}

// failure is one guardrail failure; the same failure in several iterations is
// one, told in its newest form.
type failure struct {
	ralph.Verdict
	Iteration int
	Also      int // earlier iterations with the same failure
}

// failures lists the guardrail failures, newest iteration first.
func failures(r ralph.Report) []failure {
	var list []failure
	index := map[[2]string]int{}
	for i := len(r.Iterations) - 1; i >= 0; i-- {
		for _, v := range r.Iterations[i].Verdicts {
			if v.Passed || saysFindings(r, v) {
				continue
			}
			key := [2]string{v.Command, v.Digest}
			if at, seen := index[key]; seen && v.Digest != "" {
				list[at].Also++
				continue
			}
			index[key] = len(list)
			list = append(list, failure{Verdict: v, Iteration: r.Iterations[i].Number})
		}
	}
	return list
}
