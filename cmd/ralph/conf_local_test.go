package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The binary is one of Go and kong, and its version is that of the build. 001-01 001-02
func TestBinary(t *testing.T) {
	t.Parallel()
	ralph := binary(t)
	run := func(name string, args ...string) string {
		t.Helper()
		out, err := exec.Command(name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	for _, flag := range []string{"--version", "-v", "version"} {
		if got := run(ralph, flag); got != "1.2.3\n" {
			t.Errorf("ralph %s = %q, want the version of the build", flag, got)
		}
	}
	if got := run("go", "version", "-m", ralph); !strings.Contains(got, "\tpath\tgithub.com/org/ralph-action/cmd/ralph\n") || !strings.Contains(got, "\tdep\tgithub.com/alecthomas/kong\t") {
		t.Errorf("the binary is not cmd/ralph with kong:\n%s", got)
	}
	help := run(ralph, "--help")
	for _, command := range []string{"run", "init", "plan", "build", "prompt", "supervise", "action"} {
		if !strings.Contains(help, "\n  "+command+" ") {
			t.Errorf("ralph --help does not name %q\n%s", command, help)
		}
	}
}

// Ctrl+C at a terminal reaches everything in the foreground: ralph alone hears
// it, what it runs may finish, and a second one ends that. 001-33 001-32
func TestControlC(t *testing.T) {
	t.Parallel()
	const agent = "PATH=/usr/bin:/bin\ncat > /dev/null\ntouch started\nwhile [ ! -f go ]; do sleep 0.05; done\ntouch finished\necho '<response>DONE</response>'\n"
	for _, tc := range []struct {
		name     string
		keys     int
		finished bool
	}{
		{"once", 1, true},
		{"twice", 2, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := func(name string) string { return filepath.Join(dir, name) }
			there := func(name string) bool {
				_, err := os.Stat(file(name))
				return err == nil
			}
			if err := os.WriteFile(file("agent.sh"), []byte(agent), 0o600); err != nil {
				t.Fatal(err)
			}
			p := atTerminal(t, dir, nil, "run", "--prompt", "work", "--agent", "text", "--agent-command", "/bin/sh agent.sh")
			for i := 0; !there("started") && i < 1500; i++ {
				time.Sleep(20 * time.Millisecond)
			}
			for range tc.keys {
				p.types("\x03")
				p.waits("Received signal, shutting down...")
			}
			if tc.finished {
				if err := os.WriteFile(file("go"), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			code, screen := p.sees()
			if code != 130 {
				t.Errorf("ralph run = %d, want 130\n%s", code, screen)
			}
			if there("finished") != tc.finished {
				t.Errorf("the agent finished: %v, want %v\n%s", there("finished"), tc.finished, screen)
			}
		})
	}
}

// Where there are no process groups ralph does not run, and the documents say
// what to do instead. 002-20
func TestWindowsIsSaid(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"README.md", "docs/supervise.md"} {
		data, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(strings.Fields(string(data)), " "); !strings.Contains(text, "Windows") || !strings.Contains(text, "use WSL2") {
			t.Errorf("%s does not name WSL2 for people on Windows", name)
		}
	}
}
