package taskdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/org/ralph-action/internal/lib/atomicfile"
)

const maxSameName = 100

// NewRun makes the directory of one run, runs/YYYYMMDD-HHMMSS-NNN with the time in
// UTC and the number of the attempt, and returns its absolute path. Where that
// name is taken, -2, -3 and so on follow it.
func (d *Dir) NewRun(now time.Time, attempt int) (string, error) {
	if err := d.there(); err != nil {
		return "", err
	}
	runs, err := d.runs()
	if err != nil {
		return "", err
	}
	defer runs.Close()
	base := fmt.Sprintf("%s-%03d", now.UTC().Format("20060102-150405"), attempt)
	name := base
	for n := 2; ; n++ {
		err := runs.Mkdir(name, 0o755)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) || n > maxSameName {
			return "", fmt.Errorf("make %s/%s in task folder %s: %w", runsName, name, d.path, atomicfile.Reason(err))
		}
		name = fmt.Sprintf("%s-%d", base, n)
	}
	if err := d.ownFolder(runs, name); err != nil {
		return "", err
	}
	return filepath.Join(d.path, runsName, name), nil
}

// runs opens the directory of all runs, and makes it when it is missing.
func (d *Dir) runs() (*os.Root, error) {
	err := d.root.Mkdir(runsName, 0o755)
	if err == nil {
		err = d.ownFolder(d.root, runsName)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make %s in task folder %s: %w", runsName, d.path, atomicfile.Reason(err))
	}
	before, err := d.root.Lstat(runsName)
	if err == nil && !before.IsDir() {
		return nil, fmt.Errorf("%s in task folder %s is %s: %w; remove it, the folders of runs stand there", runsName, d.path, atomicfile.Kind(before.Mode()), ErrPlanted)
	}
	var runs *os.Root
	if err == nil {
		runs, err = d.root.OpenRoot(runsName)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s in task folder %s: %w", runsName, d.path, atomicfile.Reason(err))
	}
	// os.Root follows links that stay inside.
	if after, err := runs.Stat("."); err != nil || !os.SameFile(before, after) {
		_ = runs.Close()
		return nil, fmt.Errorf("%s in task folder %s was replaced while it was opened: %w", runsName, d.path, ErrPlanted)
	}
	return runs, nil
}

// ownFolder gives a directory that was just made to its owner. It goes by the
// descriptor of a directory, which has no second name.
func (d *Dir) ownFolder(in *os.Root, name string) error {
	f, err := openNow(in, name, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.IsDir() {
		return fmt.Errorf("%s in task folder %s was replaced: %w", name, d.path, ErrPlanted)
	}
	return d.own(f)
}
