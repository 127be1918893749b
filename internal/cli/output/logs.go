package output

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/org/ralph-action/internal/run/lastrun"
)

// Guardrails prints what the guardrails of a run printed in an iteration, or with 0 in
// all, each below the name of its log.
func Guardrails(out io.Writer, last lastrun.Run, iteration int) error {
	root, err := os.OpenRoot(last.Files)
	if err != nil {
		return err
	}
	defer root.Close()
	pattern := "guardrail_*.log"
	if iteration > 0 {
		pattern = fmt.Sprintf("guardrail_%03d_*.log", last.Earlier+iteration)
	}
	names, err := fs.Glob(root.FS(), pattern)
	if err != nil {
		return err
	}
	printed := false
	for _, name := range names {
		info, err := root.Lstat(name)
		if err != nil || !info.Mode().IsRegular() || info.ModTime().Before(last.Started.Truncate(time.Second)) {
			continue // of an earlier run, or not of a guardrail
		}
		f, err := root.Open(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "── %s\n", name)
		_, err = io.Copy(out, f)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		fmt.Fprintln(out)
		printed = true
	}
	if !printed {
		return errors.New("the last run has no such guardrail log")
	}
	return nil
}

// Follow prints a log as it grows, until over says that nothing will be added.
func Follow(out io.Writer, log io.Reader, over func() bool) error {
	const interval = 200 * time.Millisecond
	for {
		last := over() // asked before what was written until then is copied
		if _, err := io.Copy(out, log); err != nil || last {
			return err
		}
		time.Sleep(interval)
	}
}
