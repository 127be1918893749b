package install_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/agent/install"
)

// An npm or a node that an agent can change is not started, however PATH leads
// to it.
func TestNpmInWorkspace(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, setup, path, want string
	}{
		{"npm", "cp FAKE/npm WS/bin/npm", "WS/bin:FAKE", "the npm on PATH lies in the workspace: WS/bin/npm"},
		{"node", "cp FAKE/node WS/bin/node", "WS/bin:FAKE", "the node on PATH lies in the workspace: WS/bin/node"},
		{"a link out of the workspace", "ln -s FAKE/npm WS/bin/npm", "WS/bin:FAKE", "the npm on PATH lies in the workspace: WS/bin/npm"},
		{"a link into it", "cp FAKE/npm WS/bin/npm; ln -s WS/bin/npm OUT/npm", "OUT:FAKE", "the npm on PATH lies in the workspace: OUT/npm"},
		{"a link of a folder", "cp FAKE/npm WS/bin/npm; ln -s WS/bin OUT/tools", "OUT/tools:FAKE", "the npm on PATH lies in the workspace: OUT/tools/npm"},
		{"a link in and out again", "ln -s FAKE/npm WS/bin/x; ln -s ../workspace/bin/x OUT/npm", "OUT:FAKE", "the npm on PATH lies in the workspace: OUT/npm"},
		{"another name of the workspace", "cp FAKE/npm WS/bin/npm; ln -s WS OUT/ws", "OUT/ws/bin:FAKE", "the npm on PATH lies in the workspace: OUT/ws/bin/npm"},
		{"later on PATH", "cp FAKE/npm WS/bin/npm", "FAKE:WS/bin:.::node_modules/.bin:OUT/nowhere", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			ws, out := filepath.Join(l.dir, "workspace"), filepath.Join(l.dir, "out")
			for _, dir := range []string{filepath.Join(ws, "bin"), out} {
				if err := os.Mkdir(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			names := strings.NewReplacer("WS", ws, "OUT", out, "FAKE", filepath.Join(l.fake, "bin"))
			for step := range strings.SplitSeq(test.setup, "; ") {
				words := strings.Fields(names.Replace(step))
				var err error
				if from, to := words[len(words)-2], words[len(words)-1]; words[0] == "ln" {
					err = os.Symlink(from, to)
				} else if data, readErr := os.ReadFile(from); readErr == nil {
					err = os.WriteFile(to, data, 0o755)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			l.o.Workspace = ws
			l.o.Env[0] = "PATH=" + names.Replace(test.path) + ":/usr/bin:/bin"
			switch _, err := l.install(tool); {
			case test.want != "":
				wantError(t, err, names.Replace(test.want))
				if l.read("log/calls") != "" {
					t.Error("npm ran")
				}
			case err != nil:
				t.Fatal(err)
			default:
				want := names.Replace("PATH=FAKE:OUT/nowhere:/usr/bin:/bin")
				if env := l.read("log/env"); !strings.Contains("\n"+env, "\n"+want+"\n") {
					t.Errorf("npm saw\n%swant %s", env, want)
				}
			}
		})
	}
}

func TestPathOutside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, to := range map[string]string{"loop": "loop", "up": "ws/..", "in": "./ws/x", "beside": "wsx"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"ws", "wsx"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]bool{
		"/usr/bin": true, "": false, ".": false, "bin": false, "../bin": false,
		dir: true, dir + "/ws": false, dir + "/ws/": false, dir + "/ws/none/bin": false, dir + "/wsx": true, dir + "/wsx/../ws": false, dir + "/../" + filepath.Base(dir) + "/ws": false,
		dir + "/loop": true, dir + "/up": false, dir + "/in": false, dir + "/beside": true, dir + "/none": true,
	} {
		if got := install.PathOutside(path, dir+"/ws"); (got == path) != want && path != "" {
			t.Errorf("PathOutside(%q) = %q", path, got)
		}
		if path != "" && !filepath.IsAbs(path) {
			continue
		}
		if got := install.PathOutside(path, ""); got != path {
			t.Errorf("PathOutside(%q) without a workspace = %q", path, got)
		}
	}
	if got := install.PathOutside("/usr/bin:/bin", "/"); got != "" {
		t.Errorf("PathOutside(all of it) = %q", got)
	}
}
