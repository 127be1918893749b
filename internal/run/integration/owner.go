// Package integration is what the owner of a task list makes of what lanes hand over: what
// of it is looked at, how the list and its notes go on, and what people are told.
package integration

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/fanout"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/integrate"
	"github.com/org/ralph-action/internal/report/memory"
	"github.com/org/ralph-action/internal/run/stories"
	"github.com/org/ralph-action/internal/tasks"
)

// ReturnedDir is where the changes of stories are kept that were handed back, below the
// list's directory.
const ReturnedDir = "returned"

// maxTail bounds what a story that is handed back is told of failed checks, in bytes.
const maxTail = 4000

// Owner decides about the stories of a wave; it is an integrate.Owner. Its functions are
// set before it is used.
type Owner struct {
	Dir   string // of the list, from the top of the repository
	Rules tasks.Rules
	Run   string // identifies the run, for trailers
	Judge func(ctx context.Context, commit string) (red string, err error)
	Keep  func(ctx context.Context, commit string) error
	Told  func(s ralph.WaveStory, r integrate.Result)
	// Ask asks an agent to resolve a conflict, and returns what it made of the files. Only
	// Resolve needs it.
	Ask func(ctx context.Context, c integrate.Conflict, step ralph.Step, prompt string) (files integrate.Files, cost ralph.Cost, why string, err error)

	Landed []integrate.Story // that an integration before has brought in; Stories sets it

	base  *tasks.List // at the commit at which the plan begins
	lanes map[string]*handed
	lists []readList // that were read last
}

// handed is a story as its lane handed it over.
type handed struct {
	lane *fanout.Offer
	done fanout.Done
	more ralph.MicroUSD // that the lane cost besides its stories
	turn ralph.Cost     // of resolving its conflict
}

func (o *Owner) path(name string) string { return o.Dir + "/" + name }

// patch is where the change of a story that was handed back is kept: no other one's.
func (o *Owner) patch(id string) string {
	name := tasks.FileName(id)
	if name != id {
		sum := sha256.Sum256([]byte(id))
		name += "-" + hex.EncodeToString(sum[:4])
	}
	return o.path(ReturnedDir + "/" + name + ".patch")
}

// Owns reports whether a path is the list, its notes, or a story's that was handed back; or
// what stands in the place of one of them.
func (o *Owner) Owns(path string) bool {
	return slices.ContainsFunc([]string{tasks.TasksName, tasks.ProgressName, ReturnedDir}, func(name string) bool {
		return path == o.path(name) || strings.HasPrefix(path, o.path(name)+"/")
	})
}

// list reads the list of a tree.
func (o *Owner) list(read integrate.Read) (*tasks.List, error) {
	data := read(o.path(tasks.TasksName))
	if data == nil {
		return nil, fmt.Errorf("%s is missing", o.path(tasks.TasksName))
	}
	for _, known := range o.lists {
		if bytes.Equal(known.data, data) {
			return known.list, nil
		}
	}
	list, err := tasks.Read(data)
	if err == nil {
		o.lists = append(o.lists[max(0, len(o.lists)-maxLists+1):], readList{data, list})
	}
	return list, err
}

// readList is a list that was read. The base's, and the branch's after each story, are asked
// for again and again.
type readList struct {
	data []byte
	list *tasks.List
}

const maxLists = 4

func (o *Owner) done(s *tasks.Story) bool {
	return s.Passes && (o.Rules.SkipReview || s.Status == tasks.Approved)
}

// Waits implements integrate.Owner.
func (o *Owner) Waits(s integrate.Story, t integrate.Trees) (string, error) {
	now, err := o.list(t.Tip)
	if err != nil {
		return "", fmt.Errorf("the branch's task list: %w", err)
	}
	if err := o.truthful(s, t); err != nil {
		return "", err
	}
	one := now.Story(s.ID)
	switch {
	case one == nil:
		return "", &integrate.Refusal{Why: "the branch's task list does not have the story any more"}
	case o.done(one):
		return "", &integrate.Refusal{Why: "it is done on the branch already", Already: true}
	}
	if before := o.base.Story(s.ID); before == nil || !before.Asks(one) {
		return "the story was changed in the task list meanwhile", nil
	}
	for _, on := range one.DependsOn {
		if other := now.Story(on); other == nil || !o.done(other) {
			return fmt.Sprintf("it depends on %s, which is not in", tasks.Visible(on)), nil
		}
	}
	return "", nil
}

// truthful refuses a story whose list does not say what the lane says of it.
func (o *Owner) truthful(s integrate.Story, t integrate.Trees) error {
	refuse := func(format string, args ...any) error {
		return &integrate.Refusal{Why: fmt.Sprintf(format, args...)}
	}
	left, err := o.list(t.After)
	if err != nil {
		return refuse("its task list cannot be read")
	}
	before, err := o.list(t.Before)
	if err != nil {
		return refuse("the task list before it cannot be read")
	}
	one := left.Story(s.ID)
	if one == nil || !o.done(one) {
		return refuse("it is not approved in the list that the lane handed over")
	}
	if problems := left.Check(o.Rules); len(problems) > 0 {
		return refuse("the list that the lane handed over contradicts itself")
	}
	if left.BranchName != before.BranchName || !slices.Equal(left.VerifyCommands, before.VerifyCommands) {
		return refuse("it changes what people set up for the list: branchName or verifyCommands")
	}
	own := o.lanes[s.ID].lane.Lane.Stories
	for i := range left.Stories {
		now := &left.Stories[i]
		switch was := before.Story(now.ID); {
		case slices.Contains(own, now.ID):
		case was == nil && (now.Passes || now.Status != tasks.Open || now.ReviewCount != 0):
			return refuse("it adds the story %s, which is not at its beginning", tasks.Visible(now.ID))
		case was != nil && (now.Passes != was.Passes || now.Status != was.Status || now.ReviewCount != was.ReviewCount || now.ReviewFeedback != was.ReviewFeedback):
			return refuse("it changes the state of story %s, which is not its lane's", tasks.Visible(now.ID))
		}
	}
	return nil
}

// In implements integrate.Owner.
func (o *Owner) In(s integrate.Story, t integrate.Trees) (integrate.Files, string, error) {
	now, err := o.list(t.Tip)
	if err != nil {
		return nil, "", err
	}
	left, err := o.list(t.After)
	if err != nil {
		return nil, "", err
	}
	rules := o.Rules
	rules.Only = []string{s.ID}
	again := left.Onto(now, rules, o.base)
	one := again.Story(s.ID)
	if one == nil || !o.done(one) || len(again.Check(o.Rules)) > 0 {
		return nil, "", &integrate.Refusal{Why: "with it the branch's task list would contradict itself"}
	}
	files := integrate.Files{o.path(tasks.TasksName): again.Bytes()}
	if more := stories.Added(string(t.Before(o.path(tasks.ProgressName))), string(t.After(o.path(tasks.ProgressName)))); more != "" {
		files[o.path(tasks.ProgressName)] = joined(t.Tip(o.path(tasks.ProgressName)), more)
	}
	if t.Tip(o.patch(s.ID)) != nil {
		files[o.patch(s.ID)] = nil
	}
	return files, o.message(s, one.Title, true), nil
}

// joined is a text with lines of another one behind it.
func joined(text []byte, more string) []byte {
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(text, '\n')
	}
	return append(slices.Clone(text), more...)
}

// Back implements integrate.Owner.
func (o *Owner) Back(s integrate.Story, t integrate.Trees, r integrate.Return) (integrate.Files, string, error) {
	now, err := o.list(t.Tip)
	if err != nil {
		return nil, "", err
	}
	status := tasks.ChangesRequested
	if o.Rules.SkipReview || strings.HasPrefix(r.Waits, "it depends on") { // a fix would not wait for what it depends on
		status = tasks.Open
	}
	files := integrate.Files{}
	if len(r.Patch) > 0 {
		files[o.patch(s.ID)] = r.Patch
	}
	notes := ""
	if left, err := o.list(t.After); err == nil && status == tasks.ChangesRequested {
		if one := left.Story(s.ID); one != nil {
			notes = one.Notes[:min(len(one.Notes), maxTail)]
		}
	}
	again := now.Return(s.ID, status, o.feedback(s, r), strings.ToValidUTF8(notes, ""))
	files[o.path(tasks.TasksName)] = again.Bytes()
	return files, o.message(s, now.Story(s.ID).Title, false), nil
}

// feedback is what the next iteration is told of a story that was handed back.
func (o *Owner) feedback(s integrate.Story, r integrate.Return) string {
	var b strings.Builder
	b.WriteString("This story was implemented and approved on a branch of its own, and could not be put onto this one: ")
	switch {
	case r.Waits != "":
		b.WriteString(r.Waits + ".")
	case len(r.Paths) > 0:
		var names []string
		for i, p := range r.Paths[:min(len(r.Paths), 20)] {
			name := fmt.Sprintf("%q", p)
			if by := r.By[i]; len(by) > 0 {
				name += " (changed meanwhile by " + ralph.Listed(by) + ")"
			}
			names = append(names, name)
		}
		b.WriteString("both sides changed " + strings.Join(names, ", ") + ".")
		if r.Unresolved != "" {
			b.WriteString(" The conflict was not resolved: " + strings.TrimRight(r.Unresolved, ".") + ".")
		}
	default:
		tail := r.Red
		if len(tail) > maxTail {
			tail = "…" + strings.ToValidUTF8(tail[len(tail)-maxTail:], "")
		}
		b.WriteString("checks that pass without it fail with it.\n\n" + strings.TrimRight(tail, "\n") + "\n\n")
	}
	b.WriteString(" Its code is NOT on this branch.")
	if len(r.Patch) > 0 {
		fmt.Fprintf(&b, " Its change is kept in %s: begin with `git apply --3way %s`, or write it anew, make it fit what is here now, and leave that file alone.", o.patch(s.ID), o.patch(s.ID))
	} else {
		b.WriteString(" Implement it anew, so that it fits what is here now.")
	}
	return b.String()
}

func (o *Owner) message(s integrate.Story, title string, in bool) string {
	h := o.lanes[s.ID]
	cost := h.done.Cost.Of()
	cost.Amount += h.more
	cost = cost.Add(h.turn)
	return memory.LaneMessage(memory.Laned{Run: o.Run, Story: s.ID, Title: title, Lane: h.lane.Key, Cost: cost, In: in, Unprotected: h.done.Unprotected})
}

// Check implements integrate.Owner.
func (o *Owner) Check(ctx context.Context, commit string) (string, error) {
	return o.Judge(ctx, commit)
}

// Take implements integrate.Owner.
func (o *Owner) Take(ctx context.Context, commit string) error { return o.Keep(ctx, commit) }

// Tell implements integrate.Owner.
func (o *Owner) Tell(s integrate.Story, r integrate.Result) {
	h := o.lanes[s.ID]
	w := o.waveStory(h.lane, h.done)
	w.Why, w.Cost = r.Why, w.Cost.Add(h.turn)
	switch {
	case r.In:
		w.Fate, w.Commit = ralph.FateIn, r.Commit
	case r.Already:
		w.Fate = ralph.FateAlready
	case r.Refused:
		w.Fate = ralph.FateRefused
	default:
		w.Fate = ralph.FateReturned
	}
	o.Told(w, r)
}

func (o *Owner) waveStory(of *fanout.Offer, d fanout.Done) ralph.WaveStory {
	w := ralph.WaveStory{ID: d.ID, Lane: of.Lane.Name, Reviews: d.Reviews, Cost: d.Cost.Of(), Unprotected: d.Unprotected}
	if s := o.base.Story(d.ID); s != nil {
		w.Title = s.Title
	}
	if !d.Started.IsZero() && d.Ended.After(d.Started) {
		w.Took = d.Ended.Sub(d.Started)
	}
	return w
}

// setBase takes the list at the plan's base. It must be the one that was planned.
func (o *Owner) setBase(data []byte, digest string) error {
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != digest {
		return fmt.Errorf("%s at the plan's base is not the one that was planned: run the plan again", o.path(tasks.TasksName))
	}
	list, err := tasks.Read(data)
	o.base = list
	return err
}
