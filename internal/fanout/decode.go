package fanout

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
	"github.com/org/ralph-action/internal/lib/printable"
	"github.com/org/ralph-action/internal/ralph"
)

const (
	// MaxFileBytes bounds plan.json and lane.json.
	MaxFileBytes = 16 << 20

	maxStories  = 10_000
	maxProblems = 20
	maxWhy      = 2_000
	maxWord     = 200 // characters of an id, as in tasks.json, and of other names
)

var (
	objectID = lazyregexp.New(`^[0-9a-f]{40}$`)
	digest   = lazyregexp.New(`^[0-9a-f]{64}$`)
)

// problems are what is wrong with a file, all at once.
type problems struct {
	list []string
	more int
}

func (p *problems) add(ok bool, format string, args ...any) {
	switch {
	case ok:
	case len(p.list) == maxProblems:
		p.more++
	default:
		p.list = append(p.list, fmt.Sprintf(format, args...))
	}
}

func (p *problems) err() error {
	if p.more > 0 {
		p.list = append(p.list, fmt.Sprintf("and %d more", p.more))
	}
	if len(p.list) == 0 {
		return nil
	}
	return errors.New(strings.Join(p.list, "; "))
}

// strict decodes one JSON value without unknown fields, and nothing behind it.
func strict(data []byte, to any) error {
	if len(data) > MaxFileBytes {
		return fmt.Errorf("it has more than %d MiB", MaxFileBytes>>20)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return fmt.Errorf("it cannot be read: %s", printable.Clean(err.Error(), 300)) // it holds what it is about
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows its end")
	}
	return nil
}

// word reports whether a foreign text can stand for something on one line.
func word(s string) bool {
	return s != "" && len([]rune(s)) <= maxWord && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// line reports whether a foreign text is a line for people, which may be empty.
func line(s string) bool {
	return len(s) <= maxWhy && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// DecodeResult reads what a lane handed over. The error says all that is wrong with it.
// That it can be read says nothing of whether it is true.
func DecodeResult(data []byte) (*Result, error) {
	r := &Result{}
	if err := strict(data, r); err != nil {
		return nil, err
	}
	var p problems
	_, err := ParseLaneKey(r.Key)
	p.add(err == nil, "lane: %v", err)
	p.add(r.Version == 1, "version is %d: 1 is known here; use the same version of ralph for all jobs", r.Version)
	p.add(objectID.MatchString(r.Base), "base %.60q is no commit", r.Base)
	p.add(digest.MatchString(r.Digest), "digest %.80q is no SHA-256", r.Digest)
	p.add(r.Sequence >= 1, "sequence is %d: 1 is the first", r.Sequence)
	p.add(r.Outcome == "" || ralph.Outcome(r.Outcome).Known(), "outcome %.40q is not known", r.Outcome)
	p.add(r.Bundle == "" || digest.MatchString(r.Bundle), "bundle %.80q is no SHA-256", r.Bundle)
	p.add(len(r.Stories) <= maxStories, "it has %d stories: %d are the most", len(r.Stories), maxStories)
	p.cost("cost", r.Cost)
	seen, commits := map[string]bool{}, map[string]string{}
	for i := range r.Stories[:min(len(r.Stories), maxStories)] {
		s := &r.Stories[i]
		p.add(word(s.ID), "story %d has the id %.60q", i+1, s.ID)
		p.add(!seen[s.ID], "story %.60q stands there twice", s.ID)
		seen[s.ID] = true
		p.add(slices.Contains([]string{"", ralph.StoryNeedsReview, ralph.StoryChangesRequested, ralph.StoryApproved}, s.State), "story %.60q has the state %.60q", s.ID, s.State)
		p.add(line(s.Unprotected), "story %.60q says at length, or on several lines, why its approval is not protected", s.ID)
		p.add(s.Iterations >= 0 && s.Reviews >= 0, "story %.60q has counts below 0", s.ID)
		p.cost(fmt.Sprintf("the cost of story %.60q", s.ID), s.Cost)
		if s.Commit == "" {
			continue
		}
		p.add(objectID.MatchString(s.Commit), "story %.60q: %.60q is no commit", s.ID, s.Commit)
		p.add(commits[s.Commit] == "", "stories %.60q and %.60q have the same commit", commits[s.Commit], s.ID)
		commits[s.Commit] = s.ID
	}
	p.add(len(commits) == 0 || r.Bundle != "", "stories are done, and there is no bundle")
	p.add(len(commits) > 0 || r.Bundle == "", "there is a bundle, and no story is done")
	if err := p.err(); err != nil {
		return nil, err
	}
	return r, nil
}

// maxCost bounds what a lane may say that it cost: a million dollars.
const maxCost = 1_000_000_000_000

func (p *problems) cost(what string, c Cost) {
	p.add(c.MicroUSD >= 0 && c.MicroUSD <= maxCost, "%s is %d millionths of a dollar", what, c.MicroUSD)
}

// Of is the cost as the rest of the program has it.
func (c Cost) Of() ralph.Cost {
	return ralph.Cost{Amount: c.MicroUSD, Unknown: c.Unknown, Estimated: c.Estimated}
}

// DecodePlan reads plan.json. The error says all that is wrong with it.
func DecodePlan(data []byte) (*Plan, error) {
	plan := &Plan{}
	if err := strict(data, plan); err != nil {
		return nil, err
	}
	var p problems
	p.add(plan.Version == 1, "version is %d: 1 is known here; use the same version of ralph for all jobs", plan.Version)
	p.add(plan.Wave >= 1 && plan.Wave < 1_000_000, "wave is %d: 1 is the first", plan.Wave)
	p.add(plan.Waves >= 0, "waves is %d", plan.Waves)
	p.add(plan.Budget >= 0 && plan.Budget <= maxCost, "budget is %d", plan.Budget)
	p.add(!path.IsAbs(plan.Dir) && path.Clean(plan.Dir) == plan.Dir && word(plan.Dir) && plan.Dir != "." && plan.Dir != ".." && !strings.HasPrefix(plan.Dir, "../"), "dir %.60q is no folder of a project", plan.Dir)
	p.add(len(plan.Parts) > 0, "it has no parts")
	lanes, stories, branches := map[string]bool{}, map[string]bool{}, map[string]bool{}
	left := plan.Budget // 0: no lane has one
	for _, part := range plan.Parts {
		p.add(ralph.CheckBranch(part.Branch) == nil, "branch %.60q cannot be one", part.Branch)
		p.add(!branches[part.Branch], "branch %.60q stands there twice", part.Branch)
		branches[part.Branch] = true
		p.add(objectID.MatchString(part.Base), "base %.60q is no commit", part.Base)
		p.add(digest.MatchString(part.Digest), "digest %.80q is no SHA-256", part.Digest)
		for _, l := range part.Lanes {
			_, err := ParseLaneKey("w1-" + l.Name + "-000000000000")
			p.add(err == nil, "lane %.60q: give L and three digits", l.Name)
			p.add(!lanes[l.Name], "lane %.60q stands there twice", l.Name)
			p.add(len(l.Stories) > 0, "lane %.60q has no stories", l.Name)
			p.add(l.Estimate >= 0, "lane %.60q has the estimate %d", l.Name, l.Estimate)
			p.add(l.Budget >= 0 && l.Budget <= left, "lane %.60q has the budget %d, and the wave no more than %d", l.Name, l.Budget, left)
			left -= max(0, min(l.Budget, left))
			lanes[l.Name] = true
			for _, id := range l.Stories {
				p.add(len(id) <= maxWord && CheckID(id) == nil, "lane %.60q has a story %.60q", l.Name, id)
				p.add(!stories[id], "story %.60q stands there twice", id)
				stories[id] = true
			}
		}
	}
	for _, w := range plan.Later {
		p.add(len(w.Story) <= maxWord && CheckID(w.Story) == nil && !stories[w.Story], "story %.60q waits, and stands there twice or is none", w.Story)
		p.add(line(w.Why), "story %.60q waits for more than one line", w.Story)
		stories[w.Story] = true
	}
	p.add(len(lanes) <= MaxLanes, "it has %d lanes: %d are the most", len(lanes), MaxLanes)
	if err := p.err(); err != nil {
		return nil, err
	}
	return plan, nil
}
