package worktree

import (
	"context"
	"strings"
)

// Filters returns the value of the attribute filter of paths, each of which ends in NUL.
func (t *Tree) Filters(ctx context.Context, paths string) (map[string]string, error) {
	s, err := t.OutputEnv(ctx, t.IndexEnv(), strings.NewReader(paths), "check-attr", "-z", "--stdin", "filter")
	if err != nil {
		return nil, err
	}
	f := strings.Split(s, "\x00")
	byPath := make(map[string]string, len(f)/3)
	for i := 0; i+2 < len(f); i += 3 {
		byPath[f[i]] = f[i+2]
	}
	return byPath, nil
}

// FilterConfigured reports whether git has a command for a filter.
func (t *Tree) FilterConfigured(ctx context.Context, name string) (bool, error) {
	for _, key := range []string{"process", "clean"} {
		s, err := t.Line(ctx, "config", "--get", "filter."+name+"."+key)
		if err == nil && s != "" {
			return true, nil
		}
		if _, ok := ExitCode(err); err != nil && !ok {
			return false, err
		}
	}
	return false, nil
}
