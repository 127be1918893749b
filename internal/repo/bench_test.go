package repo_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/ralph"
)

// BenchmarkPublish compares a checkpoint (snapshot, commit, push) with git add,
// commit and push, on 50,000 files of which 20 changed. RALPH_BENCH_FILES sets
// another number.
func BenchmarkPublish(b *testing.B) {
	n := 50_000
	if s := os.Getenv("RALPH_BENCH_FILES"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	f := newForge(b)
	contents := make(map[string]string, n)
	for i := range n {
		contents[fmt.Sprintf("d%02d/e%02d/f%04d.txt", i%50, i/50%20, i)] = fmt.Sprintf("file %d\nwith a line\n", i)
	}
	f.seed(b, contents)
	change := func(dir string, round int) {
		for i := range 20 {
			k := i * n / 20
			write(b, filepath.Join(dir, fmt.Sprintf("d%02d/e%02d/f%04d.txt", k%50, k/50%20, k)), fmt.Sprintf("changed %d %d\n", round, time.Now().UnixNano()))
		}
	}
	publish := func(b *testing.B, change func(dir string, round int), options ...optionFunc) {
		dir := f.checkout(b, true)
		r := begin(b, dir, f.url, options...)
		for round := 0; b.Loop(); round++ {
			b.StopTimer()
			change(dir, round)
			b.StartTimer()
			if _, err := r.Snapshot(b.Context()); err != nil {
				b.Fatal(err)
			}
			c, err := r.commit(b.Context(), ralph.Iteration{Number: round + 1})
			if err != nil || !c.Pushed {
				b.Fatalf("Checkpoint() = %+v, %v, want it pushed", c, err)
			}
		}
	}
	b.Run("ralph", func(b *testing.B) { publish(b, change) })
	b.Run("inspected", func(b *testing.B) { publish(b, change, newInspector().option) })
	b.Run("git", func(b *testing.B) {
		dir := f.checkout(b, true)
		git(b, dir, "checkout", "-q", "-b", "plain")
		git(b, dir, "config", "http.extraheader", "Authorization: Basic eC1hY2Nlc3MtdG9rZW46Z2hzXzAxMjM0NTY3ODlhYmNkZWZUT0tFTg==")
		for round := 0; b.Loop(); round++ {
			b.StopTimer()
			change(dir, round)
			b.StartTimer()
			git(b, dir, "add", "-A")
			git(b, dir, "commit", "-q", "-m", "round")
			git(b, dir, "push", "-q", "origin", "plain")
		}
	})
}
