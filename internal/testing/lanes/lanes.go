// Package lanes makes what the lanes of a plan hand over, for tests and measurements of their
// integration: real bundles of scripted agents, some of which conflict, and some of which lie.
package lanes

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/org/ralph-action/internal/fanout"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/bundle"
	"github.com/org/ralph-action/internal/repo/store"
)

// files is how many files the repository has in which all waves work.
const files = 40

// Red is the folder in which a story puts a file that the checks do not like.
const Red = "red"

// World is a repository that waves are put onto, one after the other.
type World struct {
	dir   string
	lines int // of each file
	tip   plumbing.Hash
	from  plumbing.Hash // at which the wave began
	base  []byte        // a pack with all that the two hold
	wave  int
	lies  int // that were told

	messages []string // of the commits since the wave's base
}

// Wave is what was handed over, and what has to become of it.
type Wave struct {
	Dir, List string // of the artifacts; of the task list in the repository
	Base      string // commit
	Fates     map[string]ralph.Fate
	Lies      map[string]string // what is wrong with the stories that must not get in
}

// Shape is how many stories a wave has, each in a lane of its own, and what some of them do: of
// Conflict stories one conflicts, of Lie one lies, of Fail one fails the checks; 0: none.
type Shape struct{ Stories, Conflict, Lie, Fail int }

var (
	by = store.Identity{Name: "Lane", Email: "lane@example.com"}
	at = time.Unix(1_760_000_000, 0).UTC()
)

// New makes the repository, with so many lines in each file; dir is a folder of its own.
func New(dir string, lines int) (*World, error) {
	w := &World{dir: dir, lines: lines}
	s, err := store.Open(filepath.Join(dir, "first"))
	if err != nil {
		return nil, err
	}
	defer s.Close()
	set := map[string]store.Entry{}
	for i := range files {
		if err := put(s, set, shared(i), text(i, lines)); err != nil {
			return nil, err
		}
	}
	if err := put(s, set, "hot", "cold\n"); err != nil {
		return nil, err
	}
	tree, err := s.Edit(store.EmptyTree, set)
	if err == nil {
		w.tip, err = s.NewCommit(by, at, "first\n", tree)
	}
	if err != nil {
		return nil, err
	}
	return w, w.keep(s)
}

func shared(i int) string { return fmt.Sprintf("src/d%02d/f%02d.txt", i%7, i) }

func text(i, lines int) string {
	var b strings.Builder
	for n := range lines {
		fmt.Fprintf(&b, "file %d line %d\n", i, n)
	}
	return b.String()
}

func put(s *store.Store, set map[string]store.Entry, path, text string) error {
	h, err := s.Write(plumbing.BlobObject, []byte(text))
	set[path] = store.Entry{Mode: filemode.Regular, Hash: h}
	return err
}

// Copy is a repository of its own that is as this one is.
func (w *World) Copy() *World {
	again := *w
	again.messages = slices.Clone(w.messages)
	return &again
}

// keep packs all that the tip and the base of the wave hold.
func (w *World) keep(s *store.Store) error {
	var all []plumbing.Hash
	seen := map[plumbing.Hash]bool{}
	add := func(h plumbing.Hash) {
		if !seen[h] {
			seen[h], all = true, append(all, h)
		}
	}
	for _, h := range []plumbing.Hash{w.tip, w.from} {
		if h.IsZero() {
			continue
		}
		c, err := s.Commit(h)
		if err != nil {
			return err
		}
		add(h)
		changes, err := s.Diff(plumbing.ZeroHash, c.TreeHash, add)
		if err != nil {
			return err
		}
		for _, ch := range changes {
			add(ch.New.Hash)
		}
	}
	var b bytes.Buffer
	err := s.WritePack(&b, all)
	w.base = b.Bytes()
	return err
}

// Open is a new store with what the tip holds; dir is a folder of its own.
func (w *World) Open(dir string) (*store.Store, string, error) {
	s, err := store.Open(dir)
	if err != nil {
		return nil, "", err
	}
	f, err := s.Spool()
	if err != nil {
		return nil, "", err
	}
	defer store.Discard(f)
	if _, err := f.Write(w.base); err != nil {
		return nil, "", err
	}
	_, err = s.ImportPack(f, true)
	return s, w.tip.String(), err
}

// id is the story's name.
func id(wave, i int) string { return fmt.Sprintf("S-%02d-%04d", wave, i) }

// story is a story of tasks.json.
func story(wave, i int, approved bool) string {
	state := `"passes": false, "reviewStatus": null, "reviewCount": 0`
	if approved {
		state = `"passes": true, "reviewStatus": "approved", "reviewCount": 1`
	}
	return fmt.Sprintf(`    {
      "id": %q, "title": "Story %d", "acceptanceCriteria": ["it is there"], "priority": %d,
      %s, "reviewFeedback": "", "notes": "done"
    }`, id(wave, i), i, i, state)
}

// Wave makes the next wave: a commit with its list, which Open has then, and the artifacts.
func (w *World) Wave(shape Shape) (*Wave, error) {
	w.wave++
	dir := filepath.Join(w.dir, fmt.Sprintf("wave%d", w.wave))
	out := &Wave{Dir: filepath.Join(dir, "lanes"), List: fmt.Sprintf("list%02d", w.wave), Fates: map[string]ralph.Fate{}, Lies: map[string]string{}}
	s, _, err := w.Open(filepath.Join(dir, "store"))
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var stories []string
	for i := range shape.Stories {
		stories = append(stories, story(w.wave, i, false))
	}
	list := "{\n  \"project\": \"p\", \"branchName\": \"ralph/many\", \"description\": \"d\", \"verifyCommands\": [],\n  \"userStories\": [\n" + strings.Join(stories, ",\n") + "\n  ]\n}\n"
	set := map[string]store.Entry{}
	if err := put(s, set, out.List+"/tasks.json", list); err != nil {
		return nil, err
	}
	if err := put(s, set, out.List+"/progress.txt", "# Log\n"); err != nil {
		return nil, err
	}
	if err := put(s, set, "hot", "cold\n"); err != nil { // again, for the conflicts
		return nil, err
	}
	below, err := s.Commit(w.tip)
	if err != nil {
		return nil, err
	}
	tree, err := s.Edit(below.TreeHash, set)
	if err != nil {
		return nil, err
	}
	if w.tip, err = s.NewCommit(by, at, "the list\n", tree); err != nil {
		return nil, err
	}
	w.from = w.tip
	if err := w.keep(s); err != nil {
		return nil, err
	}
	out.Base, w.messages = w.tip.String(), nil
	sum := sha256.Sum256([]byte(list))
	plan := &fanout.Plan{Version: 1, Dir: out.List, Wave: w.wave, Later: []fanout.Wait{}, Parts: []fanout.Part{{Branch: "ralph/many", Base: out.Base, Digest: hex.EncodeToString(sum[:])}}}
	part := &plan.Parts[0]
	for i := range shape.Stories {
		part.Lanes = append(part.Lanes, fanout.Lane{Name: fmt.Sprintf("L%03d", i+1), Stories: []string{id(w.wave, i)}, Estimate: 3})
	}
	if err := os.MkdirAll(out.Dir, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(out.Dir, fanout.PlanName), plan.Encode(), 0o644); err != nil {
		return nil, err
	}
	all := liesOf()
	for i := range shape.Stories {
		l := &lane{s: s, plan: plan, wave: w.wave, i: i, lines: w.lines, id: id(w.wave, i), list: list, listDir: out.List, tree: tree, files: map[string]store.Entry{}}
		every := func(n, from int) bool { return n > 0 && i%n == from%n }
		fate := ralph.FateIn
		var lie *lie
		switch {
		case i > 0 && every(shape.Lie, 7):
			lie = &all[w.lies%len(all)]
			w.lies++
			fate = ralph.FateRefused
			out.Lies[l.id] = lie.name
		case i > 0 && every(shape.Conflict, 3):
			fate = ralph.FateReturned
			err = put(s, l.files, "hot", l.id+"\n")
		case i > 0 && every(shape.Fail, 11):
			fate = ralph.FateReturned
			err = put(s, l.files, Red+"/"+l.id, "no\n")
		case i == 0:
			err = put(s, l.files, "hot", l.id+"\n")
		}
		if err == nil {
			err = l.make(out.Dir, lie)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.id, err)
		}
		if lie != nil && lie.fate != "" {
			fate = lie.fate
		}
		out.Fates[l.id] = fate
	}
	return out, nil
}

// lane is one lane on its way.
type lane struct {
	s       *store.Store
	plan    *fanout.Plan
	wave, i int
	lines   int // of each file
	id      string
	list    string
	listDir string
	tree    plumbing.Hash // of the base
	files   map[string]store.Entry
	raw     plumbing.Hash // a tree to commit instead; zero: none
	message string
	parents []plumbing.Hash

	result fanout.Result
	bundle []byte
	after  func(folder string) error // changes the artifact on the disk
}

// make writes the artifact of a lane.
func (l *lane) make(dir string, lie *lie) error {
	part := &l.plan.Parts[0]
	base := plumbing.NewHash(part.Base)
	text := strings.Replace(l.list, story(l.wave, l.i, false), story(l.wave, l.i, true), 1)
	prefix := "work"
	if lie != nil {
		prefix = "liar"
	}
	file := l.i % files
	old := fmt.Sprintf("file %d line %d\n", file, l.line())
	for path, text := range map[string]string{l.listDir + "/tasks.json": text, l.listDir + "/progress.txt": "# Log\n" + l.id + "\n", prefix + "/" + l.id + ".txt": "the work of " + l.id + "\n"} {
		if err := put(l.s, l.files, path, text); err != nil {
			return err
		}
	}
	if lie == nil {
		if err := l.edit(shared(file), old); err != nil {
			return err
		}
	}
	l.message = fmt.Sprintf("feat: [%s]\n\nRalph-Story: %s\nRalph-Base: %s\n", l.id, l.id, part.Base)
	l.parents = []plumbing.Hash{base}
	began := at.Add(time.Duration(l.i) * time.Second)
	l.result = fanout.Result{
		Version: 1, Key: l.plan.Key(&part.Lanes[l.i]), Base: part.Base, Digest: part.Digest, Sequence: 1, Outcome: "completed", Started: began, Ended: began.Add(time.Hour),
		Cost: fanout.Cost{MicroUSD: 1000}, Stories: []fanout.Done{{ID: l.id, State: "approved", Reviews: 1, Iterations: 2, Cost: fanout.Cost{MicroUSD: 1000}, Started: began, Ended: began.Add(time.Minute)}},
	}
	if lie != nil && lie.work != nil {
		if err := lie.work(l); err != nil {
			return err
		}
	}
	tree := l.raw
	var err error
	if tree.IsZero() {
		if tree, err = l.s.Edit(l.tree, l.files); err != nil {
			return err
		}
	}
	c, err := l.s.NewCommit(by, at, l.message, tree, l.parents...)
	if err != nil {
		return err
	}
	l.result.Stories[0].Commit = c.String()
	if err := l.pack(c); err != nil {
		return err
	}
	if lie != nil && lie.hand != nil {
		if err := lie.hand(l); err != nil {
			return err
		}
	}
	if l.result.Bundle == "" {
		sum := sha256.Sum256(l.bundle)
		l.result.Bundle = hex.EncodeToString(sum[:])
	}
	folder := filepath.Join(dir, "ralph-lane-"+l.result.Key+"-1-1")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, fanout.ResultName), l.result.Encode(), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, fanout.BundleName), l.bundle, 0o644); err != nil {
		return err
	}
	if l.after != nil {
		return l.after(folder)
	}
	return nil
}

// line is that of its file that a story changes: no other story of the wave one beside it.
func (l *lane) line() int { return (l.wave*7 + l.i/files*5) % l.lines }

// edit replaces a line of a file as the base has it, which earlier waves have changed.
func (l *lane) edit(path, old string) error {
	e, err := l.s.Lookup(l.tree, path)
	if err != nil {
		return err
	}
	text, err := l.s.ReadBlob(e.Hash, 1<<20)
	if err != nil {
		return err
	}
	rows := strings.SplitAfter(string(text), "\n")
	rows[l.line()] = strings.TrimSuffix(old, "\n") + " by " + l.id + "\n"
	return put(l.s, l.files, path, strings.Join(rows, ""))
}

// pack makes the bundle of a commit. What its trees hold and no store has is left out.
func (l *lane) pack(c plumbing.Hash) error {
	var b bytes.Buffer
	base := plumbing.NewHash(l.plan.Parts[0].Base)
	err := bundle.Write(&b, l.s, base, c, l.result.Key)
	if err != nil { // a tree that Write cannot read
		b.Reset()
		commit, _ := l.s.Commit(c)
		fmt.Fprintf(&b, "# v2 git bundle\n-%s \n%s refs/heads/%s\n\n", base, c, l.result.Key)
		err = l.s.WritePack(&b, []plumbing.Hash{c, commit.TreeHash})
	}
	l.bundle = b.Bytes()
	return err
}
