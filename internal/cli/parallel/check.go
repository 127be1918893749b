package parallel

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/fanout"
	"github.com/org/ralph-action/internal/lib/printable"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/files"
	"github.com/org/ralph-action/internal/tasks"
)

// dirOf is where parallel runs of a project keep what is theirs, by the environment: outside of
// the project, whose tools would look at it.
func dirOf(getenv func(string) string, project string) (string, error) {
	cache := getenv("XDG_CACHE_HOME")
	if home := getenv("HOME"); !filepath.IsAbs(cache) && filepath.IsAbs(home) {
		cache = filepath.Join(home, ".cache")
	}
	if !filepath.IsAbs(cache) {
		return "", errors.New("--parallel needs a directory for its lanes: set HOME or XDG_CACHE_HOME")
	}
	return filepath.Join(cache, "ralph", "parallel", named(filepath.Base(project), project)), nil
}

// named is a name for people that is one of a kind.
func named(name, of string) string {
	plain := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			return c
		}
		return '-'
	}, name)
	sum := sha256.Sum256([]byte(of))
	return plain[:min(len(plain), 40)] + "-" + hex.EncodeToString(sum[:6])
}

// check says everything that keeps lanes from beginning.
func (r *waves) check() error {
	branch, err := r.branch()
	if err != nil {
		return errors.New("no branch is checked out, onto which the stories could go: git switch -c NAME")
	}
	if _, err := r.git.Run("rev-parse", "--verify", "-q", "HEAD"); err != nil {
		return fmt.Errorf("the branch %s has no commit: each lane begins at one", printable.Clean(branch, 200))
	}
	top, err := r.git.Run("rev-parse", "--show-prefix")
	if err != nil {
		return err
	}
	r.prefix, r.state = strings.TrimSuffix(top, "\n"), filepath.Join(r.Dir, named(branch, r.RalphDir+"\x00"+branch))
	wrong := r.changed()
	if wrong == nil {
		wrong = r.legal()
	}
	if rel, err := filepath.Rel(r.Project, r.state); err == nil && filepath.IsLocal(rel) {
		wrong = errors.Join(wrong, fmt.Errorf("%s, where the lanes would be, lies in the project: set XDG_CACHE_HOME to another directory", r.state))
	}
	if wrong != nil {
		return wrong
	}
	return r.makeRoom()
}

// changed refuses what differs from the commit, which the lanes would not see.
func (r *waves) changed() error {
	text, err := r.git.Run("status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=normal", "--", ".", ":(top)")
	if err != nil {
		return err
	}
	var own, tracked, unknown []string
	dir := r.prefix + r.RalphDir + "/"
	for entry := range strings.SplitSeq(text, "\x00") {
		if len(entry) < 4 {
			continue
		}
		name, shown := entry[3:], printable.Clean(entry[3:], 200)
		switch {
		case slices.Contains([]string{dir, dir + tasks.TasksName, dir + tasks.PromptName, dir + tasks.PRDName, dir + tasks.ProgressName}, name):
			own = append(own, shown)
		case strings.HasPrefix(entry, "??") && name == r.prefix+fanout.PlanName && r.isPlan():
			r.Print.Aside("Not used: " + shown + ", which ralph tasks plan made for jobs. This run makes a plan of its own; you can remove that one.")
		case strings.HasPrefix(entry, "??"):
			unknown = append(unknown, shown)
		default:
			tracked = append(tracked, shown)
		}
	}
	slices.Sort(own)
	slices.Sort(tracked)
	var wrong []error
	if len(own) > 0 {
		wrong = append(wrong, fmt.Errorf("not committed as it is: %s. The lanes begin at the last commit, and would not see it: git add %[2]s && git commit -m Stories -- %[2]s", ralph.Listed(own), r.RalphDir))
	}
	if len(tracked) > 0 {
		wrong = append(wrong, fmt.Errorf("changed and not committed: %s. The lanes would not see it, and the stories could not be put beside it: commit it, or put it aside with git stash", ralph.Listed(tracked)))
	}
	if len(unknown) > 0 && wrong == nil {
		slices.Sort(unknown)
		r.Print.Aside("Not in the lanes, as git does not track it: " + ralph.Listed(unknown) + ".")
	}
	return errors.Join(wrong...)
}

// isPlan reports whether the project has a plan where ralph tasks plan leaves it.
func (r *waves) isPlan() bool {
	project, err := os.OpenRoot(r.Project)
	if err != nil {
		return false
	}
	defer project.Close()
	data, err := files.Read(project, fanout.PlanName, fanout.MaxFileBytes)
	if err == nil {
		_, err = fanout.DecodePlan(data)
	}
	return err == nil
}

// legal says everything that is wrong with the list.
func (r *waves) legal() error {
	text, err := r.file("HEAD")
	if err != nil {
		return fmt.Errorf("%s/%s is missing: ralph tasks init makes one", r.RalphDir, tasks.TasksName)
	}
	list, err := r.Rules.Legal(r.RalphDir+"/"+tasks.TasksName, []byte(text))
	if err != nil {
		return err
	}
	return list.CheckOnly(r.Rules)
}
