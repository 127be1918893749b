// Package agent runs coding-agent CLIs, each by a driver in a package of its name below
// this one: its command line by a pure function, the environment it needs, and a
// decoder from its output to ralph's events. What is known of each as data stands in the
// catalogue. What an agent prints is foreign text: bounded here, redacted and defused by
// whoever shows it.
package agent

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/agent/filter"
	"github.com/org/ralph-action/internal/ralph"
)

// CLI is an agent; it implements ralph.Agent.
type CLI struct {
	o       Options
	driver  driver.Driver
	filter  *filter.Code // nil: none
	extras  []driver.Extra
	scratch *os.Root // nil: none needed, or none there
	version string
	totals  *totals // of sessions
}

// Known lists the agents New accepts, sorted.
func Known() []string {
	names := catalog.Names()
	slices.Sort(names)
	return names
}

// Credentials lists the variables that hold the agent's own credentials and
// choose its provider; a caller hands those that are set to the child. nil for an
// agent that is not known.
func Credentials(name string) []string { return catalog.Of(name).Credentials() }

// New checks the options; an error is for the user to read.
func New(o Options) (*CLI, error) {
	f, ok := drivers()[o.Name]
	if !ok {
		return nil, fmt.Errorf("agent %q: unknown; known are %s", driver.Clip(o.Name, driver.MaxName), strings.Join(Known(), ", "))
	}
	if o.Process == nil {
		return nil, errors.New("agent: no process runner")
	}
	if len(o.Command) > 0 && o.Command[0] == "" {
		return nil, errors.New("agent-command: the program's name is empty")
	}
	for _, arg := range slices.Concat(o.Command, o.Args, o.ExactArgs, []string{o.Model}) {
		if strings.ContainsRune(arg, 0) {
			return nil, errors.New("agent-command, agent-args, model: contain a NUL character")
		}
	}
	w := f.Ways(o)
	if o.Argument && !w.Argument {
		return nil, fmt.Errorf("agent %q: its prompt cannot be an argument", o.Name)
	}
	if err := checkDisplay(o); err != nil {
		return nil, err
	}
	extras, err := f.Extras(o)
	if err != nil {
		return nil, fmt.Errorf("agent %q: %w", o.Name, err)
	}
	o.Turn.Files = map[string]string{}
	for _, e := range extras {
		if e.Inline {
			o.Turn.Files[e.Name] = e.Text
		}
	}
	extras = slices.DeleteFunc(extras, func(e driver.Extra) bool { return e.Inline })
	if len(extras) > 0 && o.Scratch == "" {
		return nil, fmt.Errorf("agent %q: mcp-config, agent-settings and append-system-prompt need a folder for files", o.Name)
	}
	filter, err := optionalFilter(o.Filter)
	if err != nil {
		return nil, err
	}
	c := &CLI{o: o, driver: f, filter: filter, extras: extras, totals: &totals{of: map[string]ralph.Tokens{}}}
	if o.Scratch != "" && (len(extras) > 0 || w.Argument && !w.Inline || w.Answer && o.Plain && !o.Exact) {
		if c.scratch, err = os.OpenRoot(o.Scratch); err != nil {
			return nil, fmt.Errorf("agent %q: scratch folder: %w", o.Name, err)
		}
	}
	if o.Plain && o.Name != "text" {
		c.driver = textMode{f}
	}
	return c, nil
}

// Version is what the CLI called itself in Check; empty before, or when it has
// no version.
func (c *CLI) Version() string { return c.version }

// Options say which agent is run and how.
type Options = driver.Options
