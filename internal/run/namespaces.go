package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/run/caches"
	"github.com/org/ralph-action/internal/sandbox/confine"
	"github.com/org/ralph-action/internal/sandbox/namespace"
)

// scopedABI is the first version of Landlock that keeps signals inside.
const scopedABI = 6

// onRunner reports whether we are a plain user of the machine, or the container, that a
// job runs on. There nothing but the sandbox stands between a child and the runner, whose
// user has everything.
func (in *Input) onRunner() bool {
	return runtime.GOOS == "linux" && os.Geteuid() != 0 && in.getenv("GITHUB_ACTIONS") == "true"
}

// openNamespaces has the children of the run live in namespaces of their own, where sudo
// asks for no password.
func (w *workspace) openNamespaces(ctx context.Context) (err error) {
	if w.namespaces, err = namespace.Start(ctx, namespace.Options{Hide: w.hidden(), Caches: caches.Folders(w.caches())}); err != nil {
		w.without = err.Error()
		return w.checkWithout()
	}
	w.undo.afterwards(func() {
		if err := w.namespaces.Close(); err != nil {
			w.rec.out.Warn(err.Error())
		}
	})
	return nil
}

// checkWithout refuses what is weaker than strict says.
func (w *workspace) checkWithout() error {
	if abi, _ := confine.Available(); w.isolation == config.IsolationStrict && abi < scopedABI {
		return fmt.Errorf("isolation: strict needs namespaces or Landlock ABI %d on the runner itself, where all processes of its user could be signalled. There are no namespaces (%s), and Landlock has ABI %d: let the runner's user use sudo without a password, use Linux 6.12 or later, or isolation: auto", scopedABI, w.without, abi)
	}
	return nil
}

// hidden are the folders of the runner's user that hold what earlier steps and the runner
// itself have left.
func (in *Input) hidden() (dirs []string) {
	temp := in.getenv("RUNNER_TEMP")
	for _, dir := range []string{in.getenv("HOME"), temp, filepath.Join(filepath.Dir(temp), "_actions")} {
		if info, err := os.Stat(dir); err == nil && info.IsDir() && filepath.IsAbs(dir) && filepath.Clean(dir) != "/" {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// describeNamespaces says for the log which namespaces there are, or why there are none.
func (w *workspace) describeNamespaces() string {
	switch {
	case w.namespaces != nil:
		return ", " + w.namespaces.String()
	case w.without != "":
		return ", no namespaces (" + w.without + ")"
	}
	return ""
}
