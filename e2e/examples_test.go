//go:build e2e

package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
)

// pushed is the image under test in a registry on loopback, by its digest.
func pushed(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithBlobHandler(registry.NewDiskBlobHandler(t.TempDir()))))
	t.Cleanup(server.Close)
	name := strings.TrimPrefix(server.URL, "http://") + "/org/ralph-action"
	docker := func(args ...string) string {
		out, err := exec.Command("docker", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("docker %s: %v\n%s", args, err, out)
		}
		return string(out)
	}
	docker("tag", image(t), name+":tested")
	out := docker("push", name+":tested")
	docker("rmi", name+":tested") // and the digest, which docker push noted: it is pulled again
	digest := regexp.MustCompile(`digest: (sha256:[0-9a-f]{64})`).FindStringSubmatch(out)
	if digest == nil {
		t.Fatalf("docker push gave no digest:\n%s", out)
	}
	ref := name + "@" + digest[1]
	t.Cleanup(func() { _ = exec.Command("docker", "rmi", ref).Run() })
	return ref
}

// released is the action as a release has it: the tree that cmd/release makes, in
// which action.yml names the image by digest, and release.json the binary. It gives its
// directory and commit.
func released(t *testing.T, image, binary string) (dir, commit string) {
	t.Helper()
	dir = sharedTempDir(t)
	for _, name := range []string{"action.yml", "host/action.yml", "host/main.js", "setup/action.yml", "setup/main.js", ".github/workflows/stories.yml"} {
		writeFiles(t, dir, map[string]string{name: readFile(t, "../"+name)})
	}
	git(t, dir, "init", "-q", "-b", "main")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "main")
	out := t.TempDir()
	sum := sha256.Sum256([]byte(readFile(t, binary)))
	manifest, err := json.Marshal(map[string]any{
		"version": "v1.2.3", "commit": git(t, dir, "rev-parse", "HEAD"), "images": map[string]string{"claude": image},
		"binaries": map[string]string{runtime.GOOS + "_" + runtime.GOARCH: hex.EncodeToString(sum[:])},
	})
	if err != nil {
		t.Fatal(err)
	}
	writeFiles(t, out, map[string]string{"release.json": string(manifest)})
	tree, err := exec.Command("go", "run", "../cmd/release", "tree", "-root", dir, "-out", out, "-version", "v1.2.3").CombinedOutput()
	if err != nil {
		t.Fatalf("release tree: %v\n%s", err, tree)
	}
	commit = strings.TrimSpace(string(tree))
	git(t, dir, "checkout", "-q", commit)
	return dir, commit
}

// npmProject is what the examples take for granted: npm, its scripts, a prompt file.
var npmProject = map[string]string{
	"package.json":             `{"name": "calc", "version": "1.0.0", "scripts": {"lint": "sh -n calc.sh", "test": "sh test.sh"}}`,
	"package-lock.json":        `{"name": "calc", "version": "1.0.0", "lockfileVersion": 3, "packages": {"": {"name": "calc", "version": "1.0.0"}}}`,
	".github/ralph-nightly.md": task,
}

// onRunner are act's arguments for a workflow on this machine: a tool cache that has the
// release's binary, and stand-ins for the actions that set tools up, which come with the
// agent's CLI.
func onRunner(t *testing.T, workflow, binary string) []string {
	t.Helper()
	dir := sharedTempDir(t)
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	writeFiles(t, dir, map[string]string{
		"tool_cache/ralph/1.2.3/" + arch + "/ralph": readFile(t, binary),
		"setup/action.yml":                          "name: stand-in\nruns:\n  using: composite\n  steps:\n    - run: echo '" + dir + "/tool_cache/node/bin' >>\"$GITHUB_PATH\"\n      shell: bash\n",
		"tool_cache/node/bin/README":                "",
	})
	git(t, dir+"/setup", "init", "-q")
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal(err)
	}
	modules := dir + "/tool_cache/node/lib/node_modules/@anthropic-ai"
	for _, args := range [][]string{
		{"mkdir", "-p", modules},
		{"sh", "-c", "id=$(docker create " + image(t) + ") && docker cp -q $id:/usr/local/lib/node_modules/@anthropic-ai/claude-code " + modules + "; docker rm $id"},
		{"ln", "-s", modules + "/claude-code/bin/claude.exe", dir + "/tool_cache/node/bin/claude"},
		{"ln", "-s", node, dir + "/tool_cache/node/bin/node"},
		{"ln", "-s", filepath.Join(filepath.Dir(node), "npm"), dir + "/tool_cache/node/bin/npm"},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	owned(t, dir, 1001)
	args := []string{"-P", "ubuntu-24.04=-self-hosted", "--action-cache-path", dir}
	for _, m := range regexp.MustCompile(`uses: (actions/setup-\S+)`).FindAllStringSubmatch(workflow, -1) {
		args = append(args, "--local-repository", m[1]+"="+dir+"/setup")
	}
	return args
}

// The workflows that people copy, as they copy them: the action by a release's
// commit, whose image is pulled by digest.
func TestExamples(t *testing.T) {
	t.Parallel()
	ref := pushed(t)
	binary, err := builtOnce()
	if err != nil {
		t.Fatal(err)
	}
	action, commit := released(t, ref, binary)
	readme := regexp.MustCompile("(?s)```yaml\n(name: ralph\n.*?)```").FindStringSubmatch(readFile(t, "../README.md"))
	if readme == nil {
		t.Fatal("README.md has no workflow")
	}
	example := func(name string) string { return readFile(t, filepath.Join("../docs/examples", name)) }
	for _, c := range []struct {
		name, text, trigger, branch string
		event                       func(*testing.T, *repository) map[string]any
	}{
		{"README", readme[1], "workflow_dispatch", "", func(*testing.T, *repository) map[string]any {
			return map[string]any{"inputs": map[string]string{"prompt": task}}
		}},
		{"nightly", example("nightly.yml"), "schedule", "ralph/nightly", nil},
		{"dispatch", example("dispatch.yml"), "repository_dispatch", "", func(*testing.T, *repository) map[string]any {
			return map[string]any{"action": "ralph", "client_payload": map[string]string{"prompt": task}}
		}},
		{"issue", example("issue.yml"), "issues", "ralph/issue-1", func(t *testing.T, r *repository) map[string]any {
			e := r.listen(t)
			r.newLabel(t, "ralph")
			r.label(t, r.newIssue(t, r.Token, "Add mul", task), "ralph")
			var event map[string]any
			if err := json.Unmarshal([]byte(e.next(t, "issues", `"label_updated"`)), &event); err != nil {
				t.Fatal(err)
			}
			event["action"], event["label"] = "labeled", map[string]string{"name": "ralph"} // as GitHub says it
			return event
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{".github/workflows/ralph.yml": strings.ReplaceAll(c.text, "<SHA>", commit)}
			for _, more := range []map[string]string{program, npmProject} {
				for name, text := range more {
					files[name] = text
				}
			}
			r := forge(t).newRepository(t, files)
			git(t, r.Seed, "remote", "add", "origin", r.URL+"/"+r.Name)
			m := newModel(t, script(bash("printf 'mul() { echo $(($1 * $2)); }\\n' >>calc.sh"), answer{Text: "mul is there. <promise>COMPLETE</promise>"}))
			args := []string{
				c.trigger, "-W", ".github/workflows/ralph.yml", "-P", "ubuntu-24.04=" + image(t) + "-slim",
				"--local-repository", "org/ralph-action@" + commit + "=" + action, "--env", "ANTHROPIC_BASE_URL=" + m.URL,
			}
			if c.event != nil {
				event, err := json.Marshal(c.event(t, r))
				if err != nil {
					t.Fatal(err)
				}
				path := filepath.Join(sharedTempDir(t), "event.json")
				if err := os.WriteFile(path, event, 0o644); err != nil {
					t.Fatal(err)
				}
				args = append(args, "-e", path)
			}
			run, want := act, ref
			if strings.Contains(c.text, "/host@") {
				args = append(args, onRunner(t, c.text, binary)...)
				run, want = actHere, "API key hidden from the agent"
			}
			log := run(t, r, args...)
			wants(t, "the log", log, want, "Completed in 1 iteration")
			if strings.Contains(log, "docker build") {
				t.Error("the image was built")
			}
			if qs := m.questions(); len(qs) == 0 || !strings.Contains(qs[0].Text, task) {
				t.Errorf("the model was asked %d times, and should have the task", len(qs))
			}
			ps := r.pulls(t)
			if len(ps) != 1 || c.branch != "" && ps[0].Head.Ref != c.branch {
				t.Fatalf("pull requests = %+v, want one of %s", ps, c.branch)
			}
			if got := r.content(t, ps[0].Head.Ref, "calc.sh"); !strings.Contains(got, "mul") {
				t.Errorf("calc.sh = %q, want mul in it", got)
			}
		})
	}
}
