package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec" //nolint:depguard // this program, as a child that is measured by itself
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/testing/lanes"
)

// integrateWord has this program integrate waves, and print an integrated.
const integrateWord = "integrate-waves"

// integrated is what a child of integrate measured.
type integrated struct {
	CPU, Wall time.Duration // of the integrations alone
	Peak      float64       // of memory, in MiB
	Wrong     []string
}

// integrate measures what putting a wave of 256 stories together costs, in the store: without
// the checks and the work tree.
func (b *bench) integrate(ctx context.Context) ([]row, error) {
	var cpu, peak []float64
	for range 3 {
		got, err := b.waves(ctx, 1, lanes.Shape{Stories: 256})
		if err != nil {
			return nil, err
		}
		cpu, peak = append(cpu, got.CPU.Seconds()), append(peak, got.Peak)
	}
	return []row{
		{What: "CPU of the integration of 256 clean stories", Ours: measured("s", cpu), Target: target{AtMost: 30, Unit: "s"}, Note: "256 bundles, 40 files of 20 kB of which each is changed by six stories: read, merged, inspected, committed."},
		{What: "memory of the integration of 256 clean stories", Ours: measured("MiB", peak), Target: target{AtMost: 256, Unit: "MiB"}},
	}, nil
}

// integrateMany measures 10,000 bundles in one repository, some of which lie.
func (b *bench) integrateMany(ctx context.Context) ([]row, error) {
	got, err := b.waves(ctx, 40, lanes.Shape{Stories: 250, Conflict: 20, Lie: 100})
	if err != nil {
		return nil, err
	}
	return []row{
		{What: "CPU of the integration of 10,000 bundles", Ours: measured("s", []float64{got.CPU.Seconds()}), Note: fmt.Sprintf("40 waves of 250; 5 %% conflict, 1 %% lie. %.0f s of wall time.", got.Wall.Seconds())},
		{What: "memory of the integration of 10,000 bundles", Ours: measured("MiB", []float64{got.Peak}), Target: target{AtMost: 256, Unit: "MiB"}},
	}, nil
}

func (b *bench) waves(ctx context.Context, n int, shape lanes.Shape) (integrated, error) {
	var got integrated
	self, err := os.Executable()
	if err != nil {
		return got, err
	}
	dir, err := os.MkdirTemp(b.dir, "waves-")
	if err != nil {
		return got, err
	}
	defer os.RemoveAll(dir)
	spec, err := json.Marshal(shape)
	if err != nil {
		return got, err
	}
	cmd := exec.CommandContext(ctx, self, integrateWord, dir, strconv.Itoa(n), string(spec))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return got, fmt.Errorf("%w\n%s", err, stderr.String())
	}
	if err := json.Unmarshal(out, &got); err != nil {
		return got, err
	}
	if len(got.Wrong) > 0 {
		return got, fmt.Errorf("%d things are not as they have to be: %s", len(got.Wrong), strings.Join(got.Wrong[:min(len(got.Wrong), 5)], "; "))
	}
	return got, nil
}

// integrateWaves is the child.
func integrateWaves(args []string, stdout io.Writer) error {
	var shape lanes.Shape
	n, err := strconv.Atoi(args[1])
	if err == nil {
		err = json.Unmarshal([]byte(args[2]), &shape)
	}
	if err != nil {
		return err
	}
	w, err := lanes.New(filepath.Join(args[0], "world"), 1000)
	if err != nil {
		return err
	}
	var all integrated
	for i := range n {
		wave, err := w.Wave(shape)
		if err != nil {
			return err
		}
		_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // the peak begins here; elsewhere it has all in it
		before, began := cpuTime(), time.Now()
		got, err := w.Integrate(context.Background(), filepath.Join(args[0], fmt.Sprint("integrate", i)), wave, func() error { return nil })
		if err != nil {
			return err
		}
		all.CPU, all.Wall, all.Peak = all.CPU+cpuTime()-before, all.Wall+time.Since(began), max(all.Peak, peakOf(os.Getpid()))
		files, err := w.Files(filepath.Join(args[0], fmt.Sprint("files", i)))
		if err != nil {
			return err
		}
		all.Wrong = append(all.Wrong, wave.Wrong(got, files)...)
		for _, old := range []string{"integrate", "files"} {
			if err := os.RemoveAll(filepath.Join(args[0], fmt.Sprint(old, i))); err != nil {
				return err
			}
		}
	}
	return json.NewEncoder(stdout).Encode(all)
}
