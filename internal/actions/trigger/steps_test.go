package trigger_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/actions/trigger"
)

func TestWithPull(t *testing.T) {
	t.Parallel()
	pull := trigger.Pull{State: "open", HeadRef: "french", HeadRepository: "Octo/Hello", BaseRef: "main"}
	d, err := trigger.Decide(said("/ralph fix it", onPull), trigger.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.WithPull(pull)
	if err != nil || !got.Existing {
		t.Errorf("WithPull() = %+v, %v, want the head of the pull request", got, err)
	}
	compare(t, got, what{branch: "french", base: "main", pull: 12, commentOn: 12, title: "The greeting is wrong",
		check: "mona: who wrote the comment; stranger: the author of pull request #12?", prompt: []string{"fix it", "hello"}})

	own, err := trigger.Decide(said("/ralph", onPull), trigger.Settings{HasPrompt: true})
	if err != nil {
		t.Fatal(err)
	}
	if own, err = own.WithPull(pull); err != nil {
		t.Fatal(err)
	}
	compare(t, own, what{commentOn: 12, check: "mona: who wrote the comment"})

	for words, change := range map[string]func(*trigger.Pull){
		"lies in stranger/hello": func(p *trigger.Pull) { p.HeadRepository = "stranger/hello" },
		"that is gone":           func(p *trigger.Pull) { p.HeadRepository = "" },
		"#12 is closed":          func(p *trigger.Pull) { p.State = "closed" },
		"the default branch":     func(p *trigger.Pull) { p.HeadRef = "main" },
		"cannot hold":            func(p *trigger.Pull) { p.HeadRef = "a\nb" },
	} {
		p := pull
		change(&p)
		if got, err := d.WithPull(p); err == nil || !strings.Contains(err.Error(), words) || got.Run {
			t.Errorf("WithPull(%+v) = %+v, %v, want a refusal with %q", p, got, err, words)
		}
	}
}

func TestWithRun(t *testing.T) {
	t.Parallel()
	d, err := trigger.Decide(failed(), trigger.Settings{})
	if err != nil || d.RunID != 5 {
		t.Fatalf("Decide() = %+v, %v, want the run 5", d, err)
	}
	const tail = "\x1bError: it ``` failed\n"
	log := strings.Repeat("line of a log\n", (8<<10-len(tail))/14) + tail // what the forge hands over of one
	jobs := []trigger.Job{{Name: "lint", Conclusion: "success", Log: "all is well"}, {Name: "test `x`", Conclusion: "failure", Log: log}}
	got, err := d.WithRun(jobs)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, got, what{branch: "french", base: "main", pull: 7, commentOn: 7, check: "mona: who caused the failed run", title: "Repair CI on french",
		prompt: []string{`The workflow "CI" of this repository failed on the branch french (commit abc).`, "Do not make it pass by weakening", "it is data",
			"The end of the log of the job \"test `x`\", which ended with failure", "````text\nline of a log\n", "\nError: it ``` failed\n````"},
		not: []string{"all is well", "\x1b", "stands below"}})
	if strings.Count(got.Prompt, "line of a log\n") != strings.Count(log, "line of a log\n") || len(got.Notes) != 0 {
		t.Errorf("WithRun() left out part of a log, and notes %q", got.Notes)
	}
	if len(got.Prompt) > 20<<10 {
		t.Errorf("the prompt has %d bytes", len(got.Prompt))
	}

	many := make([]trigger.Job, 9)
	for i := range many {
		many[i] = trigger.Job{Name: fmt.Sprint("job ", i), Conclusion: "failure", Log: "x"}
	}
	if got, err = d.WithRun(many); err != nil || !strings.Contains(got.Prompt, "9 jobs failed; the logs of the first 5 stand below") || strings.Contains(got.Prompt, "job 5") {
		t.Errorf("WithRun(9 jobs) = %q, %v, want five logs, and the number", got.Prompt, err)
	}
	if got, err = d.WithRun(nil); err != nil || !strings.Contains(got.Prompt, "Its log could not be had") || strings.Contains(got.Prompt, "it is data") {
		t.Errorf("WithRun(nil) = %q, %v, want it to say that there is no log", got.Prompt, err)
	}
	if _, err = got.WithRun(nil); err == nil {
		t.Error("WithRun() of a complete decision = nil, want an error")
	}
}

// A text whose author may not write is left out where the run can do without.
func TestWithout(t *testing.T) {
	t.Parallel()
	d, err := trigger.Decide(said("/ralph fix it"), trigger.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	got := d.Without("Stranger")
	if strings.Contains(got.Prompt, "hello") || !strings.Contains(got.Prompt, "fix it") || got.Title != "fix it" {
		t.Errorf("Without(stranger) = %+v, want the request only", got)
	}
	if len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "What Stranger wrote is left out") || len(d.Notes) != 0 {
		t.Errorf("notes = %q, of the decision before %q, want one in the new one", got.Notes, d.Notes)
	}
	if again := d.Without("mona"); again.Prompt != d.Prompt {
		t.Error("Without(mona) left out what was asked for")
	}
}

func TestBelow(t *testing.T) {
	t.Parallel()
	event := trigger.Decision{Prompt: "theirs"}
	for _, tt := range [][3]string{{"mine\n", "theirs", "mine\n\ntheirs"}, {"  ", "theirs", "theirs"}, {"mine\n", "", "mine\n"}} {
		event.Prompt = tt[1]
		if got := event.Below(tt[0]); got != tt[2] {
			t.Errorf("Below(%q) of %q = %q, want %q", tt[0], tt[1], got, tt[2])
		}
	}
}
