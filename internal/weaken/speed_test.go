package weaken_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/org/ralph-action/internal/weaken"
)

// large is a change as large as is looked at: files of one language, made of the
// pairs in testdata under new names, with a mark of theirs taken out here and there.
func large(tb testing.TB, ext string) []weaken.File {
	tb.Helper()
	type edit struct{ old, now []byte }
	var edits []edit
	for _, path := range archives(tb) {
		a, err := txtar.ParseFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		for _, p := range pairs(tb, a) {
			for _, path := range sortedKeys(p.old) {
				if filepath.Ext(path) == ext {
					edits = append(edits, edit{p.old[path], p.now[path]})
				}
			}
		}
	}
	if len(edits) == 0 {
		tb.Fatalf("no pairs in %s", ext)
	}
	var old, now []byte
	for n := 0; len(old) < 1<<20-64<<10 && len(now) < 1<<20-64<<10; n++ {
		e := edits[n%len(edits)]
		named := func(text []byte) []byte {
			name := fmt.Sprint("Case", n)
			return bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("Test"), []byte("Test"+name)), []byte("test_"), []byte("test_"+name))
		}
		old = append(append(old, named(e.old)...), '\n')
		if n%10 != 0 || e.now == nil {
			e.now = e.old
		}
		now = append(append(now, named(e.now)...), '\n')
	}
	old, now = old[:min(len(old), 1<<20)], now[:min(len(now), 1<<20)]
	names := map[string]string{".go": "a_test.go", ".js": "a.test.js", ".ts": "a.test.ts", ".py": "test_a.py", ".java": "src/test/ATest.java", ".rs": "tests/a.rs", ".rb": "a_spec.rb", ".cs": "ATests.cs", ".php": "ATest.php", ".exs": "a_test.exs", ".swift": "ATests.swift", ".cc": "a_test.cc", ".bats": "a.bats"}
	var files []weaken.File
	for i := range 4 {
		files = append(files, weaken.File{Path: fmt.Sprint("d", i, "/", names[ext]), Old: old, New: now})
	}
	return files
}

// Processor time with the filters and without, of one change after the other.
func BenchmarkLarge(b *testing.B) {
	for _, ext := range []string{".go", ".js", ".ts", ".py", ".java", ".rs", ".rb", ".cs", ".php", ".exs", ".swift", ".cc", ".bats"} {
		files := large(b, ext)
		run(b, ext[1:], files)
	}
}

// cpu is the processor time that this process took.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func run(b *testing.B, name string, files []weaken.File) {
	b.Run(name, func(b *testing.B) {
		n := 0
		for _, f := range files {
			n += len(f.Old) + len(f.New)
		}
		b.SetBytes(int64(n))
		var with, without time.Duration
		for b.Loop() {
			start := cpu()
			weaken.Look(files, weaken.Options{})
			with += cpu() - start
			start = cpu()
			weaken.LookPlain(files, weaken.Options{})
			without += cpu() - start
		}
		b.ReportMetric(with.Seconds()/float64(b.N), "cpu-s/op")
		b.ReportMetric(without.Seconds()/float64(b.N), "plain-cpu-s/op")
	})
}
