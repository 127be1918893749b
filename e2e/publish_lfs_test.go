//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const lfsAttributes = "*.bin filter=lfs diff=lfs merge=lfs -text\n"

// lfsRepository keeps *.bin with Git LFS.
func lfsRepository(t *testing.T) *repository {
	t.Helper()
	if _, err := exec.LookPath("git-lfs"); err != nil {
		t.Fatal("git-lfs is missing: e2e/setup.sh installs it")
	}
	return forge(t).newRepository(t, map[string]string{".gitattributes": lfsAttributes, ".gitignore": "*.tmp\n", "calc.sh": program["calc.sh"]})
}

// lfsConfig is what `git lfs install` leaves in a home.
const lfsConfig = "[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\tsmudge = git-lfs smudge -- %f\n\tprocess = git-lfs filter-process\n\trequired = true\n"

// withoutSystem leaves out what the machine's packages configured, git-lfs among
// them.
func (j *job) withoutSystem() {
	j.Env["GIT_CONFIG_NOSYSTEM"], j.Inputs["pass-env"] = "1", "GIT_CONFIG_NOSYSTEM"
}

// smudged is a file as a clone with git-lfs elsewhere has it.
func (r *repository) smudged(t *testing.T, branch, name string) string {
	t.Helper()
	home, dir := t.TempDir(), t.TempDir()
	writeFiles(t, home, map[string]string{".gitconfig": lfsConfig})
	cmd := exec.Command("git", "clone", "-q", "-b", branch, r.pushURL(), dir)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("a clone with git-lfs: %v\n%s", err, out)
	}
	return readFile(t, filepath.Join(dir, name))
}

// Files of Git LFS: the branch holds pointers, and the server the files, whoever
// committed them.
func TestPublishLFS(t *testing.T) {
	t.Parallel()
	r := lfsRepository(t)
	big := strings.Repeat("0123456789abcde\n", 1<<16) // 1 MiB
	j := newNight(t, r, `cat >/dev/null
yes 0123456789abcde | head -n 65536 >model.bin
mkdir -p sub
printf 'small' >'sub/naïve name.bin'
: >empty.bin
echo text >plain.txt
git add plain.txt && printf 'own' >own.bin && git add own.bin && git commit -qm 'the agent commits itself'
`+done)
	j.withoutSystem()
	j.Inputs["setup"] = "git lfs install --skip-repo"
	j.must(t, 0, "completed").outputs(t, map[string]string{"pull-request-operation": "created"})

	pointer := r.content(t, "ralph/mul", "model.bin")
	wants(t, "model.bin on the branch", pointer, "version https://git-lfs.github.com/spec/v1", "size 1048576")
	wants(t, "own.bin on the branch", r.content(t, "ralph/mul", "own.bin"), "version https://git-lfs.github.com/spec/v1", "size 3")
	for name, want := range map[string]string{"model.bin": big, "sub/naïve name.bin": "small", "own.bin": "own", "empty.bin": "", "plain.txt": "text\n"} {
		if got := r.smudged(t, "ralph/mul", name); got != want {
			t.Errorf("%s in a clone with git-lfs has %d bytes, want the agent's %d", name, len(got), len(want))
		}
	}

	// The second night changes one of them: its checkout holds pointers.
	j = newNight(t, r, "cat >/dev/null\nprintf 'changed' >model.bin"+done)
	j.withoutSystem()
	j.Inputs["setup"] = "git lfs install --skip-repo"
	j.must(t, 0, "completed").outputs(t, map[string]string{"pull-request-operation": "updated"})
	if got := r.smudged(t, "ralph/mul", "model.bin"); got != "changed" {
		t.Errorf("model.bin after the second night = %.20q, want changed", got)
	}
	if got := r.smudged(t, "ralph/mul", "own.bin"); got != "own" {
		t.Errorf("own.bin after the second night = %q, want own", got)
	}
}

// Without git-lfs the raw files would be committed: such a run is refused before
// the agent starts, unless it leaves them out.
func TestPublishLFSNotConfigured(t *testing.T) {
	t.Parallel()
	r := lfsRepository(t)
	j := newNight(t, r, writes("model.bin", "raw"))
	j.withoutSystem()
	res := j.must(t, 2, "invalid")
	wants(t, "log", res.Log, "Git LFS", "git lfs install", "add-paths")
	j.untouched(t, "model.bin")
	if got := r.branches(t); !slices.Equal(got, []string{"main"}) {
		t.Errorf("branches = %q, want main alone", got)
	}

	j = newNight(t, r, "cat >/dev/null\necho raw >model.bin\necho text >plain.txt"+done)
	j.withoutSystem()
	j.Inputs["add-paths"] = ".\n:!*.bin"
	j.must(t, 0, "completed")
	if got := r.tree(t, "ralph/mul"); slices.Contains(got, "model.bin") || !slices.Contains(got, "plain.txt") {
		t.Errorf("files = %q, want plain.txt and not model.bin", got)
	}
}
