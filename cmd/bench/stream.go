package main

import (
	"context"
	"fmt"
	"os"
	"os/exec" //nolint:depguard // looks for jq
	"path/filepath"
	"slices"
)

const streamBytes = 100 << 20

// stream compares the whole binary, with an agent that prints 100 MB of its
// JSON, with jq that reads the same file. It gives a row of the speed for each
// length of lines, and one of the larger peak of memory.
func (b *bench) stream(ctx context.Context, f streamFormat) ([]row, error) {
	const rounds = 3
	dir, err := b.repository(ctx, "stream-"+f.agent)
	if err != nil {
		return nil, err
	}
	jq, lookErr := exec.LookPath("jq")
	file := filepath.Join(b.dir, "stream.ndjson")
	defer func() { _ = os.Remove(file) }()
	agent, err := b.script("agent-"+f.agent, "exec cat "+file+"\n")
	if err != nil {
		return nil, err
	}
	var rows []row
	small := row{What: f.agent + ": peak RSS", Comparison: "jq", Target: target{AtMost: 24, Unit: "MiB"}}
	var guards []float64
	for _, length := range []struct {
		what  string
		bytes int
	}{{"lines of 1 MB", 1 << 20}, {"lines of 2 KB", 2 << 10}} {
		if err := f.write(file, streamBytes, length.bytes); err != nil {
			return rows, err
		}
		var ourPeaks, theirPeaks, ourCPU, theirCPU []float64
		ours := func() (float64, error) {
			argv := slices.Concat([]string{b.ralph, "run", "--prompt", "Read.", "--agent", f.agent, "--agent-command", agent, "--max-iterations", "1", "--on-incomplete", "succeed"}, f.flags)
			cmd := b.command(ctx, dir, argv...)
			cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], f.env...)
			u, err := watched(cmd, "")
			ourPeaks, guards, ourCPU = append(ourPeaks, u.peak), append(guards, u.childPeak), append(ourCPU, u.cpu.Seconds())
			_ = os.RemoveAll(filepath.Join(dir, ".ralph")) // session logs of 100 MB
			return streamBytes / 1e6 / u.wall.Seconds(), err
		}
		theirs := func() (float64, error) {
			if lookErr != nil {
				return 0, nil
			}
			u, err := watched(b.command(ctx, dir, append([]string{jq, "--unbuffered"}, f.jq...)...), file)
			theirPeaks, theirCPU = append(theirPeaks, u.peak), append(theirCPU, u.cpu.Seconds())
			return streamBytes / 1e6 / u.wall.Seconds(), err
		}
		speed, jqSpeed, err := inTurns(rounds, ours, theirs)
		if err != nil {
			return rows, err
		}
		fast := row{
			What: f.agent + ": 100 MB, " + length.what + ": decode, log, show", Ours: measured("MB/s", speed),
			Comparison: "jq filter on the file", Target: target{AtLeast: 2, Ratio: true},
			Note: fmt.Sprintf("CPU of all processes: ours %.2f s, jq %.2f s.", median(ourCPU), median(theirCPU)),
		}
		if lookErr != nil {
			fast.Note += " jq is missing on this machine: nothing to compare with."
		} else {
			s := measured("MB/s", jqSpeed)
			fast.Theirs = &s
			if p := measured("MiB", theirPeaks); small.Theirs == nil || p.Median > small.Theirs.Median {
				small.Theirs = &p
			}
		}
		if p := measured("MiB", ourPeaks); p.Median > small.Ours.Median {
			small.Ours = p
		}
		rows = append(rows, fast)
	}
	small.Note = fmt.Sprintf("The larger of the two. VmHWM of the main process; the supervisor, a process of its own, peaks at %.1f MiB.", median(guards))
	return append(rows, small), nil
}
