package agent

import (
	"os"
	"slices"
	"testing"

	"github.com/org/ralph-action/internal/agent/agenttest"
	"github.com/org/ralph-action/internal/ralph"
)

// The file of the usage is there for the CLI, is read, and goes; tokens of a
// session that goes on are the turn's.
func TestCopilotRun(t *testing.T) {
	t.Parallel()
	o := Options{Name: "copilot", Scratch: t.TempDir(), System: "Be kind."}
	p := &leaver{printer: printer{Streams: []string{agenttest.Recording(t, "copilot", "resume.1"), agenttest.Recording(t, "copilot", "resume.2")}}}
	for _, name := range []string{"resume.1", "resume.2"} {
		b, err := os.ReadFile(agenttest.Testdata("copilot", name+".usage.json"))
		if err != nil {
			t.Fatal(err)
		}
		p.left = append(p.left, b)
	}
	o.Process = p
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	want := ralph.Tokens{Input: 400, CacheRead: 1600, Output: 100}
	session := ""
	for range 2 {
		turn, err := c.Run(t.Context(), ralph.Prompt{Text: "do it", Resume: session}, func(ralph.Event) {})
		if err != nil || turn.Failure != nil {
			t.Fatalf("Run = %+v, %v", turn, err)
		}
		if turn.Usage.Tokens != want {
			t.Errorf("tokens = %+v, want %+v", turn.Usage.Tokens, want)
		}
		session = turn.Session
	}
	if !slices.Contains(p.Argv[1], "--resume="+session) || p.Stdin[0] != "Be kind.\n\ndo it" {
		t.Errorf("started %q with %q", p.Argv, p.Stdin)
	}
	if left, err := os.ReadDir(o.Scratch); err != nil || len(left) > 0 {
		t.Errorf("the folder holds %v, %v", left, err)
	}
}
