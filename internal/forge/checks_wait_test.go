package forge_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/ralph"
)

// A run of CI from the push to its end: nothing, a job, a second that waits for
// the first, the end.
func TestWaitChecks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, client := newCI(t)
		f.status(t, "", "")
		script := []func(){
			func() { f.workflows = []map[string]any{f.workflow(t, 77, 7, "CI", "queued")} },
			func() {
				f.checkRuns = []map[string]any{f.run(t, 11, "lint", "in_progress")}
				f.workflows[0]["status"] = "in_progress"
			},
			func() { f.checkRuns[0] = f.run(t, 11, "lint", "success") },
			func() { f.checkRuns = append(f.checkRuns, f.run(t, 12, "test", "in_progress")) },
			func() {
				f.checkRuns[1] = f.run(t, 12, "test", "failure")
				f.workflows[0] = f.workflow(t, 77, 7, "CI", "failure")
			},
		}
		go func() {
			for _, change := range script {
				time.Sleep(2 * time.Minute)
				f.set(change)
			}
		}()
		var lines []string
		started := time.Now()
		got, err := client.WaitChecks(t.Context(), headSHA, forge.CheckOptions{Grace: 3 * time.Minute, Progress: func(line string) { lines = append(lines, line) }})
		if err != nil || got.State != ralph.ChecksFailed || got.Passed != 1 || !slices.Equal(got.Failed, []string{"test"}) {
			t.Errorf("WaitChecks() = %+v, %v, want test failed", got, err)
		}
		if took := time.Since(started); took < 10*time.Minute || took > 12*time.Minute {
			t.Errorf("WaitChecks took %s, want little more than the 10 minutes of CI", took)
		}
		want := []string{
			"no check has started yet",
			"0 of 1 checks have finished; waiting for workflow CI",
			"0 of 1 checks have finished; waiting for lint",
			"1 of 2 checks have finished; waiting for workflow CI",
			"1 of 2 checks have finished; waiting for test",
		}
		if !slices.Equal(lines, want) {
			t.Errorf("progress = %q, want %q", lines, want)
		}
		// Most looks found nothing new, and cost no rate limit.
		path := "GET /repos/octo/greet/commits/" + headSHA
		if changed, same := f.count(path+"/check-runs 200"), f.count(path+"/check-runs 304"); changed > 5 || same < 5 {
			t.Errorf("%d new answers and %d unchanged ones, want at most 5 new", changed, same)
		}
	})
}

// How long nothing, and how long a success, is waited for.
func TestWaitChecksGrace(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		first  string // status at once; "": none
		later  string // another after a minute
		grace  time.Duration
		want   ralph.ChecksState
		within time.Duration
	}{
		{"nothing ever", "", "", 2 * time.Minute, ralph.ChecksNone, 125 * time.Second},
		{"no grace", "", "", 0, ralph.ChecksNone, 0},
		{"a late one", "success", "failure", 2 * time.Minute, ralph.ChecksFailed, 125 * time.Second},
		{"no late one", "success", "", 2 * time.Minute, ralph.ChecksPassed, 125 * time.Second},
		{"a failure is not waited out", "failure", "", time.Hour, ralph.ChecksFailed, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, client := newCI(t)
				f.status(t, "", "")
				if test.first != "" {
					f.statuses = append(f.statuses, f.status(t, "first", test.first))
				}
				if test.later != "" {
					go func() {
						time.Sleep(time.Minute)
						f.set(func() { f.statuses = append(f.statuses, f.status(t, "later", test.later)) })
					}()
				}
				started := time.Now()
				got, err := client.WaitChecks(t.Context(), headSHA, forge.CheckOptions{Grace: test.grace})
				if took := time.Since(started); err != nil || got.State != test.want || took > test.within {
					t.Errorf("WaitChecks() = %+v, %v after %s, want %s within %s", got, err, took, test.want, test.within)
				}
			})
		})
	}
}

// Time that is over is an answer; a cancelled run is an error.
func TestWaitChecksEnds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		state string
		want  ralph.ChecksState
		err   error
	}{
		{"late", "in_progress", ralph.ChecksPending, nil},
		{"late with a failure", "failure", ralph.ChecksFailed, nil},
		{"cancelled", "in_progress", ralph.ChecksPending, context.Canceled},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, client := newCI(t)
				f.status(t, "", "")
				f.checkRuns = []map[string]any{f.run(t, 11, "a", test.state), f.run(t, 12, "b", "in_progress")}
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
				defer cancel()
				if test.err != nil {
					time.AfterFunc(5*time.Minute, cancel)
				}
				got, err := client.WaitChecks(ctx, headSHA, forge.CheckOptions{})
				if !errors.Is(err, test.err) || got.State != test.want || !slices.Contains(got.Left, "b") {
					t.Errorf("WaitChecks() = %+v, %v, want %s with b left, %v", got, err, test.want, test.err)
				}
				if n := f.count("GET"); test.err == nil && (n < 30 || n > 200) {
					t.Errorf("%d requests in 30 minutes, want two about every minute", n)
				}
			})
		})
	}
}

// A commit that was pushed a moment ago may not be known yet.
func TestWaitChecksOfANewCommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, client := newCI(t)
		f.status(t, "", "")
		path := "GET /repos/octo/greet/commits/" + headSHA
		f.answers[path+"/status"] = answer(404, `{"message":"Not Found"}`)
		f.answers[path+"/check-runs"] = answer(422, `{"message":"No commit found for SHA: `+headSHA+`"}`)
		time.AfterFunc(5*time.Second, func() { f.set(func() { delete(f.answers, path+"/status") }) })
		time.AfterFunc(20*time.Second, func() {
			f.set(func() {
				delete(f.answers, path+"/check-runs")
				f.checkRuns = []map[string]any{f.run(t, 11, "a", "success")}
			})
		})
		if got, err := client.WaitChecks(t.Context(), headSHA, forge.CheckOptions{}); err != nil || got.State != ralph.ChecksPassed {
			t.Errorf("WaitChecks() = %+v, %v, want passed", got, err)
		}
	})
}

// A forge that is down for a while does not end the wait; one that stays down does.
func TestWaitChecksOutage(t *testing.T) {
	t.Parallel()
	for name, long := range map[string]bool{"passes": false, "stays": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, client := newCI(t)
				f.status(t, "", "")
				f.checkRuns = []map[string]any{f.run(t, 11, "a", "in_progress")}
				path := "GET /repos/octo/greet/commits/" + headSHA + "/check-runs"
				time.AfterFunc(time.Minute, func() { f.set(func() { f.answers[path] = answer(502, `<html>`) }) })
				time.AfterFunc(90*time.Second, func() {
					f.set(func() {
						f.checkRuns[0] = f.run(t, 11, "a", "success")
						if !long {
							delete(f.answers, path)
						}
					})
				})
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				got, err := client.WaitChecks(ctx, headSHA, forge.CheckOptions{})
				if long {
					checkError(t, "WaitChecks", err, "502", "d6fde92")
				} else if err != nil || got.State != ralph.ChecksPassed {
					t.Errorf("WaitChecks() = %+v, %v, want passed", got, err)
				}
			})
		})
	}
}
