package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec" //nolint:depguard // starts jq and the binary under test
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// filter is what loops around claude use to show its words.
const filter = `select(.type == "assistant") | .message.content[]? | select(.type == "text") | .text`

const streamBytes = 100 << 20

// stream compares the whole binary, with an agent that prints 100 MB of
// stream-json in lines of a megabyte, with jq that reads the same file.
func (b *bench) stream(ctx context.Context) ([]row, error) {
	const rounds = 5
	dir, err := b.desk(ctx, "stream")
	if err != nil {
		return nil, err
	}
	long, short := filepath.Join(b.dir, "long.ndjson"), filepath.Join(b.dir, "short.ndjson")
	if err := errors.Join(writeStream(long, streamBytes, 1<<20), writeStream(short, streamBytes, 2<<10)); err != nil {
		return nil, err
	}
	defer func() { _ = errors.Join(os.Remove(long), os.Remove(short)) }()
	jq, lookErr := exec.LookPath("jq")

	var rows []row
	for _, c := range []struct{ what, file string }{{"100 MB of stream-json, lines of 1 MB: decode, log, show", long}, {"the same with lines of 2 KB", short}} {
		agent, err := b.script("claude-"+filepath.Base(c.file), "exec cat "+c.file+"\n")
		if err != nil {
			return nil, err
		}
		var ourPeaks, guardPeaks, theirPeaks, ourCPU, theirCPU []float64
		ours := func() (float64, error) {
			cmd := b.command(ctx, dir, b.ralph, "run", "--prompt", "Read.", "--agent", "claude", "--agent-command", agent, "--max-iterations", "1", "--on-incomplete", "succeed")
			cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], "ANTHROPIC_API_KEY=sk-ant-0123456789abcdef")
			u, err := watched(cmd, "")
			ourPeaks, guardPeaks, ourCPU = append(ourPeaks, u.peak), append(guardPeaks, u.childPeak), append(ourCPU, u.cpu.Seconds())
			_ = os.RemoveAll(filepath.Join(dir, ".ralph")) // session logs of 100 MB
			return streamBytes / 1e6 / u.wall.Seconds(), err
		}
		theirs := func() (float64, error) {
			if lookErr != nil {
				return 0, nil
			}
			u, err := watched(b.command(ctx, dir, jq, "-rj", "--unbuffered", filter), c.file)
			theirPeaks, theirCPU = append(theirPeaks, u.peak), append(theirCPU, u.cpu.Seconds())
			return streamBytes / 1e6 / u.wall.Seconds(), err
		}
		speed, jqSpeed, err := inTurns(rounds, ours, theirs)
		if err != nil {
			return rows, err
		}
		fast := row{
			What: c.what, Ours: measured("MB/s", speed), Comparison: "jq filter on the file", Target: target{AtLeast: 2, Ratio: true},
			Note: fmt.Sprintf("Whole processes, from start to end, output to /dev/null; ours with the start of the repository and a session log of all 100 MB. CPU of all processes: ours %.2f s, jq %.2f s.", median(ourCPU), median(theirCPU)),
		}
		small := row{
			What: "its peak RSS", Ours: measured("MiB", ourPeaks), Comparison: "jq", Target: target{AtMost: 24, Unit: "MiB"},
			Note: fmt.Sprintf("VmHWM of the main process. The supervisor, a process of its own, peaks at %.1f MiB.", median(guardPeaks)),
		}
		if lookErr != nil {
			fast.Note += " jq is missing on this machine: nothing to compare with."
		} else {
			s, p := measured("MB/s", jqSpeed), measured("MiB", theirPeaks)
			fast.Theirs, small.Theirs = &s, &p
		}
		rows = append(rows, fast, small)
	}
	return rows, nil
}

// writeStream writes what claude prints: words, tool calls, and results of
// about lineBytes with the quotes and line ends of source code.
func writeStream(path string, size, lineBytes int) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	const code = "\tif err := run(ctx, \"name\"); err != nil { // größer\n\t\treturn fmt.Errorf(\"run: %w\", err)\n\t}\n"
	quoted, err := json.Marshal(strings.Repeat(code, max(1, lineBytes/len(code))))
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	written, _ := w.WriteString(`{"type":"system","subtype":"init","session_id":"s","model":"m"}` + "\n")
	for i := 0; written < size; i++ {
		n, err := fmt.Fprintf(w, `{"type":"assistant","message":{"id":"msg_%[1]d","model":"m","content":[{"type":"text","text":"Reading file %[1]d."}]},"parent_tool_use_id":null,"session_id":"s"}
{"type":"assistant","message":{"id":"msg_%[1]d","model":"m","content":[{"type":"tool_use","id":"t%[1]d","name":"Read","input":{"file_path":"/w/f%[1]d.go"}}]},"parent_tool_use_id":null,"session_id":"s"}
{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t%[1]d","type":"tool_result","content":%[2]s,"is_error":false}]},"parent_tool_use_id":null,"session_id":"s"}
`, i, quoted)
		if err != nil {
			return err
		}
		written += n
	}
	_, _ = w.WriteString(`{"type":"assistant","message":{"id":"msg_last","model":"m","content":[{"type":"text","text":"<promise>COMPLETE</promise>"}]},"parent_tool_use_id":null,"session_id":"s"}
{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"<promise>COMPLETE</promise>","session_id":"s","total_cost_usd":0.5,"modelUsage":{"m":{"inputTokens":1,"outputTokens":2}}}
`)
	return w.Flush()
}

// use is what a process needed.
type use struct {
	wall, cpu       time.Duration
	peak, childPeak float64 // MiB; childPeak is of its largest child that is the same program
}

// watched runs a command with a file as its input and watches its memory. The
// kernel's word at the end (ru_maxrss) would count the memory of whoever forked
// it as well, so the running process is asked.
func watched(cmd *exec.Cmd, input string) (u use, err error) {
	if input != "" {
		f, err := os.Open(input)
		if err != nil {
			return u, err
		}
		defer f.Close()
		cmd.Stdin = f
	}
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return u, err
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			u.peak = max(u.peak, peakOf(cmd.Process.Pid))
			for _, child := range childrenOf(cmd.Process.Pid) {
				if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child)); err == nil && bytes.Contains(name, []byte("sandbox-init")) {
					u.childPeak = max(u.childPeak, peakOf(child))
				}
			}
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	}()
	err = cmd.Wait()
	u.wall = time.Since(began)
	close(stop)
	<-done
	u.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if err != nil {
		return u, fmt.Errorf("%s: %w\n%s", cmd.Path, err, complaint.String())
	}
	return u, nil
}

// peakOf is a running process's peak of resident memory in MiB; 0 when the
// system does not tell.
func peakOf(pid int) float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kib, _ := strconv.ParseFloat(fields[0], 64)
	return kib / 1024
}

func childrenOf(pid int) (pids []int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, task := range tasks {
		list, _ := os.ReadFile(task)
		for field := range strings.FieldsSeq(string(list)) {
			if child, err := strconv.Atoi(field); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids
}
