package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/store"
)

const (
	// maxSpecBytes bounds the pathspecs, which travel in an argument list.
	maxSpecBytes = 64 << 10
	// pathsIndexName is a scratch index inside Options.Temp that holds nothing but
	// the paths to be matched.
	pathsIndexName = "paths-index"
)

// OpenPaths checks the pathspecs of add-paths with git itself and makes them independent
// of the directory they are written for, which the agent may remove.
func (t *Tree) OpenPaths(ctx context.Context, specs []string) error {
	if len(specs) == 0 {
		return nil
	}
	size := 0
	for _, s := range specs {
		size += len(s) + 1
		if s == "" || s == ":" || strings.ContainsAny(s, "\x00\n") {
			return fmt.Errorf("add-paths: %q is no pathspec: write paths as for git add, one a line", printable.Line(s, 100))
		}
	}
	if size > maxSpecBytes {
		return fmt.Errorf("add-paths has %d bytes, more than %d: use folders or wildcards", size, maxSpecBytes)
	}
	args := append([]string{"-C", filepath.Join(t.Top, t.Prefix), "ls-files", "-z", "--"}, specs...)
	err := t.GitEnv(ctx, []string{"GIT_INDEX_FILE=" + filepath.Join(t.Temp.Name(), "no-index")}, nil, nil, args...)
	var g *GitError
	if errors.As(err, &g) {
		return fmt.Errorf("add-paths: %s", strings.TrimPrefix(g.Message(400), "fatal: "))
	}
	if err != nil {
		return err
	}
	positive := false
	for _, s := range specs {
		spec, exclude := fromTop(t.Prefix, s)
		positive = positive || !exclude
		t.Paths = append(t.Paths, spec)
	}
	if !positive { // as git add has it
		t.Paths = append(t.Paths, ":(top)")
	}
	return nil
}

// fromTop is a pathspec (gitglossary) that means from the top of the work tree
// what spec means in the directory prefix, which ends in a slash or is empty.
// exclude reports that it takes paths away.
func fromTop(prefix, spec string) (top string, exclude bool) {
	var magic []string
	rest := spec
	switch long, isLong := strings.CutPrefix(spec, ":("); {
	case isLong:
		words, after, _ := strings.Cut(long, ")")
		rest = after
		if words != "" {
			magic = strings.Split(words, ",")
		}
	case strings.HasPrefix(spec, ":"):
		rest = spec[1:]
		for rest != "" && strings.ContainsRune("/!^", rune(rest[0])) {
			magic = append(magic, map[byte]string{'/': "top", '!': "exclude", '^': "exclude"}[rest[0]])
			rest = rest[1:]
		}
		rest = strings.TrimPrefix(rest, ":")
	}
	exclude = slices.Contains(magic, "exclude")
	if slices.Contains(magic, "top") || prefix == "" || path.IsAbs(rest) {
		return spec, exclude
	}
	if !slices.Contains(magic, "literal") {
		prefix = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(prefix)
	}
	folder := rest == "" || rest == "." || strings.HasSuffix(rest, "/")
	if rest = path.Join(prefix, rest); folder {
		rest += "/"
	}
	if rest == "./" {
		rest = ""
	}
	return ":(" + strings.Join(append(magic, "top"), ",") + ")" + rest, exclude
}

// Within splits changes into those add-paths names and the others. The matching is
// git's own, on a scratch index that holds the paths alone: old entries in stage 1, new
// ones in stage 2, so that a file and a directory of the same name have room.
func (t *Tree) Within(ctx context.Context, changes []store.Change) (in, out []store.Change, err error) {
	if len(t.Paths) == 0 || len(changes) == 0 {
		return changes, nil, nil
	}
	var info strings.Builder
	for _, ch := range changes {
		for i, e := range []store.Entry{ch.Old, ch.New} {
			if e != (store.Entry{}) {
				fmt.Fprintf(&info, "%o %s %d\t%s\x00", uint32(e.Mode), e.Hash, i+1, ch.Path)
			}
		}
	}
	if err := t.Temp.Remove(pathsIndexName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	env := []string{"GIT_INDEX_FILE=" + filepath.Join(t.Temp.Name(), pathsIndexName)}
	err = t.GitEnv(ctx, env, strings.NewReader(info.String()), nil,
		"-c", "core.protectNTFS=false", "-c", "core.protectHFS=false", "update-index", "-z", "--index-info")
	if err != nil {
		return nil, nil, fmt.Errorf("add-paths: %w", err)
	}
	list, err := t.OutputEnv(ctx, env, nil, append([]string{"ls-files", "-z", "--"}, t.Paths...)...)
	if err != nil {
		return nil, nil, fmt.Errorf("add-paths: %w", err)
	}
	named := map[string]bool{}
	for p := range strings.SplitSeq(list, "\x00") {
		named[p] = true
	}
	gaveWay := displaced(changes, named)
	for _, ch := range changes {
		if named[ch.Path] || gaveWay[ch.Path] {
			in = append(in, ch)
		} else {
			out = append(out, ch)
		}
	}
	return in, out, nil
}

// displaced returns the removed paths that no named path can stand beside: a file in the
// place of its directory, or files below the place of a file.
func displaced(changes []store.Change, named map[string]bool) map[string]bool {
	folders, files := map[string]bool{}, map[string]bool{}
	for _, ch := range changes {
		if !named[ch.Path] || ch.New == (store.Entry{}) {
			continue
		}
		files[ch.Path] = true
		for p := path.Dir(ch.Path); p != "."; p = path.Dir(p) {
			folders[p] = true
		}
	}
	gone := map[string]bool{}
	for _, ch := range changes {
		if ch.New != (store.Entry{}) {
			continue
		}
		gone[ch.Path] = folders[ch.Path]
		for p := path.Dir(ch.Path); p != "."; p = path.Dir(p) {
			gone[ch.Path] = gone[ch.Path] || files[p]
		}
	}
	return gone
}
