package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
)

// built is the line of action.yml that the release replaces: on main the runner
// builds the image.
const built = "\n  image: Dockerfile\n"

// record notes the images beside the checksums: NAME=REPOSITORY@sha256:….
func (r *release) record(images []string) error {
	rel, err := r.sealed()
	if err != nil {
		return err
	}
	rel.Images = map[string]string{}
	for _, s := range images {
		kind, ref, ok := strings.Cut(s, "=")
		if _, err := name.NewDigest(ref); !ok || err != nil {
			return fmt.Errorf("%q: want NAME=REPOSITORY@sha256:DIGEST", s)
		}
		rel.Images[kind] = ref
	}
	return r.seal(rel)
}

// tree makes the commit that users check out: HEAD with the image of the release in
// action.yml, and release.json. Neither the work tree nor the index nor a branch changes.
func (r *release) tree(ctx context.Context) (string, error) {
	rel, err := r.sealed()
	if err != nil {
		return "", err
	}
	head, at, err := r.commit(ctx)
	switch {
	case err != nil:
		return "", err
	case head != rel.Commit:
		return "", fmt.Errorf("%s was built from %s, and %s is checked out", r.version, rel.Commit, head)
	case rel.Images["claude"] == "":
		return "", errors.New("release.json names no image `claude`: push it, and run release record")
	}
	action, err := r.git(ctx, "show", head+":action.yml")
	if err != nil {
		return "", err
	}
	text := released(action+"\n", rel.Images["claude"])
	if text == "" {
		return "", fmt.Errorf("action.yml has no line %q", strings.TrimSpace(built))
	}
	manifestText, err := os.ReadFile(filepath.Join(r.out, manifest))
	if err != nil {
		return "", err
	}
	temp, err := os.MkdirTemp("", "release-index-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp)
	date := fmt.Sprintf("%d +0000", at.Unix())
	env := append(os.Environ(), "GIT_INDEX_FILE="+filepath.Join(temp, "index"),
		"GIT_AUTHOR_NAME=ralph-action", "GIT_AUTHOR_EMAIL=noreply@github.com", "GIT_AUTHOR_DATE="+date,
		"GIT_COMMITTER_NAME=ralph-action", "GIT_COMMITTER_EMAIL=noreply@github.com", "GIT_COMMITTER_DATE="+date)
	git := func(stdin string, args ...string) (string, error) {
		c := exec.CommandContext(ctx, "git", append([]string{"-C", r.root}, args...)...)
		c.Env, c.Stdin = env, strings.NewReader(stdin)
		return output(c)
	}
	if _, err := git("", "read-tree", head); err != nil {
		return "", err
	}
	for path, content := range map[string]string{"action.yml": text, manifest: string(manifestText)} {
		id, err := git(content, "hash-object", "-w", "--stdin")
		if err == nil {
			_, err = git("", "update-index", "--add", "--cacheinfo", "100644,"+id+","+path)
		}
		if err != nil {
			return "", err
		}
	}
	id, err := git("", "write-tree")
	if err != nil {
		return "", err
	}
	commit, err := git("Release "+r.version+"\n", "commit-tree", id, "-p", head)
	if err != nil {
		return "", err
	}
	return commit, r.checkTree(ctx, head, commit, rel)
}

// released puts the image into action.yml; empty if there is no place for it.
func released(action, image string) string {
	if strings.Count(action, built) != 1 {
		return ""
	}
	return strings.Replace(action, built, "\n  image: docker://"+image+"\n", 1)
}

// checkTree returns an error unless the release's commit differs from the one it was
// built from in the image of action.yml and in release.json, and in nothing else.
func (r *release) checkTree(ctx context.Context, from, commit string, rel Release) error {
	names, err := r.git(ctx, "diff-tree", "-r", "--no-renames", "--name-status", from, commit)
	if err != nil {
		return err
	}
	if want := "M\taction.yml\nA\t" + manifest; names != want {
		return fmt.Errorf("the tree of %s changes %q, want %q", r.version, names, want)
	}
	before, err := r.git(ctx, "show", from+":action.yml")
	if err != nil {
		return err
	}
	after, err := r.git(ctx, "show", commit+":action.yml")
	if err != nil {
		return err
	}
	if after != strings.TrimSuffix(released(before+"\n", rel.Images["claude"]), "\n") {
		return fmt.Errorf("action.yml of %s differs in more than the image %s", r.version, rel.Images["claude"])
	}
	kept, err := r.git(ctx, "show", commit+":"+manifest)
	if err != nil {
		return err
	}
	there, err := os.ReadFile(filepath.Join(r.out, manifest))
	if err == nil && kept != string(bytes.TrimSpace(there)) {
		err = fmt.Errorf("%s of the tree is not the release's", manifest)
	}
	return err
}
