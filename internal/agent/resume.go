package agent

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/ralph"
)

// CanResume says that the agent's CLI can go on in an earlier session, with
// ralph.Prompt.Resume. cline has an option for it, which 3.0 refuses together
// with --json, and its stream does not tell the session's id.
func CanResume(name string) bool { return catalog.Of(name).Sessions }

// CanResume says why this agent, with its arguments, can not go on in an
// earlier session; nil when it can. The error is for a user to read.
func (c *CLI) CanResume() error {
	some, none := ralph.Prompt{Resume: "some"}, ralph.Prompt{}
	switch {
	case !CanResume(c.o.Name):
		names := slices.DeleteFunc(Known(), func(name string) bool { return !CanResume(name) })
		return fmt.Errorf("agent %q: cannot go on in a session; agents that can are %s", c.o.Name, strings.Join(names, ", "))
	case c.o.Plain:
		return fmt.Errorf("agent %q: cannot go on in a session in text mode, which does not tell the session's id", c.o.Name)
	case slices.Equal(driver.CommandLine(c.driver, c.o, some), driver.CommandLine(c.driver, c.o, none)):
		return errors.New("agent-args: they choose the session themselves, or leave no place for one; leave out their own --resume, --continue, resume or threads")
	}
	return nil
}

// totals are the tokens of whole sessions, for CLIs that report those of the
// session instead of the turn's.
type totals struct {
	mu sync.Mutex
	of map[string]ralph.Tokens
}

// since is what a session has used since the turn before, and remembers what
// it has used now. Of a session that is new here it is all, also when it began
// elsewhere.
func (t *totals) since(session string, now ralph.Tokens) ralph.Tokens {
	if session == "" || now.Unknown {
		return now
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	before, known := t.of[session]
	if known || len(t.of) < driver.MaxOpen {
		t.of[session] = now
	}
	if now.Input < before.Input || now.Output < before.Output || now.CacheRead < before.CacheRead || now.CacheWrite < before.CacheWrite {
		return now // the CLI began to count anew
	}
	return driver.Less(now, before)
}
