// Package custom drives any CLI that prints JSON, as the user's jq expressions describe
// it.
package custom

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/agent/filter"
	"github.com/org/ralph-action/internal/ralph"
)

// Driver is any CLI that prints lines of JSON, described by options: Command and
// Args are its command line, Delivery is how it takes the prompt, and Filters
// find in each line what is to be known of it.
type Driver struct{ driver.Base }

// filterNames are the names of Filters, sorted. What each finds is said in
// docs/custom-agents.md.
func filterNames() []string {
	names := []string{"message", "text"}
	for _, f := range (&decoder{}).finders() {
		names = append(names, f.name)
	}
	slices.Sort(names)
	return names
}

// Argv is the user's command line, and the prompt or its file where it is an
// argument.
func (Driver) Argv(o driver.Options, p ralph.Prompt) []string {
	argv := append(driver.Command(o, ""), o.Args...)
	switch o.Delivery {
	case "argument":
		return append(argv, driver.Operand(p.Text))
	case "file":
		return append(argv, p.Text)
	}
	return argv
}

// Extras has nothing to make; it is where the description is checked.
func (c Driver) Extras(o driver.Options) ([]driver.Extra, error) {
	if len(o.Command) == 0 {
		return nil, errors.New("needs agent-command, the program that is the agent")
	}
	if !slices.Contains([]string{"", "stdin", "argument", "file"}, o.Delivery) {
		return nil, fmt.Errorf("agent-prompt %q: must be stdin, argument or file", driver.Clip(o.Delivery, driver.MaxName))
	}
	if o.Delivery == "file" && o.Scratch == "" {
		return nil, errors.New("agent-prompt: file needs a folder for files")
	}
	const instead = "write it into agent-args"
	if err := errors.Join(
		driver.Refuse("model", o.Model, instead+", and into the filter model if its tokens are to be priced"),
		driver.Refuse("effort", o.Effort, instead), driver.Refuse("provider", o.Provider, instead), driver.Refuse("base-url", o.BaseURL, instead),
		driver.Refuse("mcp-config", o.MCP, instead), driver.Refuse("agent-settings", o.Settings, instead),
	); err != nil {
		return nil, err
	}
	_, err := c.compile(o)
	return nil, err
}

// compile is the code of each filter. All that is wrong with them is told at once.
func (Driver) compile(o driver.Options) (map[string]*filter.Code, error) {
	var errs []error
	codes := make(map[string]*filter.Code, len(o.Filters))
	for _, name := range slices.Sorted(maps.Keys(o.Filters)) {
		if !slices.Contains(filterNames(), name) {
			errs = append(errs, fmt.Errorf("agent-filters: %q is unknown; known are %s", driver.Clip(name, driver.MaxName), strings.Join(filterNames(), ", ")))
			continue
		}
		if _, both := o.Filters["add-"+name]; both {
			errs = append(errs, fmt.Errorf("agent-filters: %s is the sum so far and add-%s is what a line adds to it; give one of them", name, name))
		}
		code, err := filter.Compile(o.Filters[name])
		if err != nil {
			errs = append(errs, fmt.Errorf("agent-filters: %s: %w", name, err))
		}
		codes[name] = code
	}
	_, has := o.Filters["text"]
	switch {
	case has && o.Filter != "":
		errs = append(errs, errors.New("agent-filters: text and response-filter are the same; give one of them"))
	case !has && o.Filter == "":
		errs = append(errs, errors.New(`agent-filters: needs text, which finds the agent's own words, such as text: select(.type=="text") | .text`))
	case o.Filter != "":
		codes["text"], _ = filter.Compile(o.Filter) // New says what is wrong with it
	}
	return codes, errors.Join(errs...)
}

// Ways are how the prompt reaches the CLI.
func (Driver) Ways(o driver.Options) driver.Ways {
	return driver.Ways{Argument: o.Delivery == "argument" || o.Delivery == "file", File: o.Delivery == "file"}
}

// Decoder reads one turn.
func (c Driver) Decoder(o driver.Options, p ralph.Prompt, emit func(ralph.Event), finished func()) driver.Decoder {
	codes, _ := c.compile(o) // New refused what does not compile
	return newDecoder(codes, o, p, emit, finished)
}
