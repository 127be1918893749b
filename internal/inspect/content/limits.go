package content

import (
	"fmt"

	"github.com/org/ralph-action/internal/ralph"
)

// limits judges how much a pull request changes. Lock files and other files that
// programs write count as every other: people have to read them, or trust them. What a
// commit of the agent's own holds is published whatever a later one takes away, so
// these commits may not hold more either.
func (p Policy) limits(w Work) []ralph.Finding {
	total, run := size(w.Total), size(w.Run)
	before, own := total.without(run), inCommits(w.Since)
	var found []ralph.Finding
	add := func(rule, text string) {
		found = append(found, ralph.Finding{Kind: ralph.FindingSize, Severity: ralph.Block, Where: "the work as a whole", Rule: rule, Text: text})
	}
	if limit := p.MaxFiles; limit > 0 {
		n, of := len(total), "with this"
		if len(before) > limit {
			n, of = len(run), "in this run"
		}
		if n > limit {
			add("max-changed-files", fmt.Sprintf("%d files are changed %s, and at most %d may be: leave out what is not needed (generated files, installed packages), or raise max-changed-files", n, of, limit))
		} else if n = len(own); n > limit {
			add("max-changed-files", fmt.Sprintf("%d files are changed in new commits, and at most %d may be, "+removed+"max-changed-files", n, limit))
		}
	}
	if limit := p.MaxBytes; limit > 0 {
		n, of := total.bytes(), "with this"
		if before.bytes() > limit {
			n, of = run.bytes(), "in this run"
		}
		if n > limit {
			add("max-changed-bytes", fmt.Sprintf("the changed files have %d bytes together %s, and may have at most %d: leave out what is not needed (generated files, installed packages), or raise max-changed-bytes", n, of, limit))
		} else if n = own.bytes(); n > limit {
			add("max-changed-bytes", fmt.Sprintf("the files that new commits change have %d bytes together, and may have at most %d, "+removed+"max-changed-bytes", n, limit))
		}
	}
	return found
}

const removed = "what later ones remove included: undo these commits (git reset --soft) and commit what is left of them, or raise "

// inCommits are the paths that new commits change, each with the bytes of all its
// versions.
func inCommits(since []File) sizes {
	s := sizes{}
	for _, f := range since {
		if f.Commit != "" {
			s[f.Path] += max(f.Size, 0)
		}
	}
	return s
}

// sizes are changed paths with the bytes of their new content.
type sizes map[string]int64

func size(files []File) sizes {
	s := make(sizes, len(files))
	for _, f := range files {
		s[f.Path] = max(f.Size, 0)
	}
	return s
}

func (s sizes) without(other sizes) sizes {
	rest := sizes{}
	for path, n := range s {
		if _, ok := other[path]; !ok {
			rest[path] = n
		}
	}
	return rest
}

func (s sizes) bytes() int64 {
	var n int64
	for _, b := range s {
		n += b
	}
	return n
}
