package origin

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/cli/matrix"
	"github.com/org/ralph-action/internal/fanout"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/memory"
	"github.com/org/ralph-action/internal/tasks"
)

const (
	heads = "refs/remotes/origin/"
	// maxCommits bounds the messages that are read of a branch: report/memory reads no more.
	maxCommits = 1000
)

// Spent is what was spent on a list so far.
type Spent struct {
	Cost ralph.Cost
	Cut  bool // there are older commits that were not read
}

// Plan looks for what a plan is made of. notes say, for people, what of the base a branch
// of the list does not have. The error says all that is wrong with the options and the
// lists.
func (v *View) Plan(o fanout.Options) (in fanout.Input, spent Spent, notes []string, err error) {
	in.Options = o
	wrong := o.Check()
	if v.git == nil {
		return in, spent, nil, errors.Join(wrong, errors.New("the project is in no git repository: lanes begin at a commit"))
	}
	head, err := v.git.Run("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if err != nil {
		return in, spent, nil, errors.Join(wrong, errors.New("nothing is committed yet: lanes begin at a commit"))
	}
	prefix, err := v.git.Run("rev-parse", "--show-prefix")
	if err != nil {
		return in, spent, nil, errors.Join(wrong, err)
	}
	in.Dir = strings.TrimSpace(prefix) + strings.TrimSuffix(v.list, "/"+tasks.TasksName)
	if in.Base, err = v.at("", strings.TrimSpace(head), o.Rules); err != nil {
		return in, spent, nil, errors.Join(wrong, err)
	}
	if err := errors.Join(wrong, fanout.CheckList(in.Base.List)); err != nil {
		return in, spent, nil, err
	}
	refs, err := v.refs(in.Base.List.BranchName)
	if err != nil {
		return in, spent, nil, err
	}
	if in.Branches, err = v.parts(in.Base, refs, o.Rules); err != nil {
		return in, spent, nil, err
	}
	if in.Open, err = v.underWay(in, refs); err != nil {
		return in, spent, nil, err
	}
	for _, at := range in.Branches {
		if note := v.behind(in.Base, at); note != "" {
			notes = append(notes, note)
		}
		one, err := v.spent(in.Base, at)
		if err != nil {
			return in, spent, nil, err
		}
		spent.Cost, spent.Cut = spent.Cost.Add(one.Cost), spent.Cut || one.Cut
	}
	return in, spent, notes, nil
}

// at is the list of a commit; the error says everything that is wrong with it.
func (v *View) at(branch, commit string, r tasks.Rules) (fanout.At, error) {
	where := "what is checked out"
	if branch != "" {
		where = "the branch " + branch
	}
	text, err := v.file(commit)
	if err != nil {
		return fanout.At{}, fmt.Errorf("%s has no %s: commit it", where, v.list)
	}
	list, err := r.Legal(v.list+" of "+where, []byte(text))
	if err != nil {
		return fanout.At{}, err
	}
	return fanout.At{Branch: branch, Commit: commit, List: list}, nil
}

// refs is the commits of all branches of origin that could be a list's, by name.
func (v *View) refs(branch string) (map[string]string, error) {
	text, err := v.git.Run("for-each-ref", "--format=%(objectname) %(refname)", heads+branch, heads+branch+"-*")
	if err != nil {
		return nil, err
	}
	refs := map[string]string{}
	for line := range strings.Lines(text) {
		if commit, ref, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			refs[strings.TrimPrefix(ref, heads)] = commit
		}
	}
	return refs, nil
}

// parts are the branches of a list that have commits which the base lacks.
func (v *View) parts(base fanout.At, refs map[string]string, r tasks.Rules) (there []fanout.At, err error) {
	for n := 1; n <= fanout.MaxParts; n++ {
		name := fanout.PartBranch(base.List.BranchName, n)
		commit, known := refs[name]
		if !known {
			continue
		}
		if open, err := v.open(heads+name, base.Commit); err != nil {
			return nil, err
		} else if !open {
			continue
		}
		at, err := v.at(name, commit, r)
		if err != nil {
			return nil, err
		}
		there = append(there, at)
	}
	return there, nil
}

// underWay is the stories with a branch of their own that is neither in the base nor in
// the list's branch.
func (v *View) underWay(in fanout.Input, refs map[string]string) (map[string]string, error) {
	open := map[string]string{}
	for _, at := range append([]fanout.At{in.Base}, in.Branches...) {
		names := matrix.Branches(at.List)
		for _, id := range slices.Sorted(maps.Keys(names)) {
			name := names[id]
			if refs[name] == "" || open[id] != "" || slices.ContainsFunc(in.Branches, func(at fanout.At) bool { return at.Branch == name }) {
				continue
			}
			left := true
			for _, other := range append([]fanout.At{in.Base}, in.Branches...) {
				more, err := v.open(heads+name, other.Commit)
				if err != nil {
					return nil, err
				}
				left = left && more
			}
			if left {
				open[id] = name
			}
		}
	}
	return open, nil
}

// behind says what stories of the base were edited since a branch left it; empty: none.
func (v *View) behind(base, at fanout.At) string {
	fork, err := v.git.Run("merge-base", base.Commit, at.Commit)
	if err != nil {
		return "" // they have nothing in common
	}
	text, err := v.file(strings.TrimSpace(fork))
	if err != nil {
		return "" // there was no list then
	}
	old, err := tasks.Read([]byte(text))
	if err != nil {
		return "" // nor is that one
	}
	said := func(l *tasks.List) map[string]string {
		all := map[string]string{}
		for _, s := range l.Stories {
			all[s.ID] = fmt.Sprintf("%q", []any{s.Title, s.Description, s.AcceptanceCriteria, s.Priority, s.DependsOn, s.Touches})
		}
		return all
	}
	before, now := said(old), said(base.List)
	var edited []string
	for _, s := range at.List.Stories {
		if was, known := before[s.ID]; known && was != now[s.ID] {
			edited = append(edited, tasks.Visible(s.ID))
		}
	}
	if len(edited) == 0 {
		return ""
	}
	return fmt.Sprintf("the base edited %s since %s left it, and the branch's text counts: merge the base into the branch", ralph.Listed(edited), at.Branch)
}

// spent is what the commits of a branch cost by their trailers.
func (v *View) spent(base, at fanout.At) (Spent, error) {
	text, err := v.git.Run("log", "-z", "--format=%B", fmt.Sprintf("-%d", maxCommits+1), base.Commit+".."+at.Commit)
	if err != nil {
		return Spent{}, err
	}
	h := memory.ReadHistory(strings.Split(text, "\x00"), false)
	s := Spent{Cut: h.Cut}
	for _, run := range h.Runs {
		s.Cost = s.Cost.Add(run.Cost)
	}
	return s, nil
}
