// Package content says what of a change may be published: paths that only people
// may change, limits on files and bytes, and which files configure agents. It is
// pure: plain data goes in, findings come out.
package content

import (
	"fmt"

	"github.com/org/ralph-action/internal/ralph"
)

// Policy is what a run may change.
type Policy struct {
	// Protected are the paths that only people may change; see Protected for a list.
	Protected Patterns
	// OnProtected is the severity of a change of one: Block, LeftOut, Draft or Flag;
	// empty: nothing is said.
	OnProtected ralph.Severity
	MaxFiles    int   // changed paths of the pull request; 0: no limit
	MaxBytes    int64 // of their new contents together; 0: no limit
}

// File is a path at which two trees differ.
type File struct {
	Path string // from the top, slash-separated. Foreign text
	From string // where the same content was before; empty: it was not moved
	// OldMode and NewMode are git's modes, 0o100644 for a file; 0: nothing was or is there.
	OldMode, NewMode uint32
	Size             int64  // of the new content in bytes; below 0: not known, and not counted
	Commit           string // that holds it and is not the last; empty: the work as a whole
}

// Work is what a run is about to publish.
type Work struct {
	Total []File // against the base: what a pull request shows
	Run   []File // against what was there when the run began
	Since []File // what was not published before, each new commit by itself
}

// Judge says what the policy finds, in a stable order, and each thing once.
//
// A protected path that blocks is looked for in what the run itself changed; what
// others did to the branch before is theirs. For the other severities all that the
// pull request shows counts. Deleted, moved and made executable is changed. What a commit
// changed and a later one changed back is found, too.
//
// With LeftOut, whoever publishes leaves out what LeavesOut picks, and LeftOut is the
// finding about it; what is met here all the same blocks.
//
// The limits are those of the pull request as a whole. One that was larger already
// when the run began is judged by what the run changed.
func (p Policy) Judge(w Work) []ralph.Finding {
	j := judge{seen: map[string]bool{}, agents: agentFiles()}
	if p.OnProtected == ralph.LeftOut {
		p.OnProtected = ralph.Block
	}
	if p.OnProtected != "" {
		sets := [][]File{w.Run, w.Since}
		if p.OnProtected != ralph.Block {
			sets = append([][]File{w.Total}, sets...)
		}
		for _, set := range sets {
			for _, f := range set {
				j.protected(p, f)
			}
		}
	}
	for _, set := range [][]File{w.Total, w.Run, w.Since} {
		for _, f := range set {
			j.flagged(f)
		}
	}
	return append(j.found, p.limits(w)...)
}

// LeavesOut reports whether changes of a path are left out of what is published.
func (p Policy) LeavesOut(path string) bool {
	return p.OnProtected == ralph.LeftOut && p.Protected.Match(path) != ""
}

// LeftOut is the finding about a change that LeavesOut picked.
func (p Policy) LeftOut(f File) ralph.Finding {
	return ralph.Finding{
		Kind: ralph.FindingProtected, Severity: ralph.LeftOut, Path: f.Path, Rule: p.Protected.Match(f.Path),
		Text: verb(f, f.Path) + ", matches protected-paths",
	}
}

type judge struct {
	seen   map[string]bool // paths
	found  []ralph.Finding
	agents Patterns
}

func (j *judge) add(f ralph.Finding) {
	if !j.seen[f.Path] {
		j.seen[f.Path] = true
		j.found = append(j.found, f)
	}
}

func (j *judge) protected(p Policy, f File) {
	right := "take this change back, or leave it to somebody who may decide it (protected-paths)"
	if p.OnProtected != ralph.Block {
		right = "look at it before it is merged (protected-paths)"
	}
	for _, name := range []string{f.Path, f.From} {
		rule := p.Protected.Match(name)
		if rule == "" {
			continue
		}
		finding := ralph.Finding{Kind: ralph.FindingProtected, Severity: p.OnProtected, Path: name, Rule: rule}
		if f.Commit != "" {
			finding.Where = "commit " + short(f.Commit)
		}
		finding.Text = fmt.Sprintf("%s, which only people may do: %s", verb(f, name), right)
		j.add(finding)
	}
}

// verb says what became of a path.
func verb(f File, name string) string {
	switch {
	case name != f.Path:
		return "moved away"
	case f.NewMode == 0:
		return "deleted"
	case f.OldMode == 0:
		return "added"
	case f.OldMode != f.NewMode:
		return "changed in its mode"
	}
	return "changed"
}

// flagged names what is no matter of rights and people should see.
func (j *judge) flagged(f File) {
	for _, name := range []string{f.Path, f.From} {
		if rule := j.agents.Match(name); rule != "" {
			j.add(ralph.Finding{
				Kind: ralph.FindingAgentConfig, Severity: ralph.Flag, Path: name, Rule: rule,
				Text: verb(f, name) + ": agents read it, so it tells the next one what to do; read it before it is merged",
			})
		}
	}
}

func short(commit string) string { return commit[:min(len(commit), 7)] }
