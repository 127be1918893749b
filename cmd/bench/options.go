package main

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// options measures what an iteration of the real command costs locally, what
// options of the dialect add to it, and what a guardrail does: by the CPU time
// of all processes, as the difference of a long run and a short one.
func (b *bench) options(ctx context.Context) ([]row, error) {
	const rounds, short, long = 5, 20, 220
	dir, err := b.folder("options") // in a repository, git's looks at it would be measured
	if err != nil {
		return nil, err
	}
	cpu := func(iterations int, more []string) (time.Duration, error) {
		argv := []string{b.ralph, "run", "--prompt", "Say that you work.", "--agent", "text", "--agent-command", trivial()[0] + " working", "--max-iterations", strconv.Itoa(iterations), "--stall-limit", "0", "--on-incomplete", "succeed"}
		cmd := b.command(ctx, dir, append(argv, more...)...)
		if text, err := cmd.CombinedOutput(); err != nil {
			return 0, fmt.Errorf("ralph run: %w\n%s", err, text[max(0, len(text)-2000):])
		}
		return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
	}
	per := func(more ...string) func() (float64, error) {
		return func() (float64, error) {
			few, err := cpu(short, more)
			if err != nil {
				return 0, err
			}
			many, err := cpu(long, more)
			return ms(many-few) / (long - short), err
		}
	}
	all := []string{"--verbose", "--timestamps", "--include-iteration-count", "--completion-rule", "--color", "always", "--max-output-lines", "0", "--max-output-chars", "0"}
	const bare = "bare fork + exec + wait of the agent"
	agent := bareStarts(ctx, long, trivial()...)
	plain, err := row{
		What: "CPU per iteration of `ralph run`", Comparison: bare,
		Note: "The difference of 220 and 20 iterations; the start is not in it. Report, session log and terminal lines are.",
	}.compare(rounds, per(), agent)
	if err != nil {
		return nil, err
	}
	loaded, err := row{What: "the same with every option of display and prompt on", Comparison: bare}.compare(rounds, per(all...), agent)
	if err != nil {
		return nil, err
	}
	guarded, err := row{
		What: "CPU a guardrail adds to an iteration", Comparison: "bare fork + exec + wait of sh -c", Note: "Its log file and its two lines on the terminal are in it.",
	}.compare(rounds, per("--guardrails", "exit 0"), bareStarts(ctx, long, "/bin/sh", "-c", "exit 0"))
	for i := range guarded.Ours.Samples {
		guarded.Ours.Samples[i] -= plain.Ours.Median
	}
	guarded.Ours = measured("ms", guarded.Ours.Samples)
	return []row{plain, loaded, guarded}, err
}

// guardrails measures what running side by side saves: a run of one iteration with
// three guardrails that wait, against the same run with one job.
func (b *bench) guardrails(ctx context.Context) ([]row, error) {
	dir, err := b.repository(ctx, "guardrails")
	if err != nil {
		return nil, err
	}
	agent, err := b.script("done", "echo '<promise>COMPLETE</promise>'\n")
	if err != nil {
		return nil, err
	}
	const list = "[{command: sleep 0.2, parallel: true}, {command: 'sleep 0.2 # 2', parallel: true}, {command: 'sleep 0.2 # 3', parallel: true}]"
	with := func(jobs string) func() (float64, error) {
		return func() (float64, error) {
			began := time.Now()
			text, err := b.run(ctx, dir, agent, "--baseline=false", "--guardrails", list, "--guardrail-jobs", jobs).CombinedOutput()
			if err != nil {
				return 0, fmt.Errorf("ralph run: %w\n%s", err, text)
			}
			return ms(time.Since(began)), nil
		}
	}
	one, err := row{
		What: "run with three guardrails of 200 ms side by side", Comparison: "the same, one after the other", Note: "From start to end, one iteration.",
	}.compare(5, with("3"), with("1"))
	return []row{one}, err
}
