package weaken_test

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/org/ralph-action/internal/weaken"
)

// What is found with the filters is what is found without them, in every pair,
// and in files that are pieced together of all of them.
func TestFiltersChangeNothing(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 4))
	var lines [][]byte
	var all []*pair
	for _, path := range archives(t) {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pairs(t, a) {
			all = append(all, p)
			for _, text := range p.old {
				lines = append(lines, slices.Collect(bytes.Lines(text))...)
			}
			for _, text := range p.now {
				lines = append(lines, slices.Collect(bytes.Lines(text))...)
			}
		}
	}
	slices.SortFunc(lines, bytes.Compare)
	same := func(name string, files []weaken.File, o weaken.Options) {
		t.Helper()
		if got, want := told(weaken.Look(files, o)), told(weaken.LookPlain(files, o)); got != want {
			t.Errorf("%s: Look finds\n%s, without filters\n%s", name, got, want)
		}
	}
	for _, p := range all {
		files := p.files()
		same(p.name, files, p.options)
		for i := range files {
			f := &files[i]
			f.New = shuffled(rnd, f.New, lines)
			if !f.Added && !f.Deleted {
				f.Old = shuffled(rnd, f.Old, lines)
			}
		}
		same(p.name+", shuffled", files, p.options)
	}
}

// shuffled puts lines of others, and line ends, between those of a text.
func shuffled(rnd *rand.Rand, text []byte, lines [][]byte) []byte {
	var out []byte
	for line := range bytes.Lines(text) {
		switch rnd.IntN(6) {
		case 0:
			out = append(out, lines[rnd.IntN(len(lines))]...)
		case 1: // in two
			at := rnd.IntN(len(line))
			out = append(append(append(out, line[:at]...), "\n \n"[:1+rnd.IntN(3)]...), line[at:]...)
			continue
		case 2:
			out = append(append(out, bytes.TrimSpace(line)...), lines[rnd.IntN(len(lines))]...)
			continue
		case 3:
			out = append(out, bytes.ToUpper(line)...)
			continue
		}
		out = append(out, line...)
	}
	return out
}

// Each pattern is found where its expression says, whatever lines a filter
// leaves out.
func FuzzFind(f *testing.F) {
	f.Add([]byte("assert\u017f\nTe\u017ft(\n\n  true )\nit.\u212aip("), uint16(0), uint16(60))
	for _, path := range archives(f) {
		a, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for i, file := range a.Files {
			if i%8 != 0 {
				continue
			}
			f.Add(file.Data, uint16(i), uint16(len(file.Data)))
		}
	}
	all := weaken.AllPatterns()
	f.Fuzz(func(t *testing.T, text []byte, from, to uint16) {
		low, high := min(int(from), len(text)), min(int(to), len(text))
		for lang, list := range all {
			s := list.Source(text)
			for _, p := range list.All {
				for _, part := range [][2]int{{0, len(text)}, {min(low, high), max(low, high)}} {
					if got, want := s.Find(p, part[0], part[1]), s.FindPlain(p, part[0], part[1]); !reflect.DeepEqual(got, want) && len(got)+len(want) > 0 {
						t.Errorf("%s: %v in %q[%d:%d] = %v, want %v", lang, p, text, part[0], part[1], got, want)
					}
				}
			}
		}
	})
}

// Nearly all patterns can be left out of lines.
func TestMostPatternsAreFiltered(t *testing.T) {
	t.Parallel()
	n, slow := 0, 0
	for lang, list := range weaken.AllPatterns() {
		for _, p := range list.All {
			n++
			if !list.Filtered(p) {
				slow++
				t.Logf("%s: %v is tried everywhere", lang, p)
			}
		}
	}
	if n < 120 || slow > n/10 {
		t.Errorf("%d of %d patterns are tried everywhere", slow, n)
	}
}
