package repo_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/repo"
	"github.com/org/ralph-action/internal/repo/lfs"
)

// LFS that cannot be published is refused before anything is spent.
func TestCheckLFS(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		configured bool
		act        func(t *testing.T, l *lfsForge, dir string)
		options    optionFunc
		want       string // of the error; empty: none
	}{
		{"ready", true, nil, nil, ""},
		{"not configured", false, nil, nil, "the filter lfs is not configured"},
		{"git-lfs is missing", false, func(t *testing.T, _ *lfsForge, dir string) {
			git(t, dir, "config", "filter.lfs.process", "no-such-git-lfs filter-process")
		}, nil, "git-lfs does not run"},
		{"git-lfs fails", true, func(t *testing.T, _ *lfsForge, dir string) { write(t, filepath.Join(dir, ".git/lfs-broken"), "") }, nil, "git-lfs does not run"},
		{"no LFS on the server", true, func(_ *testing.T, l *lfsForge, _ string) { l.batch = 404 }, nil, "the server takes none"},
		{"no right to", true, func(_ *testing.T, l *lfsForge, _ string) { l.batch = 403 }, nil, "the token may not send files"},
		{"another server", true, func(t *testing.T, _ *lfsForge, dir string) {
			write(t, filepath.Join(dir, ".lfsconfig"), "[lfs]\n\turl = https://lfs.example.com/x\n")
		}, nil, "another server (.lfsconfig: https://lfs.example.com/x)"},
		{"nothing is pushed", true, func(_ *testing.T, l *lfsForge, _ string) { l.batch = 404 }, func(o *repo.Options) { o.Push = false }, ""},
		{"add-paths without them", false, nil, func(o *repo.Options) { o.AddPaths = []string{".", ":(exclude,attr:filter=lfs)"} }, ""},
		{"add-paths of other files", false, nil, func(o *repo.Options) { o.AddPaths = []string{"*.txt"} }, ""},
		{"add-paths with one", false, nil, func(o *repo.Options) { o.AddPaths = []string{"old.*"} }, "not configured"},
		{"attributes in a folder", false, func(t *testing.T, _ *lfsForge, dir string) {
			write(t, filepath.Join(dir, ".gitattributes"), "*.bin -text\n")
			write(t, filepath.Join(dir, "deep/er/.gitattributes"), "*.png filter=lfs\n")
			git(t, dir, "add", "-A")
			git(t, dir, "commit", "-qm", "moved")
		}, nil, "not configured"},
		{"no LFS here", false, func(t *testing.T, _ *lfsForge, dir string) {
			write(t, filepath.Join(dir, ".gitattributes"), "*.txt text\n")
			git(t, dir, "commit", "-qam", "none")
		}, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l, dir := lfsWorkspace(t, tt.configured)
			if tt.act != nil {
				tt.act(t, l, dir)
			}
			if tt.options == nil {
				tt.options = func(*repo.Options) {}
			}
			r, err := open(t, dir, l.url, tt.options)
			if err == nil {
				if _, err = r.Begin(t.Context()); err == nil {
					err = r.CheckLFS(t.Context())
				}
			}
			if tt.want == "" {
				if err != nil {
					t.Errorf("CheckLFS() = %v, want nil", err)
				}
				return
			}
			if _, ok := errors.AsType[*lfs.Error](err); !ok || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("CheckLFS() = %v, want *lfs.Error with %q", err, tt.want)
			}
			if l.count("put ") != 0 {
				t.Error("CheckLFS sent an object")
			}
		})
	}
}

// A repository without LFS is not asked about it.
func TestCheckLFSCostsNothing(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	r := begin(t, dir, f.url)
	before := len(r.sandbox.Commands)
	if err := r.CheckLFS(t.Context()); err != nil || len(r.sandbox.Commands) != before {
		t.Errorf("CheckLFS() = %v with %d commands, want none", err, len(r.sandbox.Commands)-before)
	}
}
