//go:build e2e

package e2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// project is one of the projects below testdata/inside.
func project(t *testing.T, name string) map[string]string {
	t.Helper()
	root := filepath.Join(insideDir, name)
	files := map[string]string{".gitignore": "out/\nnode_modules/\npackage-lock.json\n__pycache__/\n*.db*\n*.o\nservers\ngo.sum\n"}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var data []byte
			data, err = os.ReadFile(path)
			rel, _ := filepath.Rel(root, path)
			files[rel] = string(data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// What developers' tools do works in the sandbox, for the agent and for
// guardrails; what they are refused is said to them and in the summary.
func TestInside(t *testing.T) {
	for _, c := range []struct {
		name, guardrail string
		refused         []string // in the summary
	}{
		{"git", "git fsck --no-progress", []string{"refused.test:80", "refused.test:443"}},
		{"go", "go vet . && go test -run 'Server|Unix' .", []string{"refused.test:80"}},
		{"node", "npm test", []string{"refused.test:80", "refused.test:443"}},
		{"python", "python3 -m unittest test_shop.Servers test_shop.Asyncio", []string{"refused.test:80", "192.0.2.1:80"}},
		{"c", "make check", nil},
		{"shell", "! cat /github/workflow/event.json", []string{"refused.test:80", "refused.test:443"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPackages(t)
			j := newJob(t, forge(t).newRepository(t, project(t, c.name)), "", checkoutV6)
			j.Image = toolsImage(t)
			j.Mounts = append(j.Mounts, p.hosts+":/etc/hosts:ro")
			j.Env["PACKAGES"] = p.URL
			j.Inputs["agent"] = "text"
			j.Inputs["agent-command"] = `bash -c "cat >/dev/null; bash run.sh 2>&1 && date >work.txt && echo '<promise>COMPLETE</promise>'"`
			j.Inputs["prompt"] = "Work. Say <promise>COMPLETE</promise> when it is done."
			j.Inputs["guardrails"] = c.guardrail
			j.Keys["baseline"] = "false"
			j.Inputs["max-iterations"] = "1"
			j.Keys["max-retries"] = "0"
			j.Inputs["isolation"] = "strict"
			j.Inputs["allowed-hosts"] = p.Host
			j.Inputs["pass-env"] = "PACKAGES"
			res := j.run(t, 5*time.Minute)
			if res.Code != 0 || res.Outputs["status"] != "completed" {
				t.Fatalf("exit code %d, status %q; want 0, completed", res.Code, res.Outputs["status"])
			}
			for _, want := range append(c.refused, "Landlock", "network") {
				if !strings.Contains(res.Summary, want) {
					t.Errorf("the summary lacks %q:\n%s", want, res.Summary)
				}
			}
			t.Logf("%s took %s", c.name, res.Took)
		})
	}
}
