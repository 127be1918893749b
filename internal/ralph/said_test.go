package ralph_test

import (
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
)

func TestReadSaid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		message string
		want    ralph.Said
		words   string
	}{
		"nothing": {"All done.\n\n<promise>COMPLETE</promise>", ralph.Said{}, "All done."},
		"a turn":  {"Half of it.\n<commit>\nRound half up\n\nSigned-off-by: M</commit>", ralph.Said{Commit: "Round half up"}, "Half of it."},
		"all": {
			"Done.\n\n<commit>Round half up</commit>\n\n<change>\n# Round prices half up\n\nPrices were **cut**.\n\n- now rounded\n</change>\n<promise>COMPLETE</promise>\n",
			ralph.Said{Commit: "Round half up", Title: "Round prices half up", Description: "Prices were **cut**.\n\n- now rounded"}, "Done.",
		},
		"a title alone":       {"<change>Round half up</change>", ralph.Said{Title: "Round half up"}, ""},
		"the last counts":     {"<commit>one</commit> <commit>two</commit>", ralph.Said{Commit: "two"}, ""},
		"the form of the ask": {"<commit>…</commit><change>\n…\n</change>", ralph.Said{}, ""},
		"in a code block":     {"Ok.\n```xml\n<commit>one</commit>\n```\n", ralph.Said{Commit: "one"}, "Ok."},
		"a commit in a change": {
			"<change>\nSay <commit>\n\nThe tag <commit>x</commit> is read.\n</change>", ralph.Said{Title: "Say <commit>", Description: "The tag <commit>x</commit> is read."}, "",
		},
		"not closed":  {"Why <change>\nthis\n", ralph.Said{}, "Why <change>\nthis"},
		"a response":  {"<response>" + strings.Repeat("words ", 100) + "</response>", ralph.Said{}, "<response>" + strings.Repeat("words ", 100) + "</response>"},
		"two markers": {"a <response>done</response> b <verdict>approved</verdict>", ralph.Said{}, "a  b"},
	} {
		if got := ralph.ReadSaid(c.message); got != c.want {
			t.Errorf("%s: ReadSaid() = %+v, want %+v", name, got, c.want)
		}
		if got := ralph.Words(c.message); got != c.words {
			t.Errorf("%s: Words() = %q, want %q", name, got, c.words)
		}
	}
	long := ralph.ReadSaid("<commit>" + strings.Repeat("ü", 1<<20) + "</commit><change>" + strings.Repeat("é", 1<<20) + "\n" + strings.Repeat("à", 1<<20) + "</change>")
	if len(long.Commit) > 500 || len(long.Title) > 500 || len(long.Description) > 8<<10 || !strings.HasSuffix(long.Description, "à") {
		t.Errorf("ReadSaid() of a long message keeps %d, %d, %d bytes", len(long.Commit), len(long.Title), len(long.Description))
	}
}
