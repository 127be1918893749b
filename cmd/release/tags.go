package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tag gives the release's commit its version on the remote `origin`. A tag that is there
// stays: a release never changes.
func (r *release) tag(ctx context.Context) error {
	commit, err := r.tree(ctx)
	if err != nil {
		return err
	}
	ref := "refs/tags/" + r.version
	if _, err := r.git(ctx, "push", "--force-with-lease="+ref+":", "origin", commit+":"+ref); err != nil {
		return fmt.Errorf("tag %s: %w", r.version, err)
	}
	r.say("%s  %s", commit, r.version)
	return nil
}

// move brings v1 and v1.2 to v1.2.3, which is there. Moving them back takes a release
// back.
func (r *release) move(ctx context.Context) error {
	if strings.Contains(r.version, "-") {
		return fmt.Errorf("%s is no final version: v1 and the like stay where they are", r.version)
	}
	found, err := r.git(ctx, "ls-remote", "--exit-code", "origin", "refs/tags/"+r.version)
	if err != nil {
		return fmt.Errorf("origin has no tag %s: %w", r.version, err)
	}
	commit, _, _ := strings.Cut(found, "\t")
	if _, err := r.git(ctx, "fetch", "-q", "--no-tags", "origin", commit); err != nil {
		return err
	}
	part := strings.Split(r.version, ".")
	for _, name := range []string{part[0], part[0] + "." + part[1]} {
		if _, err := r.git(ctx, "push", "--force", "origin", commit+":refs/tags/"+name); err != nil {
			return fmt.Errorf("move %s: %w", name, err)
		}
		r.say("%s  %s", commit, name)
	}
	return nil
}

// patch adds a section for a release that has newer packages alone to the changelog,
// and prints its version.
func (r *release) patch(today time.Time) error {
	text := r.changelog()
	last := heading.FindStringSubmatchIndex(text)
	if last == nil || r.version == unreleased || strings.Contains(r.version, "-") {
		return fmt.Errorf("the changelog begins with %s: a rebuild follows a final release", r.version)
	}
	if text[last[2]:last[3]] != strings.TrimPrefix(r.version, "v") {
		return fmt.Errorf("the changelog begins with %s, not with %s", text[last[2]:last[3]], r.version)
	}
	part := strings.Split(strings.TrimPrefix(r.version, "v"), ".")
	n, err := strconv.Atoi(part[2])
	if err != nil {
		return err
	}
	next := fmt.Sprintf("%s.%s.%d", part[0], part[1], n+1)
	section := fmt.Sprintf("## [%s] - %s\n\n### Security\n\n- The images have the present packages of Debian.\n\n", next, today.Format(time.DateOnly))
	if err := os.WriteFile(filepath.Join(r.root, "CHANGELOG.md"), []byte(text[:last[0]]+section+text[last[0]:]), 0o644); err != nil {
		return err
	}
	r.say("v%s", next)
	return nil
}
