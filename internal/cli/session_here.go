package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/agent/hook"
	"github.com/org/ralph-action/internal/run/rundir"
)

const (
	// sessionsFolder holds the states of the loops within agent sessions, in the
	// project's .ralph.
	sessionsFolder = "sessions"
	stateSuffix    = ".json"
	// unclaimed begins the name of a state whose session is not known yet. No
	// session id has a dot.
	unclaimed = "new."
	// knownAs stands before the word that an unclaimed loop is known by.
	knownAs = "This loop is known as "
	// stateAge is how long a state is kept that nobody comes back to.
	stateAge = 30 * 24 * time.Hour
	// maxStates bounds how many are looked at.
	maxStates = 1000
)

// beginLoop writes the state of a loop into the project, where the stop hook
// finds it, and returns what the agent has to know. Several sessions of a project
// have a loop each. Without an id, the session is the one that the CLI says to its commands.
//
// claude sets CLAUDE_CODE_SESSION_ID for its commands since 2.1.197 at the
// latest. Where nobody says the id, the text has a word in it that nobody could
// foresee, and the session whose transcript holds that word is the one.
func (a *app) beginLoop(s hook.Session, id string) (string, error) {
	p := findProject(a.startFolders(""))
	if p.dir == "" {
		return "", errors.New("the project is not a directory")
	}
	id = cmp.Or(id, a.getenv("CLAUDE_CODE_SESSION_ID"))
	name, nonce := id, ""
	if id == "" {
		nonce = rand.Text()
		name = unclaimed + nonce
	} else if err := hook.CheckSessionID(id); err != nil {
		return "", err
	}
	dir, err := rundir.OpenFolder(p.dir, rundir.Name+"/"+sessionsFolder, []string{"*"}, rundir.Owner{UID: -1, GID: -1})
	if err != nil {
		return "", err
	}
	defer func() { _ = dir.Close() }()
	prune(filepath.Join(p.dir, rundir.Name, sessionsFolder))

	s.Said = s.Began
	s.Tree, _ = a.treeMark(context.Background(), p) // without it, tool calls alone are evidence
	data, err := s.Encode()
	if err != nil {
		return "", err
	}
	before, err := openState(context.Background(), filepath.Join(p.dir, filepath.FromSlash(dir.Path(name+stateSuffix))))
	if err == nil {
		before.close()
	}
	if err := dir.WriteFile(name+stateSuffix, append(data, '\n')); err != nil {
		return "", err
	}
	text := s.Start()
	if before != nil {
		text = fmt.Sprintf("This replaces the loop that ran in this session, after %d iterations. Its task was: %.200q\n\n%s",
			before.session.Iteration, before.session.TaskPrompt, text)
	}
	if nonce != "" {
		text += "\n\n" + knownAs + nonce + "."
	}
	return text, nil
}

// claimState finds the loop of a session in its project. A loop that began
// without knowing its session is taken when the session's transcript shows that
// it did; it takes the place of an earlier one.
func claimState(ctx context.Context, p project, in hook.Input) (*state, error) {
	if hook.CheckSessionID(in.SessionID) != nil {
		return nil, fs.ErrNotExist
	}
	var problems []error
	// A command of the agent's may have run elsewhere than the hook does.
	for _, top := range append(p.above, findProject([]string{in.CWD}).above...) {
		dir, ok := statesIn(top)
		if !ok {
			continue
		}
		path := filepath.Join(dir, in.SessionID+stateSuffix)
		for _, name := range stateNames(dir) {
			nonce, isNew := strings.CutPrefix(name, unclaimed)
			if !isNew || len(nonce) != len(rand.Text()) { // a repository may bring files with names of its own
				continue
			}
			if seen, err := hook.Mentions(in.TranscriptPath, knownAs+nonce+"."); err == nil && seen {
				if err := os.Rename(filepath.Join(dir, name+stateSuffix), path); err != nil {
					problems = append(problems, err)
				}
			}
		}
		s, err := openState(ctx, path)
		if err == nil {
			return s, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, err)
		}
	}
	if len(problems) == 0 {
		return nil, fs.ErrNotExist
	}
	return nil, errors.Join(problems...)
}

// statesIn is the folder of the states in a project, when it is ours: no link
// leads there.
func statesIn(project string) (string, bool) {
	dir := filepath.Join(project, rundir.Name)
	for _, d := range []string{dir, filepath.Join(dir, sessionsFolder)} {
		if info, err := os.Lstat(d); err != nil || !info.IsDir() {
			return "", false
		}
	}
	return filepath.Join(dir, sessionsFolder), true
}

// stateNames are the names of the states in a folder, without their suffix.
func stateNames(dir string) []string {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(3 * maxStates) // with logs, and some of somebody else's
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), stateSuffix); ok && e.Type().IsRegular() && len(names) < maxStates {
			names = append(names, name)
		}
	}
	return names
}

// prune removes what old sessions left behind.
func prune(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) < stateAge {
			continue
		}
		if strings.HasSuffix(e.Name(), stateSuffix) || strings.HasSuffix(e.Name(), logSuffix) {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
