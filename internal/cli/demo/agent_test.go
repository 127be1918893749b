package demo_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/cli/demo"
)

type event struct {
	Type, Subtype string
	IsError       bool `json:"is_error"`
	Result        string
	SessionID     string  `json:"session_id"`
	Cost          float64 `json:"total_cost_usd"`
	Usage         struct {
		Input  int `json:"input_tokens"`
		Output int `json:"output_tokens"`
	}
	Message struct {
		Model   string
		Content []struct {
			Type, Name, Text string
			ID               string
			ToolUseID        string `json:"tool_use_id"`
			IsError          bool   `json:"is_error"`
			Input            map[string]any
		}
	}
}

// repository writes the demo's files into dir.
func repository(dir string) error {
	files, err := demo.Files()
	if err != nil {
		return err
	}
	for path, file := range files {
		target := filepath.Join(dir, filepath.FromSlash(path))
		mode := os.FileMode(0o644)
		if file.Executable {
			mode = 0o755
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(target), 0o755), os.WriteFile(target, []byte(file.Content), mode)); err != nil {
			return err
		}
	}
	return nil
}

// run runs the agent in dir and reads its stream back.
func run(t *testing.T, dir, prompt string) (int, []event) {
	t.Helper()
	var out bytes.Buffer
	code := demo.Agent(strings.NewReader(prompt), &out, dir, 0)
	var events []event
	for line := range strings.Lines(out.String()) {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("Agent printed %q: %v", line, err)
		}
		if e.SessionID == "" {
			t.Errorf("Agent printed %q without a session", line)
		}
		events = append(events, e)
	}
	if len(events) < 2 || events[0].Subtype != "init" || events[len(events)-1].Type != "result" {
		t.Fatalf("Agent printed %+v, want init first and result last", events)
	}
	return code, events
}

func tools(events []event) (starts []string, failed int) {
	open := map[string]bool{}
	for _, e := range events {
		for _, block := range e.Message.Content {
			switch block.Type {
			case "tool_use":
				starts = append(starts, block.Name)
				open[block.ID] = true
			case "tool_result":
				delete(open, block.ToolUseID)
				if block.IsError {
					failed++
				}
			}
		}
	}
	return starts, failed + len(open)
}

func guardrail(t *testing.T, dir string) (bool, string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", demo.Guardrail)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return err == nil, string(out)
}

func TestAgentNeedsItsGuardrail(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := repository(dir); err != nil {
		t.Fatal(err)
	}
	passed, before := guardrail(t, dir)
	if passed || strings.Count(before, "FAILED") != 2 {
		t.Errorf("guardrail before = %v\n%s, want two failures", passed, before)
	}

	// What was red before the first iteration may stand in its prompt.
	code, events := run(t, dir, demo.Task+"\n\nGuardrail \"sh test.sh\" failed with exit code 1.")
	last := events[len(events)-1]
	if code != 0 || !strings.Contains(last.Result, "<promise>COMPLETE</promise>") || last.Cost <= 0 || last.Usage.Input == 0 {
		t.Errorf("first run = %d, %+v, want a promise and a cost", code, last)
	}
	passed, after := guardrail(t, dir)
	if passed || strings.Count(after, "FAILED") != 1 {
		t.Errorf("guardrail after the first run = %v\n%s, want one failure", passed, after)
	}

	// Without feedback it learns nothing.
	if code, events := run(t, dir, demo.Task); code != 0 || !strings.Contains(events[len(events)-1].Result, "nothing left") {
		t.Errorf("run without feedback = %d, %+v", code, events[len(events)-1])
	}

	code, events = run(t, dir, demo.Task+"\n\nGuardrail \"sh test.sh\" failed with exit code 1.\n"+after)
	last = events[len(events)-1]
	if code != 0 || last.IsError || !strings.Contains(last.Result, "<promise>COMPLETE</promise>") {
		t.Errorf("second run = %d, %+v, want a promise", code, last)
	}
	if names, failed := tools(events); failed != 0 || strings.Join(names, " ") != "TodoWrite Read Edit TodoWrite Read Edit TodoWrite" {
		t.Errorf("tools of the second run = %q, %d failed", names, failed)
	}
	if passed, out := guardrail(t, dir); !passed {
		t.Errorf("guardrail after the second run failed:\n%s", out)
	}
	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil || !strings.Contains(string(readme), "Without a name") {
		t.Errorf("README.md = %s, %v, want the new line", readme, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "greet.sh")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("Stat(greet.sh) = %v, %v, want mode 0755", info, err)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("broken") }

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("broken") }

func TestAgentFailures(t *testing.T) {
	t.Parallel()
	code, events := run(t, t.TempDir(), demo.Task)
	if last := events[len(events)-1]; code != 1 || !last.IsError || !strings.Contains(last.Result, "greet.sh") {
		t.Errorf("Agent(empty folder) = %d, %+v, want an error about greet.sh", code, last)
	}
	if code := demo.Agent(brokenReader{}, io.Discard, t.TempDir(), 0); code != 1 {
		t.Errorf("Agent(broken stdin) = %d, want 1", code)
	}
	dir := t.TempDir()
	if err := repository(dir); err != nil {
		t.Fatal(err)
	}
	if code := demo.Agent(strings.NewReader(demo.Task), brokenWriter{}, dir, 0); code != 1 {
		t.Errorf("Agent(broken stdout) = %d, want 1", code)
	}
	readOnly := t.TempDir()
	if err := repository(filepath.Join(readOnly, "file")); err != nil {
		t.Fatal(err)
	}
	if err := repository(filepath.Join(readOnly, "file", "README.md")); err == nil {
		t.Error("Repository(below a file) = nil, want an error")
	}
}

func TestAgentThinksInTime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := repository(dir); err != nil {
		t.Fatal(err)
	}
	const pause = time.Millisecond
	started := time.Now()
	demo.Agent(strings.NewReader(demo.Task), io.Discard, dir, pause)
	if took := time.Since(started); took < 5*pause {
		t.Errorf("Agent took %s, want at least 5 pauses of %s", took, pause)
	}
}
