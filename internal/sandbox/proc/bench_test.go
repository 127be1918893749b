package proc_test

import (
	"io"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/org/ralph-action/internal/sandbox/confine"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// BenchmarkSpawn compares a child of the supervisor with a bare fork, exec and
// wait. cpu-us/op counts this process, the supervisor and the child.
func BenchmarkSpawn(b *testing.B) {
	discard := funcWriter(func(p []byte) (int, error) { return len(p), nil })
	b.Run("bare", func(b *testing.B) {
		before := cpu()
		for b.Loop() {
			cmd := exec.CommandContext(b.Context(), "/bin/true")
			cmd.Env, cmd.Stdout = []string{"PATH=/usr/bin:/bin"}, discard
			if err := cmd.Run(); err != nil {
				b.Fatal(err)
			}
		}
		report(b, before)
	})
	b.Run("bare, no output taken", func(b *testing.B) {
		before := cpu()
		for b.Loop() {
			if err := exec.CommandContext(b.Context(), "/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
		report(b, before)
	})
	b.Run("supervised", func(b *testing.B) { benchRun(b, discard, proc.Options{}) })
	b.Run("another user", func(b *testing.B) { benchRun(b, discard, proc.Options{Identity: childUser()}) })
	b.Run("restricted", func(b *testing.B) {
		policy := confine.DefaultPolicy([]string{base}, nil)
		benchRun(b, discard, proc.Options{Identity: childUser(), Policy: &policy})
	})
	b.Run("restricted, network too", func(b *testing.B) {
		policy := confine.DefaultPolicy([]string{base}, nil)
		policy.Network, policy.Strict = &confine.Network{Sockets: []string{base}}, true
		benchRun(b, discard, proc.Options{Identity: childUser(), Policy: &policy})
	})
}

// BenchmarkConnect is a connect of a sandboxed process to a server of its own and back,
// without the network policy and with it.
func BenchmarkConnect(b *testing.B) {
	for _, restricted := range []bool{false, true} {
		b.Run(map[bool]string{false: "open", true: "restricted"}[restricted], func(b *testing.B) {
			policy := confine.DefaultPolicy([]string{base}, []string{binary})
			if restricted {
				policy.Network, policy.Strict = &confine.Network{}, true
			}
			s, err := proc.Start(b.Context(), proc.Options{Identity: childUser(), Policy: &policy, Env: []string{quickExit}})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			const rounds = 2000
			for b.Loop() {
				var out strings.Builder
				c := program("network-bench", "x", strconv.Itoa(rounds))
				c.Stdout = &out
				exit, err := s.Run(b.Context(), c)
				took, errN := strconv.ParseFloat(strings.TrimSpace(out.String()), 64)
				if err != nil || errN != nil || exit.Code != 0 {
					b.Fatal(exit, err, out.String())
				}
				b.ReportMetric(took/rounds, "us/connect")
			}
		})
	}
}

// BenchmarkSignal is what a call costs that acts on another process.
func BenchmarkSignal(b *testing.B) {
	for name, policy := range map[string]*confine.Policy{"open": nil, "restricted": {ReadOnly: []string{"/"}}} {
		b.Run(name, func(b *testing.B) {
			s, err := proc.Start(b.Context(), proc.Options{Policy: policy, Env: []string{quickExit}})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			const rounds = 2000
			for b.Loop() {
				var out strings.Builder
				c := program("signals-bench", "x", strconv.Itoa(rounds))
				c.Stdout = &out
				exit, err := s.Run(b.Context(), c)
				took, errN := strconv.ParseFloat(strings.TrimSpace(out.String()), 64)
				if err != nil || errN != nil || exit.Code != 0 {
					b.Fatal(exit, err, out.String())
				}
				b.ReportMetric(took/rounds, "us/signal")
			}
		})
	}
}

func benchRun(b *testing.B, discard io.Writer, o proc.Options) {
	before := cpu()
	s, err := proc.Start(b.Context(), o)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		exit, err := s.Run(b.Context(), proc.Command{
			Argv: []string{"/bin/true"}, Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}, Stdout: discard,
		})
		if err != nil || exit.Code != 0 {
			b.Fatal(exit, err)
		}
	}
	if err := s.Close(); err != nil { // the supervisor's own time is known once it has ended
		b.Fatal(err)
	}
	report(b, before)
}

func report(b *testing.B, before int64) {
	b.ReportMetric(float64(cpu()-before)/float64(b.N), "cpu-us/op")
}

// cpu is what this process and its waited-for children used, in microseconds.
func cpu() (sum int64) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var r syscall.Rusage
		if err := syscall.Getrusage(who, &r); err == nil {
			sum += (r.Utime.Nano() + r.Stime.Nano()) / 1000
		}
	}
	return sum
}
