package lines

import "testing"

func TestMarked(t *testing.T) {
	t.Parallel()
	got, ok := Marked([]byte("1\n2\n3\n4\n5\n"), []byte("one\n2\nx\n4\n5\n"), []byte("1\n2\ny\n4\nfive"), "branch", "story")
	if want := "one\n2\n<<<<<<< branch\nx\n||||||| base\n3\n=======\ny\n>>>>>>> story\n4\nfive"; !ok || string(got) != want {
		t.Errorf("Marked() = %q, %v, want %q", got, ok, want)
	}
	if n := Marks(got); n[MarkOurs] != 1 || n[MarkBase] != 1 || n[MarkBoth] != 1 || n[MarkTheirs] != 1 {
		t.Errorf("Marks() = %v, want one of each", n)
	}
	got, ok = Marked(nil, []byte("a"), []byte("b"), "branch", "story")
	if want := "<<<<<<< branch\na\n||||||| base\n=======\nb\n>>>>>>> story\n"; !ok || string(got) != want {
		t.Errorf("Marked() of what both added = %q, %v, want %q", got, ok, want)
	}
	if n := Marks([]byte("<<<<<<<<\n======== \n  =======\n>>>>>>>x\n")); len(n) != 0 {
		t.Errorf("Marks() of lines that are none = %v", n)
	}
}
