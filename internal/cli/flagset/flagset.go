// Package flagset makes the flags of a command from the table of inputs, and says what is
// wrong with those that were given.
package flagset

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/config/input"
)

// Annotations of flags, for those who show or complete them.
const (
	Group       = "group"       // what it is about, of a flag of the table
	Placeholder = "placeholder" // what stands for its value
	Values      = "values"      // those of a choice
)

// Register declares the inputs as flags of a mode's command. defaults are the command's
// own, as in [config.LoadOptions], for the help. With short, the help is one short list of what
// most users of the mode need.
//
// Another name of an input is a flag of its own, which --help does not list: it matters
// which one was typed. What the mode refuses is hidden as well, and still read, so that the
// error says why. No value is judged here: the errors are those of [config.Load].
func Register(fs *pflag.FlagSet, mode string, defaults map[string]string, short bool) {
	own := shorts(mode)
	letters := slices.Collect(maps.Values(own))
	for _, in := range config.Inputs() {
		if in.NoFlag {
			continue
		}
		if letter, ok := own[in.Name]; ok {
			in.Short = letter
		} else if slices.Contains(letters, in.Short) {
			in.Short = 0
		}
		in.Default = cmp.Or(defaults[in.Name], in.Default)
		if mode == config.ModeTasks && in.Name == "isolation" { // to leave it out is not what auto asks for
			in.Default, in.DefaultDoc = "", "a Docker Sandbox if there is one, else off; in the container auto"
		}
		help, hidden := flagHelp(in), !Listed(mode, in)
		if short {
			help, hidden, in.Group = briefHelp(in), hidden || !brief(mode, in), ""
		}
		if _, ok := own[in.Name]; ok && in.Short == 'm' {
			help += " Elsewhere -m is --max-iterations."
		}
		for _, name := range in.Names() {
			declare(fs, in, name, help, hidden || name != in.Name)
		}
	}
}

// declare adds the flag that an input has by one of its names.
func declare(fs *pflag.FlagSet, in input.Input, name, help string, hidden bool) {
	letter := ""
	if name == in.Name && in.Short != 0 {
		letter = string(in.Short)
	}
	if repeated(in) {
		fs.StringArrayP(name, letter, nil, help)
	} else {
		fs.StringP(name, letter, "", help)
	}
	f := fs.Lookup(name)
	f.Hidden = hidden
	f.Annotations = map[string][]string{Group: {in.Group}, Placeholder: {cmp.Or(in.Placeholder, "STRING")}, Values: in.Enum}
	switch in.Kind {
	case input.Bool:
		f.NoOptDefVal = "true"
		fs.BoolFunc("no-"+name, "", func(text string) error {
			return fs.Set(name, map[string]string{"true": "false", "false": "true"}[text])
		})
		fs.Lookup("no-" + name).Hidden = true
	case input.GuardrailList: // `ralph init` had another word for it
		Another(fs, "guardrail", name)
	}
}

// Another adds another name of a flag, which help does not tell of.
func Another(fs *pflag.FlagSet, other, name string) {
	fs.Func(other, "", func(text string) error { return fs.Set(name, text) })
	fs.Lookup(other).Hidden = true
}

// Called says what stands for the values of flags in the help.
func Called(fs *pflag.FlagSet, placeholder string, names ...string) {
	for _, name := range names {
		_ = fs.SetAnnotation(name, Placeholder, []string{placeholder}) // it was declared before
	}
}

// Listed reports whether the mode's --help has an input: not what it refuses, what only
// an event can mean, and what has no effect.
func Listed(mode string, in input.Input) bool {
	return !in.NoFlag && !config.Refuses(mode, in.Name) && in.Group != config.GroupTrigger && in.Name != "poll-interval"
}

// brief reports whether an input stands in the short help of a mode.
func brief(mode string, in input.Input) bool {
	names := []string{"agent", "model", "max-iterations", "guardrails", "max-cost-usd", "max-duration", "isolation", "commit"}
	switch mode {
	case config.ModeRun:
		names = append(names, "prompt", "prompt-file", "on-incomplete", "setup", "allowed-hosts", "branch")
	case config.ModeSupervise:
		names = []string{"agent", "guardrails", "max-restarts", "task-dir", "child-wait-timeout", "delay", "max-duration", "isolation"}
	case config.ModeTasks:
		return in.Group == config.GroupTasks && !slices.Contains([]string{"publish", "lane", "lanes", "review-cap-policy"}, in.Name) || slices.Contains(names, in.Name)
	}
	return slices.Contains(names, in.Name)
}

// Given are the flags of the table that were given, by the name that was typed, for
// [config.LoadOptions]. A flag that was repeated gives one line per time.
func Given(fs *pflag.FlagSet) map[string]string {
	values := map[string]string{}
	fs.Visit(func(f *pflag.Flag) {
		if f.Annotations[Group] == nil {
			return
		}
		values[f.Name] = f.Value.String()
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values[f.Name] = strings.Join(list.GetSlice(), "\n")
		}
	})
	return values
}

// Times are the values with which a flag is given to get one of [Given].
func Times(name, value string) []string {
	if slices.ContainsFunc(config.Inputs(), func(in input.Input) bool { return in.Called(name) && repeated(in) }) {
		return strings.Split(value, "\n")
	}
	return []string{value}
}

// repeated reports whether the flag may be given several times.
func repeated(in input.Input) bool {
	return in.Kind == input.Lines || in.Kind == input.Names || in.Kind == input.GuardrailList
}

// Typed tells of the given flags that have a letter what was typed, for [config.LoadOptions.Words].
func Typed(fs *pflag.FlagSet, args []string) map[string]string {
	typed := map[string]string{}
	fs.Visit(func(f *pflag.Flag) {
		for _, arg := range args {
			if arg == "--" {
				break
			}
			if f.Shorthand != "" && strings.HasPrefix(arg, "-"+f.Shorthand) {
				typed[f.Name] = "flag -" + f.Shorthand
			}
			if long, _, _ := strings.Cut(arg, "="); long == "--"+f.Name {
				delete(typed, f.Name)
				break
			}
		}
	})
	return typed
}

// flagHelp is the help with the default, which the flag itself does not have: what was
// not given is decided by files and by the mode.
func flagHelp(in input.Input) string {
	help := strings.ReplaceAll(in.Help, "`", "")
	if d := defaultText(in); d != "" {
		help += " Default: " + strings.TrimSuffix(d, ".") + "."
	}
	if len(in.Aliases) > 0 {
		help += " Also --" + strings.Join(in.Aliases, ", --") + "."
	}
	return help
}

// briefHelp is the first clause of the help, with the values of a choice.
func briefHelp(in input.Input) string {
	help := strings.TrimPrefix(strings.ReplaceAll(in.Help, "`", ""), "Mode tasks: ")
	for _, end := range []string{". ", ": ", "; "} {
		help, _, _ = strings.Cut(help, end)
	}
	help = strings.TrimSuffix(help, ".")
	help, _, _ = strings.Cut(help, ", such as")
	if len(in.Enum) > 0 {
		help += ": " + strings.Join(in.Enum, ", ")
	}
	help = strings.ToUpper(help[:1]) + help[1:] + "."
	if repeated(in) {
		help += " May be repeated."
	}
	if d := defaultText(in); d != "" {
		help += " Default: " + strings.TrimSuffix(d, ".") + "."
	}
	return help
}

func defaultText(in input.Input) string {
	switch {
	case in.Default == "0" && in.Zero != "":
		return "0 (" + in.Zero + ")"
	case in.Default != "":
		return in.Default
	}
	return strings.ReplaceAll(in.DefaultDoc, "`", "")
}

// shorts are the letters of flags that a mode has of its own, and takes from
// others.
func shorts(mode string) map[string]rune {
	if mode == config.ModeTasks {
		return map[string]rune{"max-iterations": 'n', "model": 'm'}
	}
	return nil
}
