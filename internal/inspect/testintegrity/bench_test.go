package testintegrity_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/org/ralph-action/internal/inspect/testintegrity"
)

// What a look costs before it sees anything, and by the megabyte.
func BenchmarkLook(b *testing.B) {
	old := []byte("package a\n\nimport \"testing\"\n")
	for n := range 2000 {
		old = fmt.Appendf(old, "\nfunc TestCase%d(t *testing.T) {\n\tgot := Add(%d, 2) // the sum\n\tif got != %d {\n\t\tt.Errorf(\"Add = %%d, want %d\", got)\n\t}\n}\n", n, n, n+2, n+2)
	}
	now := bytes.Replace(old, []byte("\tgot := Add(7, 2)"), []byte("\tt.Skip()\n\tgot := Add(7, 2)"), 1)
	for name, f := range map[string]testintegrity.File{
		"small":  {Path: "a_test.go", Old: []byte("package a\n"), New: []byte("package b\n")},
		"250 KB": {Path: "a_test.go", Old: old, New: now},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(f.Old) + len(f.New)))
			for b.Loop() {
				testintegrity.Look([]testintegrity.File{f}, testintegrity.Options{})
			}
		})
	}
}
