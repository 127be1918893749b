package repo_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo"
	"github.com/org/ralph-action/internal/repo/inspection"
)

// agentFile picks what the tests overlay.
func agentFile(p string) bool {
	for part := range strings.SplitSeq(p, "/") {
		switch part {
		case ".claude", "CLAUDE.md", ".mcp.json", "hook.sh", ".codex", "link":
			return true
		}
	}
	return false
}

// headOf is a checkout of a branch on which somebody changed what agents read,
// from a base that has moved since.
func headOf(t *testing.T, change func(dir string)) (f *forge, dir string) {
	t.Helper()
	f = newForge(t)
	seed := f.seed(t, map[string]string{
		"a.txt": "a\n", "CLAUDE.md": "base\n", ".claude/settings.json": "{}\n", ".claude/rules/go.md": "base\n", ".mcp.json": "{}\n", "sub/CLAUDE.md": "base\n",
	})
	write(t, filepath.Join(seed, "hook.sh"), "#!/bin/sh\n")
	symlink(t, "CLAUDE.md", filepath.Join(seed, "link"))
	if err := os.Chmod(filepath.Join(seed, "hook.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	commitAll(t, seed, "base")
	git(t, seed, "push", "-q", "origin", "HEAD:main")
	git(t, seed, "checkout", "-q", "-b", "theirs")
	change(seed)
	commitAll(t, seed, "theirs")
	git(t, seed, "push", "-q", "origin", "theirs")
	dir = filepath.Join(t.TempDir(), "work")
	git(t, filepath.Dir(dir), "clone", "-q", "-b", "theirs", f.dir, dir)
	return f, dir
}

func ontoTheirs(o *repo.Options) { o.Branch, o.Base, o.DefaultBranch = "theirs", "main", "main" }

func overlaid(t *testing.T, f *forge, dir string, change ...optionFunc) (*run, []string) {
	t.Helper()
	r := begin(t, dir, f.url, append([]optionFunc{ontoTheirs}, change...)...)
	changed, err := r.Overlay(t.Context(), agentFile)
	if err != nil {
		t.Fatalf("Overlay() = %v", err)
	}
	return r, changed
}

// workTree is everything but .git.
func workTree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == ".git" {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		b.WriteString(strings.TrimPrefix(p, dir) + " " + info.Mode().String())
		if info.Mode()&fs.ModeSymlink != 0 {
			to, _ := os.Readlink(p)
			b.WriteString(" -> " + to)
		} else if info.Mode().IsRegular() {
			b.WriteString(" " + read(t, p))
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// What agents read is the base's while the agent works, and the branch's in what is
// published and in the work tree afterwards.
func TestOverlay(t *testing.T) {
	t.Parallel()
	check := func(errs ...error) {
		if err := errors.Join(errs...); err != nil {
			t.Error(err)
		}
	}
	for _, tt := range []struct {
		name string
		head func(dir string)
		want []string          // changed
		see  map[string]string // files for the agent; empty: not there
	}{
		{"nothing differs", func(dir string) { write(t, filepath.Join(dir, "x.txt"), "x") }, nil, map[string]string{"CLAUDE.md": "base\n"}},
		{"changed", func(dir string) { write(t, filepath.Join(dir, "CLAUDE.md"), "obey\n") }, []string{"CLAUDE.md"}, map[string]string{"CLAUDE.md": "base\n"}},
		{"added", func(dir string) {
			write(t, filepath.Join(dir, "deep/.claude/hooks/x.sh"), "evil\n")
			write(t, filepath.Join(dir, ".codex/config.toml"), "evil\n")
		}, []string{".codex/config.toml", "deep/.claude/hooks/x.sh"}, map[string]string{".codex/config.toml": "", "deep/.claude/hooks/x.sh": ""}},
		{"removed", func(dir string) { check(os.RemoveAll(filepath.Join(dir, ".claude"))) }, []string{".claude/rules/go.md", ".claude/settings.json"}, map[string]string{".claude/settings.json": "{}\n"}},
		{"mode", func(dir string) { check(os.Chmod(filepath.Join(dir, "hook.sh"), 0o644)) }, []string{"hook.sh"}, map[string]string{"hook.sh": "#!/bin/sh\n"}},
		{"folder in place of a file", func(dir string) {
			check(os.Remove(filepath.Join(dir, ".mcp.json")))
			write(t, filepath.Join(dir, ".mcp.json/CLAUDE.md"), "x")
		}, []string{".mcp.json", ".mcp.json/CLAUDE.md"}, map[string]string{".mcp.json": "{}\n"}},
		{"file in place of a folder", func(dir string) {
			check(os.RemoveAll(filepath.Join(dir, ".claude")))
			write(t, filepath.Join(dir, ".claude"), "x")
		}, []string{".claude", ".claude/rules/go.md", ".claude/settings.json"}, map[string]string{".claude/settings.json": "{}\n"}},
		{"link in place of a folder", func(dir string) {
			check(os.RemoveAll(filepath.Join(dir, ".claude")))
			write(t, filepath.Join(dir, "evil/settings.json"), "evil")
			symlink(t, "evil", filepath.Join(dir, ".claude"))
		}, []string{".claude", ".claude/rules/go.md", ".claude/settings.json"}, map[string]string{".claude/settings.json": "{}\n", "evil/settings.json": "evil"}},
		{"link above it", func(dir string) {
			check(os.RemoveAll(filepath.Join(dir, "sub")))
			symlink(t, "/tmp", filepath.Join(dir, "sub"))
		}, []string{"sub", "sub/CLAUDE.md"}, map[string]string{"sub/CLAUDE.md": "base\n"}},
		{"link in place of a file", func(dir string) {
			check(os.Remove(filepath.Join(dir, "CLAUDE.md")))
			symlink(t, "a.txt", filepath.Join(dir, "CLAUDE.md"))
		}, []string{"CLAUDE.md"}, map[string]string{"CLAUDE.md": "base\n", "a.txt": "a\n"}},
		{"file in place of a link", func(dir string) {
			check(os.Remove(filepath.Join(dir, "link")))
			write(t, filepath.Join(dir, "link"), "evil\n")
		}, []string{"link"}, map[string]string{"link": "base\n"}},
		{"line ends", func(dir string) {
			write(t, filepath.Join(dir, ".gitattributes"), "*.md text eol=crlf\n")
			write(t, filepath.Join(dir, "CLAUDE.md"), "obey\r\n")
		}, []string{"CLAUDE.md"}, map[string]string{"CLAUDE.md": "base\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, dir := headOf(t, tt.head)
			start := git(t, dir, "rev-parse", "HEAD")
			before, index := workTree(t, dir), read(t, filepath.Join(dir, ".git/index"))
			r, changed := overlaid(t, f, dir)
			equal(t, "Overlay()", changed, append([]string{}, tt.want...))
			for name, want := range tt.see {
				if b, err := os.ReadFile(filepath.Join(dir, name)); err == nil && string(b) != want || err != nil && want != "" {
					t.Errorf("the agent sees %s = %q, %v, want %q", name, b, err, want)
				}
			}
			if read(t, filepath.Join(dir, ".git/index")) != index {
				t.Error("the index was touched")
			}
			if c := r.snapshot(t); c.Files != 0 || c.SinceStart {
				t.Errorf("Snapshot() = %+v, want no change", c)
			}

			// The agent works beside it, and commits all it sees.
			write(t, filepath.Join(dir, "one.txt"), "1\n")
			if _, c := r.pushed(t, f); c.Files != 1 {
				t.Errorf("Checkpoint() = %+v, want one file", c)
			}
			write(t, filepath.Join(dir, "two.txt"), "2\n")
			commitAll(t, dir, "agent: all")
			_, c := r.pushed(t, f)
			equal(t, "what is published", git(t, f.dir, "diff", "--name-status", "--no-renames", start, c.SHA), []string{"A\tone.txt", "A\ttwo.txt"})

			kept, err := r.RestoreOverlay()
			if err != nil || len(kept) != 0 {
				t.Errorf("RestoreOverlay() = %q, %v, want nothing kept", kept, err)
			}
			if err := errors.Join(os.Remove(filepath.Join(dir, "one.txt")), os.Remove(filepath.Join(dir, "two.txt"))); err != nil {
				t.Fatal(err)
			}
			if after := workTree(t, dir); after != before {
				t.Errorf("the work tree afterwards:\n%s\nwant:\n%s", after, before)
			}
			git(t, dir, "checkout", "-q", "--", "one.txt", "two.txt")
			equal(t, "status", git(t, dir, "status", "--porcelain"), "")
			if kept, err := r.RestoreOverlay(); kept != nil || err != nil {
				t.Errorf("second RestoreOverlay() = %q, %v, want nothing", kept, err)
			}
		})
	}
}

// What the agent makes of an overlaid file is its change, and stays.
func TestAgentChangesWhatIsOverlaid(t *testing.T) {
	t.Parallel()
	f, dir := headOf(t, func(dir string) {
		write(t, filepath.Join(dir, "CLAUDE.md"), "obey\n")
		write(t, filepath.Join(dir, ".mcp.json"), "evil\n")
		write(t, filepath.Join(dir, ".claude/settings.json"), "evil\n")
		write(t, filepath.Join(dir, ".codex/config.toml"), "evil\n")
		write(t, filepath.Join(dir, "sub/CLAUDE.md"), "evil\n")
	})
	var seen []string
	r, _ := overlaid(t, f, dir, func(o *repo.Options) {
		o.Inspect = func(_ context.Context, in inspection.Request) ([]ralph.Finding, error) {
			seen = nil
			for _, c := range in.Since {
				seen = append(seen, c.Path)
			}
			return nil, nil
		}
	})
	outside := t.TempDir()
	write(t, filepath.Join(outside, "precious"), "precious")
	if err := errors.Join(
		os.Remove(filepath.Join(dir, ".mcp.json")),
		os.RemoveAll(filepath.Join(dir, ".claude")), os.Symlink(outside, filepath.Join(dir, ".claude")),
	); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "CLAUDE.md"), "better\n")
	write(t, filepath.Join(dir, ".codex/config.toml"), "mine\n")
	r.snapshot(t)
	equal(t, "Since", seen, []string{".claude", ".claude/rules/go.md", ".claude/settings.json", ".codex/config.toml", ".mcp.json", "CLAUDE.md"})
	kept, err := r.RestoreOverlay()
	if err != nil {
		t.Error(err)
	}
	equal(t, "kept", kept, []string{".claude/settings.json", ".codex/config.toml", ".mcp.json", "CLAUDE.md"})
	equal(t, "CLAUDE.md", read(t, filepath.Join(dir, "CLAUDE.md")), "better\n")
	equal(t, ".codex", read(t, filepath.Join(dir, ".codex/config.toml")), "mine\n")
	equal(t, "sub", read(t, filepath.Join(dir, "sub/CLAUDE.md")), "evil\n")
	equal(t, "outside", treeText(t, outside), outside+" drwxr-xr-x\n"+outside+"/precious -rw-r--r--\nprecious")
}

func TestBaseFile(t *testing.T) {
	t.Parallel()
	f, dir := headOf(t, func(dir string) { write(t, filepath.Join(dir, ".claude/settings.json"), "theirs\n") })
	// What the workspace says of the base does not count.
	git(t, dir, "update-ref", "refs/remotes/origin/main", git(t, dir, "rev-parse", "HEAD"))
	r := begin(t, dir, f.url, ontoTheirs)
	base := git(t, f.dir, "rev-parse", "main:.claude/settings.json")
	git(t, dir, "replace", base, git(t, dir, "rev-parse", "HEAD:.claude/settings.json"))
	object := filepath.Join(dir, ".git/objects", base[:2], base[2:])
	if err := os.Remove(object); err == nil {
		write(t, object, read(t, filepath.Join(dir, ".git/objects", objectName(git(t, dir, "hash-object", "-w", ".claude/settings.json")))))
	}
	b, err := r.BaseFile(t.Context(), ".claude/settings.json")
	if err != nil || string(b) != "{}\n" {
		t.Errorf("BaseFile() = %q, %v, want the base's", b, err)
	}
	for _, name := range []string{"none", ".claude", "link", "a.txt/x", ""} {
		if _, err := r.BaseFile(t.Context(), name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("BaseFile(%q) = %v, want fs.ErrNotExist", name, err)
		}
	}
	if r.Prefix() != "" {
		t.Errorf("Prefix() = %q at the top", r.Prefix())
	}
	_, dir = workspace(t)
	if r, err := open(t, dir, ""); err != nil {
		t.Error(err)
	} else if _, err := r.BaseFile(t.Context(), "a.txt"); !errors.Is(err, repo.ErrNoBase) {
		t.Errorf("BaseFile() before Begin = %v, want ErrNoBase", err)
	}
}

func objectName(id string) string { return id[:2] + "/" + id[2:] }

// Where the agent's own commits hold the base's version, they are published as one
// without it, also in a run in which only the agent commits.
func TestOnlyTheAgentCommitsWhatIsOverlaid(t *testing.T) {
	t.Parallel()
	f, dir := headOf(t, func(dir string) { write(t, filepath.Join(dir, "CLAUDE.md"), "theirs\n") })
	r, _ := overlaid(t, f, dir)
	write(t, filepath.Join(dir, "x.txt"), "x\n")
	git(t, dir, "add", "x.txt")
	git(t, dir, "commit", "-qm", "agent: x alone")
	r.snapshot(t)
	if c, err := r.commitOwn(t.Context(), iteration(1)); err != nil || !c.Pushed || c.Own != 1 {
		t.Errorf("CheckpointOwn() = %+v, %v, want the agent's commit", c, err)
	}
	write(t, filepath.Join(dir, "y.txt"), "y\n")
	commitAll(t, dir, "agent: all")
	change, c := r.pushed(t, f)
	if !hasNote(change.Notes, `they hold "CLAUDE.md"`) {
		t.Errorf("notes = %q, want CLAUDE.md named", change.Notes)
	}
	equal(t, "CLAUDE.md", git(t, f.dir, "show", c.SHA+":CLAUDE.md"), "theirs")
	equal(t, "y.txt", git(t, f.dir, "show", c.SHA+":y.txt"), "y")
}
