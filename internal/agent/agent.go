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
	var code *filter.Code
	if o.Filter != "" {
		if code, err = filter.Compile(o.Filter); err != nil {
			return nil, fmt.Errorf("response filter: %w", err)
		}
	}
	c := &CLI{o: o, driver: f, filter: code, extras: extras, totals: &totals{of: map[string]ralph.Tokens{}}}
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

// Infer names the agent behind a command by its program: one of [Known]
// with or without a directory, or "text" for anything else.
func Infer(command []string) string {
	if len(command) == 0 {
		return "text"
	}
	name := driver.ProgramName(command[0])
	if slices.Contains(catalog.CLIs(), name) {
		return name
	}
	return "text"
}

// Modern turns arguments of older CLIs into those of today's, which refuse
// them. There is a line for each that says what is used instead, and why.
func Modern(name string, args []string) (modern, warnings []string) {
	modern = slices.Clone(args)
	if f, ok := drivers()[name]; ok {
		return f.Modern(modern)
	}
	return modern, nil
}

// KeyVariable is the variable in which the agent looks for a key of the provider
// that the options choose. An error is for the user to read: the provider takes
// none, or which one it takes is not known.
func KeyVariable(o Options) (string, error) {
	f, ok := drivers()[o.Name]
	if !ok {
		return "", nil
	}
	row := catalog.Of(o.Name)
	switch p := row.Provider(f.Provider(o)); {
	case p.Key != "":
		return p.Key, nil
	case row.AnyProvider:
		return "", fmt.Errorf("api-key: which variable %s reads for this provider is not known: set it in env, and name it in pass-env", o.Name)
	case p.Name != "":
		return "", fmt.Errorf("api-key: %s takes no key; see the page about providers for a login by OIDC", p.Name)
	}
	if keys := row.Keys(); len(keys) > 0 {
		return keys[0], nil
	}
	return "", nil
}

// OneKey are the options without the keys of other providers than the one they
// choose, where the key of that one is set.
func OneKey(o Options) Options {
	name, err := KeyVariable(o)
	if err != nil || name == "" || driver.Lookup(o.Env, name) == "" {
		return o
	}
	o.Env = driver.Without(o.Env, slices.DeleteFunc(catalog.Of(o.Name).Keys(), func(key string) bool { return key == name })...)
	return o
}

// Package is where an agent's CLI comes from.
type Package struct {
	Name    string // at registry.npmjs.org
	Program string // what it puts on PATH
	Version string // the one that was tested, which is installed unless another is asked for
}

// PackageOf is the npm package of an agent; ok is false for agents that are
// whatever the user says (text, custom).
func PackageOf(name string) (p Package, ok bool) {
	a := catalog.Of(name)
	return Package{a.Package, a.Program, a.Version}, a.Package != ""
}

// A user who asks for a sandbox or a permission mode of the CLI's own gets it:
// nothing that cancels it is added.

// Cautions say what an agent cannot do in the sandbox or the permission mode of its
// own that the user asked for, for people to read before anything is spent.
func Cautions(o Options) []string {
	f, ok := drivers()[o.Name]
	if !ok || o.Exact {
		return nil
	}
	return f.Cautions(o)
}

// Unasked reports whether the agent acts without asking for permission and outside
// of a sandbox of its CLI's own: the arguments say so, or it is the CLI's nature.
func Unasked(o Options) bool {
	row := catalog.Of(o.Name)
	d, ok := drivers()[o.Name]
	switch {
	case !ok, row.Own():
		return false // what a program of the user's does is not known
	case row.Unasked, !o.Exact && d.Unasked(o):
		return true
	}
	var bypass []string
	for _, a := range catalog.All() {
		bypass = append(bypass, a.Bypass...)
	}
	return driver.Has(driver.CommandLine(d, o, ralph.Prompt{Text: "task"}), bypass...)
}
