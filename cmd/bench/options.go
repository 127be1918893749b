package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// options measures what an iteration of the real command costs locally, what
// options of the dialect add to it, and what a guardrail does: by the CPU time
// of all processes, as the difference of a long run and a short one.
func (b *bench) options(ctx context.Context) ([]row, error) {
	const rounds, short, long = 5, 20, 220
	dir, err := b.desk(ctx, "options")
	if err != nil {
		return nil, err
	}
	cpu := func(iterations int, more []string) (time.Duration, error) {
		argv := []string{b.ralph, "run", "--prompt", "Say that you work.", "--agent", "text", "--agent-command", trivial()[0] + " working", "--max-iterations", strconv.Itoa(iterations), "--on-incomplete", "succeed"}
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
	bare := func(argv ...string) func() (float64, error) {
		return func() (float64, error) {
			before := cpuTime()
			for range long {
				if err := bareStart(ctx, argv); err != nil {
					return 0, err
				}
			}
			return ms(cpuTime()-before) / long, nil
		}
	}
	all := []string{"--verbose", "--timestamps", "--include-iteration-count", "--completion-rule", "--color", "always", "--max-output-lines", "0", "--max-output-chars", "0"}
	plain, agent, err := inTurns(rounds, per(), bare(trivial()...))
	if err != nil {
		return nil, err
	}
	loaded, again, err := inTurns(rounds, per(all...), bare(trivial()...))
	if err != nil {
		return nil, err
	}
	guarded, check, err := inTurns(rounds, per("--guardrails", "exit 0"), bare("/bin/sh", "-c", "exit 0"))
	if err != nil {
		return nil, err
	}
	added := slices.Clone(guarded)
	for i := range added {
		added[i] -= median(plain)
	}
	theirs, theirsAgain, shell := measured("ms", agent), measured("ms", again), measured("ms", check)
	return []row{
		{What: "CPU per iteration of `ralph run`", Ours: measured("ms", plain), Comparison: "bare fork + exec + wait of the agent", Theirs: &theirs,
			Note: "The difference of 220 and 20 iterations; the start is not in it. Report, session log and terminal lines are."},
		{What: "the same with every option of display and prompt on", Ours: measured("ms", loaded), Comparison: "bare fork + exec + wait of the agent", Theirs: &theirsAgain},
		{What: "CPU a guardrail adds to an iteration", Ours: measured("ms", added), Comparison: "bare fork + exec + wait of sh -c", Theirs: &shell,
			Note: "Its log file and its two lines on the terminal are in it."},
	}, nil
}
