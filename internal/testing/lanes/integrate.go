package lanes

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/inspect"
	"github.com/org/ralph-action/internal/inspect/content"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/history"
	"github.com/org/ralph-action/internal/repo/integrate"
	"github.com/org/ralph-action/internal/repo/lfs"
	"github.com/org/ralph-action/internal/repo/objects"
	"github.com/org/ralph-action/internal/repo/publish"
	"github.com/org/ralph-action/internal/repo/store"
	"github.com/org/ralph-action/internal/run/integration"
	"github.com/org/ralph-action/internal/tasks"
)

// ErrKilled ends an integration as a kill would.
var ErrKilled = errors.New("killed")

// Outcome is what an integration came to.
type Outcome struct {
	Stories map[string]ralph.WaveStory
	Checks  int
}

// Integrate puts a wave onto the tip, in a store of its own below dir, as a run does, but for
// its work tree. step is called before and after all that others see; its error is a kill.
// What was published until then is the tip.
func (w *World) Integrate(ctx context.Context, dir string, wave *Wave, step func() error) (Outcome, error) {
	out := Outcome{Stories: map[string]ralph.WaveStory{}}
	s, tip, err := w.Open(filepath.Join(dir, "integrate"))
	if err != nil {
		return out, err
	}
	defer s.Close()
	o := objects.New(s, nil, dir, plumbing.NewHash(tip))
	branch := publish.New(&history.History{Objects: o}, lfs.NewFiles(nil), publish.Options{Branch: "ralph/many"})
	branch.Start, branch.Tip = plumbing.NewHash(tip), plumbing.NewHash(tip)
	looker, err := inspect.New(config.Content{ProtectedPaths: []string{"default"}, ProtectedPolicy: config.ContentLeaveOut, SecretScan: config.ContentBlock}, nil, nil)
	if err != nil {
		return out, err
	}
	read, err := integration.Read(wave.Dir, "")
	if err != nil {
		return out, err
	}
	owner := &integration.Owner{
		Dir: wave.List, Rules: tasks.Rules{ReviewCap: 5}, Run: "1",
		Judge: func(_ context.Context, commit string) (string, error) {
			out.Checks++
			c, err := s.Commit(plumbing.NewHash(commit))
			if err != nil {
				return "", err
			}
			e, err := s.Lookup(c.TreeHash, Red)
			if err != nil || e == (store.Entry{}) {
				return "", err
			}
			return "the folder " + Red + " is there", step()
		},
		Keep: func(_ context.Context, commit string) error {
			if err := step(); err != nil {
				return err
			}
			if err := w.publish(s, commit); err != nil {
				return err
			}
			return step()
		},
		Told: func(s ralph.WaveStory, _ integrate.Result) { out.Stories[s.ID] = s },
	}
	stories, err := owner.Stories(ctx, read, o, w.messages)
	if err != nil {
		return out, err
	}
	now := at
	err = integrate.Run(ctx, integrate.Options{
		Branch: branch, Author: by, Committer: by, Clock: func() time.Time { now = now.Add(time.Second); return now },
		Inspect: looker.Look, Cache: content.NewCache().Of, Owner: owner, Landed: owner.Landed, MaxPatchBytes: 1 << 20,
	}, stories)
	return out, errors.Join(err, w.keep(s))
}

// publish moves the tip, and remembers the messages of what came to it.
func (w *World) publish(s *store.Store, commit string) error {
	for c, err := range s.Since([]plumbing.Hash{plumbing.NewHash(commit)}, func(h plumbing.Hash) bool { return h == w.tip }) {
		if err != nil {
			return err
		}
		w.messages = append(w.messages, c.Message)
	}
	w.tip = plumbing.NewHash(commit)
	return nil
}

// Files are the paths that the tip holds, sorted, each with what it holds.
func (w *World) Files(dir string) (map[string]string, error) {
	s, tip, err := w.Open(dir)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	c, err := s.Commit(plumbing.NewHash(tip))
	if err != nil {
		return nil, err
	}
	changes, err := s.Diff(plumbing.ZeroHash, c.TreeHash, nil)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, ch := range changes {
		files[ch.Path] = ch.New.String()
	}
	return files, nil
}

// Wrong says what of an outcome is not what the wave had to come to, and what of a liar's got in.
func (w *Wave) Wrong(o Outcome, files map[string]string) []string {
	var wrong []string
	for id, want := range w.Fates {
		if got := o.Stories[id]; got.Fate != want {
			wrong = append(wrong, id+" ("+w.Lies[id]+") is "+string(got.Fate)+", want "+string(want)+": "+got.Why)
		}
		if _, in := files["work/"+id+".txt"]; in != (want == ralph.FateIn) {
			wrong = append(wrong, id+": its work is in: "+map[bool]string{true: "yes", false: "no"}[in])
		}
	}
	for path := range files {
		if strings.Contains(strings.ToLower(path), "liar") || strings.HasPrefix(path, Red+"/") || strings.HasPrefix(path, "node_modules") || strings.HasPrefix(path, ".") {
			wrong = append(wrong, path+" got in")
		}
	}
	slices.Sort(wrong)
	return wrong
}
