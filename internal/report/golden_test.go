package report_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report"
	"github.com/org/ralph-action/internal/report/logs"
)

var update = flag.Bool("update", false, "write testdata/*.golden")

func TestGolden(t *testing.T) {
	t.Parallel()
	full := map[string]bool{"completed": true, "max-iterations": true, "quota": true, "hostile": true, "scm": true, "commit-failed": true, "supervised": true, "tasks": true, "tasks-cap": true, "tasks-skip": true, "tasks-hostile": true, "session": true, "wave": true, "wave-last": true, "wave-hostile": true, "fallback": true, "history": true, "half-published": true, "blocked-secret": true, "flagged": true}
	for name, r := range samples() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden(t, name+".summary.md", report.Summary(r))
			if !full[name] {
				return
			}
			golden(t, name+".body.md", report.Body(r, report.BodyOptions{Extra: "Reviewed weekly.", Marker: marker, Closes: 7}))
			golden(t, name+".comment.md", report.Comment(r, marker))
			golden(t, name+".txt", report.Text(r, report.Style{Emoji: true, Width: 100}))
			page, err := report.HTML(r, nil)
			if err != nil {
				t.Fatalf("HTML(%s) = %v", name, err)
			}
			golden(t, name+".html", withoutSources(string(page)))
			file, err := report.JSON(r)
			if err != nil {
				t.Fatalf("JSON(%s) = %v", name, err)
			}
			golden(t, name+".json", string(file))
			log := logs.SessionHeader(1, r.Mode, ralph.Step{}, r.Started)
			for i, it := range r.Iterations {
				if i > 0 && it.Step != (ralph.Step{}) {
					log += logs.SessionHeader(it.Number, r.Mode, it.Step, it.Started)
				}
				log += logs.SessionFooter(it)
			}
			golden(t, name+".log", log+logs.SessionSummary(r))
		})
	}
}

// golden compares got with a file of testdata; -update writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs from its golden file (go test ./internal/report -update writes it); got\n%s", name, got)
	}
}
