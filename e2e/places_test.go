//go:build e2e

package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A workspace that cannot be written is refused before the agent is asked.
func TestReadOnlyWorkspace(t *testing.T) {
	t.Parallel()
	repo, scripts := localRepository(t, 1000), sharedTempDir(t)
	writeFiles(t, scripts, map[string]string{"agent.sh": "echo the agent was asked"})
	log, code := dockerRun{
		Repo: scripts, Image: image(t) + "-slim",
		Flags: []string{"--mount", "type=bind,source=" + repo + ",target=/place,readonly", "-w", "/place"},
		Args:  []string{"run", "--prompt", task, "--agent", "text", "--agent-command", "sh /repo/agent.sh"},
	}.run(t)
	if code != 2 || !strings.Contains(log, "read-only") || strings.Contains(log, "the agent was asked") {
		t.Errorf("ralph run in a read-only workspace = %d, want 2, a message that says read-only, and no agent\n%s", code, log)
	}
}

// A disk that fills up while the agent works is no success, and harms nothing
// that was there.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	disk := sharedTempDir(t)
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", disk).CombinedOutput(); err != nil {
		t.Fatalf("mount a small file system: %v: %s; these tests run as root", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", disk).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	repo, scripts := filepath.Join(disk, "repository"), sharedTempDir(t)
	if out, err := exec.Command("cp", "-a", localRepository(t, 1000), repo).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v: %s", err, out)
	}
	before := git(t, repo, "rev-parse", "main")
	writeFiles(t, scripts, map[string]string{"agent.sh": `cat > /dev/null
echo work > precious
dd if=/dev/urandom of=big bs=64k count=200 2>/dev/null
echo '<promise>COMPLETE</promise>'
`})
	log, code := dockerRun{
		Repo: repo, Image: image(t) + "-slim",
		Flags: []string{"-v", scripts + ":/opt/desk:ro"},
		Args:  []string{"run", "--commit", "each-iteration", "--completion", "promise", "--prompt", task, "--agent", "text", "--agent-command", "sh /opt/desk/agent.sh", "--max-iterations", "1", "--branch", "ralph/full"},
	}.run(t)
	if code != 5 || !strings.Contains(strings.ToLower(log), "space") {
		t.Errorf("ralph run on a full disk = %d, want 5 and a message about space\n%s", code, log)
	}
	if got := git(t, repo, "rev-parse", "main"); got != before {
		t.Errorf("main = %s, want it where it was, %s", got, before)
	}
	if got := readFile(t, filepath.Join(repo, "precious")); got != "work\n" {
		t.Errorf("the agent's file holds %q, want its work", got)
	}
	git(t, repo, "fsck", "--strict")
}
