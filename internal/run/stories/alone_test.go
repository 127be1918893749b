package stories

import "testing"

func TestAdded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ was, now, want string }{
		{"# Log\n", "# Log\none\n", "one\n"},
		{"# Log", "# Log\none", "one\n"},
		{"# Log\n\nold\n", "# Log\n\nold\n\none\n\ntwo\n", "one\n\ntwo\n"},
		{"## Patterns\n- a\n\n## Log\nold\n", "## Patterns\n- a\n- b\n\n## Log\nold\nnew\n", "- b\n\nnew\n"},
		{"a\nb\n", "a\n", ""},
		{"", "one\n", "one\n"},
		{"a\n", "a\n", ""},
		{"a\n", "", ""},
	} {
		if got := Added(c.was, c.now); got != c.want {
			t.Errorf("Added(%q, %q) = %q, want %q", c.was, c.now, got, c.want)
		}
	}
}
