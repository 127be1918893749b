package parallel

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/cli/usergit"
	"github.com/org/ralph-action/internal/lib/rmtree"
	"github.com/org/ralph-action/internal/run/rundir"
)

// depth is how many commits of the project a lane's repository has at most: enough to see how
// things are done there, and where a story began that an earlier run has not finished.
const depth = "100"

// prepare makes the repository of a lane. It is one of its own and no linked work tree:
// neither the lane's agent nor anything that it starts can reach the project's branches, stash
// and settings through it, and a sandbox need not open them.
//
// What an earlier run left goes on, with what git ignores there: the lane takes up what it
// handed over. Only of a lane that was killed is there more, and nobody can say what that is
// worth: its repository is put aside.
func (r *waves) prepare(ctx context.Context, w *wave, l *lane) error {
	if _, err := os.Lstat(filepath.Join(l.tree, ".git")); err == nil {
		if l.result != nil && l.result.Outcome != "" {
			return r.reset(ctx, l, w.part().Base)
		}
		aside := filepath.Join(r.state, asideDir, w.plan.ID())
		if err := os.MkdirAll(aside, 0o700); err != nil {
			return err
		}
		aside = filepath.Join(aside, fmt.Sprintf("%s-%d", l.key, time.Now().UnixNano()))
		if err := os.Rename(l.tree, aside); err != nil {
			return err
		}
		r.Print.Warn(fmt.Sprintf("Lane %s was killed. It goes on from what it handed over; what else it had is in %s: remove that when you don't need it.", l.Name, aside))
	}
	part := l.tree + ".part"
	if err := errors.Join(rmtree.Remove(part), rmtree.Remove(l.tree), os.MkdirAll(part, 0o700)); err != nil {
		return err
	}
	if err := r.fill(ctx, part, w.part().Base); err != nil {
		return errors.Join(fmt.Errorf("the repository of lane %s: %w", l.Name, err), rmtree.Remove(part))
	}
	return os.Rename(part, l.tree)
}

// reset has a repository begin where the lane does.
func (r *waves) reset(ctx context.Context, l *lane, base string) error {
	git, err := usergit.Start(ctx, l.tree, r.Environ)
	if err != nil {
		return err
	}
	defer git.Close()
	for _, args := range [][]string{{"reset", "-q", "--hard"}, {"clean", "-q", "-ffd"}, {"checkout", "-q", "--detach", base}, {"update-ref", "-d", "refs/heads/" + l.key}} {
		if _, err := git.Run(args...); err != nil {
			return fmt.Errorf("the repository of lane %s: %w", l.Name, err)
		}
	}
	return r.give(l.tree)
}

func (r *waves) fill(ctx context.Context, dir, base string) error {
	if _, err := r.git.Run("init", "-q", dir); err != nil {
		return err
	}
	git, err := usergit.Start(ctx, dir, r.Environ)
	if err != nil {
		return err
	}
	defer git.Close()
	from, err := r.git.Run("rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return err
	}
	// What belongs to the project and not to the machine: who commits, where it comes from, what is ignored.
	for _, name := range []string{"user.name", "user.email", "remote.origin.url"} {
		if value, err := r.git.Run("config", "--local", "--get", name); err == nil {
			if _, err := git.Run("config", name, strings.TrimSuffix(value, "\n")); err != nil {
				return err
			}
		}
	}
	from = strings.TrimSuffix(from, "\n")
	if ignored, err := os.ReadFile(filepath.Join(from, "info", "exclude")); err == nil {
		if err := os.WriteFile(filepath.Join(dir, ".git", "info", "exclude"), ignored, 0o600); err != nil {
			return err
		}
	}
	for _, args := range [][]string{
		{"config", "protocol.version", "2"}, // which hands out any commit
		{"fetch", "-q", "--no-tags", "--depth=" + depth, from, base},
		{"checkout", "-q", "--detach", base},
	} {
		if _, err := git.Run(args...); err != nil {
			return err
		}
	}
	return r.give(dir)
}

// owner is whose the project is, where ralph is root and that is somebody else: with a sandbox
// the agent is started as they are.
func (r *waves) owner() (rundir.Owner, bool) {
	if owner := rundir.OwnerOf(r.Project); owner.UID > 0 {
		return owner, true
	}
	return rundir.Owner{UID: -1, GID: -1}, false
}

// give gives a repository to the owner of the project.
func (r *waves) give(dir string) error {
	owner, other := r.owner()
	if !other {
		return nil
	}
	if err := os.Chmod(dir, 0o755); err != nil { // #nosec G302 -- what is above it decides who gets here
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, root.Lchown(path, owner.UID, owner.GID))
	})
}

// makeRoom makes the directory of the lanes, where the owner of the project can enter it if
// the agent runs as they do.
func (r *waves) makeRoom() error {
	_, other := r.owner()
	other = other && r.Sandboxed
	trees := filepath.Join(r.state, treesDir)
	ours := []string{trees, r.state, r.Dir, filepath.Dir(r.Dir), filepath.Dir(filepath.Dir(r.Dir))}
	for dir := filepath.Dir(ours[len(ours)-1]); other && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o001 == 0 {
			return fmt.Errorf("the lanes would be in %s, and the owner of the project, as whom the agent runs, cannot enter %s: set XDG_CACHE_HOME to a directory that both can use", r.state, dir)
		}
	}
	if !other {
		return os.MkdirAll(trees, 0o700)
	}
	if err := os.MkdirAll(trees, 0o711); err != nil { // #nosec G301 -- they walk through it to their own
		return err
	}
	for _, dir := range ours {
		if err := os.Chmod(dir, 0o711); err != nil { // #nosec G302 -- as above
			return err
		}
	}
	return nil
}
