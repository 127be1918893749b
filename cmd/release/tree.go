package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

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

// stories is the workflow that others call. A step of it cannot name the commit that it
// stands in: on main it names the branch, in a release the commit before, which has the
// action of that release.
const stories = ".github/workflows/stories.yml"

// onMain is a step of the workflow that uses the action.
var onMain = regexp.MustCompile(`(?m)(uses: org/ralph-action(?:/\w+)?)@main$`)

// tree makes the commit that users check out: HEAD with the image of the release in
// action.yml, and release.json; on top of it another one, whose workflow uses the
// first. Neither the work tree nor the index nor a branch changes.
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
	workflow, err := r.git(ctx, "show", head+":"+stories)
	if err != nil {
		return "", err
	}
	manifestText, err := os.ReadFile(filepath.Join(r.out, manifest))
	if err != nil {
		return "", err
	}
	own, err := r.commitFiles(ctx, head, "Action of "+r.version, at, map[string]string{"action.yml": text, manifest: string(manifestText)})
	if err != nil {
		return "", err
	}
	if workflow = stamped(workflow+"\n", own, r.version); workflow == "" {
		return "", fmt.Errorf("%s has no step that uses org/ralph-action@main", stories)
	}
	commit, err := r.commitFiles(ctx, own, "Release "+r.version, at, map[string]string{stories: workflow})
	if err != nil {
		return "", err
	}
	return commit, r.checkTree(ctx, head, commit, rel)
}

// commitFiles makes a commit that differs from its parent in some files.
func (r *release) commitFiles(ctx context.Context, parent, message string, at time.Time, files map[string]string) (string, error) {
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
	if _, err := git("", "read-tree", parent); err != nil {
		return "", err
	}
	for path, content := range files {
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
	return git(message+"\n", "commit-tree", id, "-p", parent)
}

// released puts the image into action.yml; empty if there is no place for it.
func released(action, image string) string {
	if strings.Count(action, built) != 1 {
		return ""
	}
	return strings.Replace(action, built, "\n  image: docker://"+image+"\n", 1)
}

// stamped makes the workflow use the action of a commit; empty if it does not use it.
func stamped(workflow, commit, version string) string {
	if !onMain.MatchString(workflow) {
		return ""
	}
	return onMain.ReplaceAllString(workflow, "${1}@"+commit+" # "+version)
}

// checkTree returns an error unless the release's commit differs from the one it was
// built from in the image of action.yml, in what the workflow uses and in release.json,
// and in nothing else.
func (r *release) checkTree(ctx context.Context, from, commit string, rel Release) error {
	names, err := r.git(ctx, "diff-tree", "-r", "--no-renames", "--name-status", from, commit)
	if err != nil {
		return err
	}
	if want := "M\t" + stories + "\nM\taction.yml\nA\t" + manifest; names != want {
		return fmt.Errorf("the tree of %s changes %q, want %q", r.version, names, want)
	}
	own, err := r.git(ctx, "rev-parse", commit+"^")
	if err != nil {
		return err
	}
	for _, file := range []struct {
		name, in string
		released func(string) string
	}{
		{"action.yml", "the image " + rel.Images["claude"], func(s string) string { return released(s, rel.Images["claude"]) }},
		{stories, "the action of " + own, func(s string) string { return stamped(s, own, r.version) }},
	} {
		before, err := r.git(ctx, "show", from+":"+file.name)
		if err != nil {
			return err
		}
		after, err := r.git(ctx, "show", commit+":"+file.name)
		if err != nil {
			return err
		}
		if after != strings.TrimSuffix(file.released(before+"\n"), "\n") {
			return fmt.Errorf("%s of %s differs in more than %s", file.name, r.version, file.in)
		}
	}
	kept, err := r.git(ctx, "show", commit+":"+manifest)
	if err != nil {
		return err
	}
	if names, err := r.git(ctx, "diff-tree", "-r", "--no-renames", "--name-status", own, commit); err != nil || names != "M\t"+stories {
		return errors.Join(err, fmt.Errorf("the commit that the workflow uses differs from the release in %q, want %s alone", names, stories))
	}
	there, err := os.ReadFile(filepath.Join(r.out, manifest))
	if err == nil && kept != string(bytes.TrimSpace(there)) {
		err = fmt.Errorf("%s of the tree is not the release's", manifest)
	}
	return err
}
