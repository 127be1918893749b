package report

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/doc"
	"github.com/org/ralph-action/internal/report/memory"
	"github.com/org/ralph-action/internal/report/words"
)

var repositoryName = lazyregexp.New(`^[A-Za-z0-9._-]*[A-Za-z0-9_-][A-Za-z0-9._-]*/[A-Za-z0-9._-]*[A-Za-z0-9_-][A-Za-z0-9._-]*$`)

// web is the repository's address on the forge, or empty.
func web(r ralph.Report) string { return webOf(r, r.Repository) }

func webOf(r ralph.Report, repository string) string {
	server := strings.TrimRight(r.Publication.ServerURL, "/")
	if server == "" || !repositoryName.MatchString(repository) || doc.WebAddress(server) == "" {
		return ""
	}
	return doc.WebAddress(server) + "/" + repository
}

// commitURL leads to a commit in the repository that the branch lies in.
func commitURL(r ralph.Report, id string) string {
	home := webOf(r, cmp.Or(r.Publication.Fork, r.Repository))
	if home == "" || words.Sha(id) == "" {
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
		address += "?expand=1&title=" + url.QueryEscape(memory.Title(r))
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
	names := ofTurns(r, func(t ralph.Turn) string { return t.Model })
	if len(names) == 0 && r.Model != "" {
		names = append(names, r.Model)
	}
	return names
}

// agents names the agents that worked, in the order of first use. Foreign text.
func agents(r ralph.Report) []string {
	return ofTurns(r, func(t ralph.Turn) string { return cmp.Or(t.Agent, r.Agent) })
}

// ofTurns are the names that turns have, each once.
func ofTurns(r ralph.Report, name func(ralph.Turn) string) []string {
	return distinct(r, func(it ralph.Iteration) (names []string) {
		for _, t := range words.EveryTurn(it) {
			names = append(names, name(t))
		}
		return names
	})
}

// distinct are the texts that iterations have, each once.
func distinct(r ralph.Report, texts func(ralph.Iteration) []string) []string {
	var all []string
	for _, it := range r.Iterations {
		for _, s := range texts(it) {
			if s != "" && !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	return all
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
			if v.Passed || v.Unfinished || saysFindings(r, v) {
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
