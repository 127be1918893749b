package confine

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Where a supervisor around us watches system calls already, nobody can be asked about
// signals. Strict starts nothing then, unless Landlock keeps them inside.
func TestStrictKeepsSignalsInside(t *testing.T) {
	t.Parallel()
	if architecture() == 0 {
		t.Fatal("there is no filter for this processor")
	}
	for _, c := range []struct {
		strict bool
		abi    int
		says   string
	}{
		{true, 4, "isolation is strict, but signals to other processes cannot be refused: Landlock ABI 4 does not, and system calls are watched by a supervisor around us already"},
		{true, scopeABI, ""},
		{false, 4, ""},
	} {
		err := onThread(func() error {
			if err := noNewPrivileges(); err != nil {
				return err
			}
			listener, err := installFilter(give(resultAllow), unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
			if err != nil {
				return err
			}
			defer unix.Close(listener)
			g, err := askOthers(c.strict, c.abi)
			if g != nil {
				err = errors.Join(err, errors.New("there is a notifier beside another"))
			}
			return err
		})
		if got := text(err); got != c.says {
			t.Errorf("strict %v, ABI %d: %q, want %q", c.strict, c.abi, got, c.says)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return strings.TrimSpace(err.Error())
}
