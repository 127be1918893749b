package agent

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
)

// custom is any CLI that prints lines of JSON, described by options: Command and
// Args are its command line, Delivery is how it takes the prompt, and Filters
// find in each line what is to be known of it.
type custom struct{ base }

// customFilters are the names of Filters, sorted. What each finds is said in
// docs/custom-agents.md, and where it is read in [customTurn].
func customFilters() []string {
	return []string{
		"add-cache-read-tokens", "add-cache-write-tokens", "add-cost", "add-input-tokens", "add-output-tokens",
		"cache-read-tokens", "cache-write-tokens", "cost", "done", "error", "input-tokens", "message", "model",
		"output-tokens", "quota-reset", "session", "status", "text", "tool", "tool-end", "tool-error",
	}
}

// argv is the user's command line, and the prompt or its file where it is an
// argument.
func (custom) argv(o Options, p ralph.Prompt) []string {
	argv := append(command(o, ""), o.Args...)
	switch o.Delivery {
	case "argument":
		return append(argv, operand(p.Text))
	case "file":
		return append(argv, p.Text)
	}
	return argv
}

func (custom) environ(o Options) []string { return without(o.Env, "CLAUDECODE") }

// extras has nothing to make; it is where the description is checked.
func (c custom) extras(o Options) ([]extra, error) {
	if len(o.Command) == 0 {
		return nil, errors.New("needs agent-command, the program that is the agent")
	}
	if !slices.Contains([]string{"", "stdin", "argument", "file"}, o.Delivery) {
		return nil, fmt.Errorf("agent-prompt %q: must be stdin, argument or file", clip(o.Delivery, maxName))
	}
	if o.Delivery == "file" && o.Scratch == "" {
		return nil, errors.New("agent-prompt: file needs a folder for files")
	}
	const instead = "write it into agent-args"
	if err := errors.Join(
		refuse("model", o.Model, instead+", and into the filter model if its tokens are to be priced"),
		refuse("effort", o.Effort, instead), refuse("provider", o.Provider, instead), refuse("base-url", o.BaseURL, instead),
		refuse("mcp-config", o.MCP, instead), refuse("agent-settings", o.Settings, instead),
	); err != nil {
		return nil, err
	}
	_, err := c.compile(o)
	return nil, err
}

// compile is the code of each filter. All that is wrong with them is told at once.
func (custom) compile(o Options) (map[string]*filterCode, error) {
	var errs []error
	codes := make(map[string]*filterCode, len(o.Filters))
	names := make([]string, 0, len(o.Filters))
	for name := range o.Filters {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if !slices.Contains(customFilters(), name) {
			errs = append(errs, fmt.Errorf("agent-filters: %q is unknown; known are %s", clip(name, maxName), strings.Join(customFilters(), ", ")))
			continue
		}
		if _, both := o.Filters["add-"+name]; both {
			errs = append(errs, fmt.Errorf("agent-filters: %s is the sum so far and add-%s is what a line adds to it; give one of them", name, name))
		}
		code, err := compileFilter(o.Filters[name])
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
		codes["text"], _ = compileFilter(o.Filter) // New says what is wrong with it
	}
	return codes, errors.Join(errs...)
}

func (custom) ways(o Options) ways {
	return ways{argument: o.Delivery == "argument" || o.Delivery == "file", file: o.Delivery == "file"}
}

func (c custom) decoder(o Options, p ralph.Prompt, emit func(ralph.Event), finished func()) decoder {
	codes, _ := c.compile(o) // New refused what does not compile
	return newCustomDecoder(codes, o, p, emit, finished)
}
