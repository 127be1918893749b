package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/registry"
)

// TestMain makes this program crane where it is called so.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) != "crane" {
		backoff.Duration = time.Millisecond
		os.Exit(m.Run())
	}
	err := fmt.Errorf("crane %q is not what crane does here", os.Args[1:])
	if len(os.Args) == 4 && os.Args[1] == "copy" {
		err = crane.Copy(os.Args[2], os.Args[3])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// mirrored is a release, and a network of its own to which a script brings it.
type mirrored struct {
	made
	script string
	to     string // repository of images there
	action string // bare repository there
	env    []string
}

// newMirror takes the script of docs/install.md to the letter, but for the addresses.
func newMirror(t *testing.T) mirrored {
	t.Helper()
	m := mirrored{made: makeRelease(t)}
	page, err := os.ReadFile("../../docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "\n## Without the internet\n")
	_, rest, _ = strings.Cut(rest, "```bash\n")
	script, _, ok := strings.Cut(rest, "```\n")
	if !ok {
		t.Fatal("docs/install.md has no script under Without the internet")
	}
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	m.to = strings.TrimPrefix(server.URL, "http://") + "/org/ralph-action"
	m.script = strings.Replace(script, "registry.example.com/org/ralph-action", m.to, 1)
	if m.script == script {
		t.Fatalf("the script names no registry.example.com/org/ralph-action:\n%s", script)
	}

	origin, bin := t.TempDir(), t.TempDir()
	m.action = t.TempDir()
	for _, args := range [][]string{{"init", "-q", "--bare", origin}, {"init", "-q", "--bare", m.action}, {"remote", "add", "origin", origin}} {
		if _, err := m.git(t.Context(), args...); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.tag(t.Context()); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(bin, "crane"))
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(bin, "gh"), []byte(`#!/bin/sh
[ "$*" = "release download v1.2.3 --repo org/ralph-action --dir mirror" ] && cp -r "$RELEASE" mirror
`), 0o700) // #nosec G306 -- a program
	}
	if err != nil {
		t.Fatal(err)
	}
	m.env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "RELEASE="+m.out, "HOME="+t.TempDir(),
		"GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x@example.com", "GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x@example.com",
		"GIT_CONFIG_COUNT=2",
		"GIT_CONFIG_KEY_0=url."+origin+".insteadOf", "GIT_CONFIG_VALUE_0=https://github.com/org/ralph-action.git",
		"GIT_CONFIG_KEY_1=url."+m.action+".insteadOf", "GIT_CONFIG_VALUE_1=https://github.example.com/org/ralph-action.git")
	return m
}

func (m mirrored) run(ctx context.Context, dir string) error {
	c := exec.CommandContext(ctx, "bash")
	c.Dir, c.Env, c.Stdin = dir, m.env, strings.NewReader(m.script)
	text, err := c.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w:\n%s", err, text)
	}
	return nil
}

// The documented script brings files, image and action to a network of its own: the
// image keeps its digest, and the action names it there.
func TestMirror(t *testing.T) {
	t.Parallel()
	m := newMirror(t)
	dir := t.TempDir()
	if err := m.run(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	rel, err := m.sealed()
	if err != nil {
		t.Fatal(err)
	}
	_, digest, _ := strings.Cut(rel.Images["claude"], "@")
	if got, err := crane.Digest(m.to + ":v1.2.3"); err != nil || got != digest {
		t.Errorf("the image there has the digest %s, %v; want %s", got, err, digest)
	}
	action, err := m.git(t.Context(), "--git-dir", m.action, "show", "v1.2.3:action.yml")
	if want := "\n  image: docker://" + m.to + "@" + digest + "\n"; err != nil || !strings.Contains(action+"\n", want) {
		t.Errorf("the action there lacks %q: %v\n%s", want, err, action)
	}
	workflow, err := m.git(t.Context(), "--git-dir", m.action, "show", "v1.2.3:"+stories)
	if n := strings.Count(workflow+"\n", "@v1.2.3\n"); err != nil || n != 5 {
		t.Errorf("the workflow there uses the action there %d times, want 5: %v\n%s", n, err, workflow)
	}
	names, err := m.files()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(names, checksums) {
		want, _ := os.ReadFile(filepath.Join(m.out, name))
		if got, err := os.ReadFile(filepath.Join(dir, "mirror", name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("mirror/%s: %v, or other bytes", name, err)
		}
	}
}

// What is not as it was released stops the script before anything is there.
func TestMirrorOfWhatChanged(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, want string
		breakIt    func(m mirrored) error
	}{
		{"an archive", "ralph_1.2.3_linux_amd64.tar.gz: FAILED", func(m mirrored) error {
			return os.WriteFile(filepath.Join(m.out, "ralph_1.2.3_linux_amd64.tar.gz"), []byte("other"), 0o600)
		}},
		{"an archive is missing", "ralph_1.2.3_linux_amd64.tar.gz: FAILED open or read", func(m mirrored) error {
			return os.Remove(filepath.Join(m.out, "ralph_1.2.3_linux_amd64.tar.gz"))
		}},
		{"the image is gone", "blob", func(m mirrored) error { return os.RemoveAll(filepath.Join(m.blobs, "sha256")) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := newMirror(t)
			if err := test.breakIt(m); err != nil {
				t.Fatal(err)
			}
			err := m.run(t.Context(), t.TempDir())
			if err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(test.want)) {
				t.Errorf("the script ends with %v, want %q", err, test.want)
			}
			if _, err := crane.Digest(m.to + ":v1.2.3"); err == nil {
				t.Error("there is an image")
			}
			if refs, err := m.git(t.Context(), "--git-dir", m.action, "for-each-ref"); refs != "" || err != nil {
				t.Errorf("there is an action: %s %v", refs, err)
			}
		})
	}
}
