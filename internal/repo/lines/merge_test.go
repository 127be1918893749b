package lines

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestMerge(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, base, ours, theirs, want string }{
		{"apart", "1\n2\n3\n4\n5\n", "one\n2\n3\n4\n5\n", "1\n2\n3\n4\nfive\n", "one\n2\n3\n4\nfive\n"},
		{"the same", "1\n2\n3\n", "1\nx\n3\n", "1\nx\n3\n", "1\nx\n3\n"},
		{"the same and more", "1\n2\n3\n4\n5\n", "x\n2\n3\n4\n5\n", "x\n2\n3\n4\ny\n", "x\n2\n3\n4\ny\n"},
		{"both lines", "1\n2\n3\n", "1\nx\n3\n", "1\ny\n3\n", "!"},
		{"touching", "1\n2\n3\n4\n", "1\nx\n3\n4\n", "1\n2\ny\n4\n", "!"},
		{"both added at the end", "1\n", "1\n2\n", "1\n3\n", "!"},
		{"added at both ends", "1\n2\n3\n", "0\n1\n2\n3\n", "1\n2\n3\n4\n", "0\n1\n2\n3\n4\n"},
		{"removed and changed apart", "1\n2\n3\n4\n5\n", "3\n4\n5\n", "1\n2\n3\n4\nx\n", "3\n4\nx\n"},
		{"removed and changed", "1\n2\n3\n", "1\n3\n", "1\nx\n3\n", "!"},
		{"no line end", "1\n2\n3", "x\n2\n3", "1\n2\n3\n", "x\n2\n3\n"},
		{"from nothing", "", "1\n", "2\n", "!"},
		{"emptied", "1\n2\n", "", "1\n2\n", ""},
	} {
		got, ok := Merge([]byte(tt.base), []byte(tt.ours), []byte(tt.theirs))
		if !ok {
			got = []byte("!")
		}
		if string(got) != tt.want {
			t.Errorf("%s: Merge() = %q, want %q", tt.name, got, tt.want)
		}
	}
	long := strings.Repeat("a\n", 3*maxMergedEdits)
	if _, ok := Merge([]byte(long), []byte(strings.Repeat("b\n", 3*maxMergedEdits)), []byte(long+"c\n")); ok {
		t.Error("Merge() of a text that changed in more places than are compared, want false")
	}
}

// What git merges without a conflict is merged to the same, or left to people;
// what it does not is never merged.
func TestMergeLikeGit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(1, 2))
	text := func(lines []string) []byte { return []byte(strings.Join(lines, "")) }
	edit := func(lines []string) (out []string) {
		for _, l := range lines {
			switch rng.IntN(14) {
			case 0:
			case 1:
				out = append(out, "new "+string(rune('a'+rng.IntN(26)))+"\n", l)
			case 2:
				out = append(out, "changed "+string(rune('a'+rng.IntN(26)))+"\n")
			default:
				out = append(out, l)
			}
		}
		return out
	}
	merged := 0
	for range 150 {
		var base []string
		for i := range 5 + rng.IntN(30) {
			base = append(base, string(rune('A'+(i+rng.IntN(3))%26))+"\n")
		}
		o, a, b := text(base), text(edit(base)), text(edit(base))
		for name, content := range map[string][]byte{"o": o, "a": a, "b": b} {
			if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("git", "merge-file", "-p", "--quiet", "a", "o", "b")
		cmd.Dir = dir
		want, err := cmd.Output()
		got, ok := Merge(o, a, b)
		if !ok {
			continue
		}
		merged++
		if err != nil || string(got) != string(want) {
			t.Errorf("Merge(%q, %q, %q) = %q, git says %q, %v", o, a, b, got, want, err)
		}
	}
	if merged < 10 {
		t.Errorf("only %d texts were merged: the test tests nothing", merged)
	}
}

func FuzzMerge(f *testing.F) {
	f.Add([]byte("1\n2\n3\n"), []byte("1\nx\n3\n"), []byte("1\n2\n3\n4\n"))
	f.Add([]byte(""), []byte("\n"), []byte("\x00"))
	f.Fuzz(func(t *testing.T, base, ours, theirs []byte) {
		if got, ok := Merge(base, ours, base); ok && string(got) != string(ours) {
			t.Errorf("Merge(%q, %q, base) = %q, want ours", base, ours, got)
		}
		if got, ok := Merge(base, base, theirs); ok && string(got) != string(theirs) {
			t.Errorf("Merge(%q, base, %q) = %q, want theirs", base, theirs, got)
		}
		x, ok1 := Merge(base, ours, theirs)
		y, ok2 := Merge(base, theirs, ours)
		if ok1 != ok2 || string(x) != string(y) {
			t.Errorf("Merge(%q, %q, %q) depends on the side: %q, %q", base, ours, theirs, x, y)
		}
	})
}
