//go:build e2e

package redteam

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// mounts are those of the runner, and the attacker's tools. The engine's socket is
// never the machine's own.
func (s *stage) mounts() []string {
	var args []string
	folders := []string{s.Temp + ":/github/runner_temp", s.Home + ":/github/home", s.Workflow + ":/github/workflow", s.Commands + ":/github/file_commands", s.Workspace + ":/github/workspace"}
	if s.scenario.joined {
		folders = []string{filepath.Dir(s.Workspace) + ":/github"}
	}
	if s.scenario.root {
		folders = append(folders, filepath.Join(s.kit.dir, "passwd")+":/etc/passwd:ro")
	}
	for _, m := range append(folders, s.attackerMounts()...) {
		args = append(args, "-v", m)
	}
	return args
}

func (s *stage) attackerMounts() []string {
	return []string{
		filepath.Join(s.Net, "docker.sock") + ":/var/run/docker.sock", s.kit.dir + ":/opt/redteam:ro", filepath.Join(s.Net, "resolv.conf") + ":/etc/resolv.conf:ro", filepath.Join(s.Net, "hosts") + ":/etc/hosts:ro",
		filepath.Join(s.Net, "other.sock") + ":/run/other.sock", filepath.Join(s.Net, "datagram.sock") + ":/run/datagram.sock",
		filepath.Join(s.Net, "orders.json") + ":/opt/orders.json:ro",
	}
}

// limits keep an attack from harming the machine the tests run on.
func (s *stage) limits() []string {
	return append([]string{"--label", "ralph-e2e", "--pids-limit", "1500", "--memory", "1g", "--memory-swap", "1g", "--cpus", "2"}, s.scenario.engine...)
}

// run starts the step as the runner does and gathers what is left of it.
func (s *stage) run(t *testing.T, limit time.Duration) {
	t.Helper()
	data, err := json.Marshal(s.Orders)
	if err != nil {
		t.Fatal(err)
	}
	writeFiles(t, s.Net, map[string]string{"orders.json": string(data)})
	name := s.side + "-step"
	args := append([]string{"run", "--name", name, "--rm", "--workdir", "/github/workspace", "--network", "container:" + s.side}, s.limits()...)
	environ := []string{"PATH=" + os.Getenv("PATH"), "DOCKER_HOST=" + os.Getenv("DOCKER_HOST"), "DOCKER_CONFIG=" + t.TempDir()}
	for name, value := range s.environ(t) {
		args, environ = append(args, "-e", name), append(environ, name+"="+value)
	}
	args = append(append(args, s.mounts()...), s.kit.image)
	s.await(t, "step", name, args, environ, limit)
}

// await runs a container to its end, and looks at what came of it.
func (s *stage) await(t *testing.T, what, name string, args, environ []string, limit time.Duration) {
	t.Helper()
	cmd := exec.Command("docker", args...)
	cmd.Env = environ
	var log lockedBuffer
	cmd.Stdout, cmd.Stderr = &log, &log
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(limit):
		_ = exec.Command("docker", "rm", "-f", name).Run()
		<-done
		t.Errorf("%s: the %s was still running after %s", s.Name, what, limit)
	}
	s.Took = time.Since(began).Round(100 * time.Millisecond)
	s.Code, s.Log = cmd.ProcessState.ExitCode(), log.String()
	s.gather(t)
}

// gather fills the world.
func (s *stage) gather(t *testing.T) {
	t.Helper()
	s.Contacts = s.contacts(t)
	results, err := filepath.Glob(filepath.Join(s.Workspace, ".rt", "results-*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range results {
		for _, d := range readLines[Deed](path) {
			switch id, kind, _ := strings.Cut(d.ID, "/"); kind {
			case "plant":
				s.Plants[id] = d
			case "probe":
				s.Probes[id] = d
			case "":
				s.Deeds[id] = d
			}
		}
	}
	s.kit.mu.Lock()
	for repo, list := range s.kit.requests {
		if repo == s.Name {
			s.Requests = slices.Clone(list)
		}
	}
	s.kit.mu.Unlock()
	cmd := exec.Command("git", "-C", s.repo.Dir, "-c", "safe.directory=*", "cat-file", "--batch", "--batch-all-objects")
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("look into the forge: %v", err)
	}
	refs, _ := exec.Command("git", "-C", s.repo.Dir, "-c", "safe.directory=*", "for-each-ref").Output()
	// A commit names what was left out of it.
	s.Objects = regexp.MustCompile(`(?m)^Ralph-Left-Out: .*$`).ReplaceAllString(string(out), "") + string(refs)
	if gone, err := exec.Command("git", "-C", s.repo.Dir, "-c", "safe.directory=*", "log", "--all", "--diff-filter=D", "--format=", "--name-only").Output(); err == nil && strings.Contains(string(gone), ".github/workflows/ci.yml") {
		s.Trees = "\nwithout ci.yml\n"
	}
	for _, p := range s.repo.Pulls() {
		s.Pulls += p.Title + "\n" + p.Body + "\n" + p.Head + "\n"
		for _, c := range p.Comments {
			s.Pulls += c.Body + "\n"
		}
	}
	s.Left = processes("redteam-")
	if text, err := os.ReadFile(filepath.Join(s.Net, "left")); err == nil { // a machine's, before it went down
		s.Left = strings.Split(string(text), "\n")
	}
	s.GitLeft = s.leftInGit()
}
