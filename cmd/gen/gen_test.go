package main

import (
	"strings"
	"testing"
)

// Documents and sources are as the tables say.
func TestFresh(t *testing.T) {
	t.Parallel()
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	stale, err := generate(root)
	if err != nil {
		t.Fatal(err)
	}
	for name := range stale {
		t.Errorf("%s is stale: run go generate ./...", name)
	}
}

func TestFill(t *testing.T) {
	t.Parallel()
	blocks := map[string]func() string{"a": func() string { return "new\n" }, "b": func() string { return "ARG X=1" }}
	for _, tt := range []struct{ text, want, wrong string }{
		{"x\n<!-- generated: a -->\nold\nold\n<!-- /generated -->\ny\n", "x\n<!-- generated: a -->\nnew\n<!-- /generated -->\ny\n", ""},
		{"# generated: b\n# /generated\n", "# generated: b\nARG X=1\n# /generated\n", ""},
		{"it says `<!-- generated: a -->`\n", "it says `<!-- generated: a -->`\n", ""},
		{"<!-- generated: c -->\n<!-- /generated -->\n", "", "nothing is generated under this name"},
		{"<!-- generated: a -->\n", "", "the block a does not end"},
		{"<!-- generated: a -->\n<!-- generated: b -->\n", "", "begins inside of the block a"},
		{"<!-- /generated -->\n", "", "ends no block"},
	} {
		got, err := fill(tt.text, blocks)
		if got != tt.want || (err == nil) != (tt.wrong == "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("fill(%q) = %q, %v, want %q, %q", tt.text, got, err, tt.want, tt.wrong)
		}
		if again, err := fill(got, blocks); err != nil || again != got {
			t.Errorf("fill(fill(%q)) = %q, %v", tt.text, again, err)
		}
	}
}
