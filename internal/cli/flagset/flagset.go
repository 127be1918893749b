// Package flagset makes the flags of a command from the table of inputs.
package flagset

import (
	"cmp"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/config/input"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Flags are the inputs as flags of a command. Its fields do not exist before
// run time: they are made from the table, so that the two cannot differ.
//
//	var cli struct { Run struct { kong.Plugins } `cmd:""` }
//	flags := flagset.New("run", nil, false, nil)
//	cli.Run.Plugins = kong.Plugins{flags.Target()}
type Flags struct {
	target reflect.Value
	shorts map[string]rune // letters by the names of their flags
}

// New declares the flags of a mode's command; nothing is set. defaults are
// the command's own, as in [config.LoadOptions], for the help. With short, that is one
// short list of what most users of the mode need. With args, it has only flags that
// these may name: to declare all takes longer than to start the agent.
func New(mode string, defaults map[string]string, short bool, args []string) Flags {
	var fields []reflect.StructField
	letters := map[string]rune{}
	own := shorts(mode)
	for _, in := range config.Inputs() {
		if in.NoFlag {
			continue
		}
		if short, ok := own[in.Name]; ok {
			in.Short = short
		} else if slices.Contains(slices.Collect(maps.Values(own)), in.Short) {
			in.Short = 0
		}
		if in.Short != 0 {
			letters[in.Name] = in.Short
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
			if args != nil && !slices.ContainsFunc(args, func(arg string) bool { return mayName(arg, name, in.Short) }) {
				continue
			}
			fields = append(fields, reflect.StructField{
				Name: fieldName(name),
				Type: fieldType(in),
				Tag:  fieldTag(in, name, help, hidden || name != in.Name),
			})
		}
	}
	return Flags{reflect.New(reflect.StructOf(fields)), letters}
}

// mayName reports whether an argument can be the flag: by its name or the beginning of
// that, negated, or among letters.
func mayName(arg, name string, letter rune) bool {
	long, ok := strings.CutPrefix(arg, "--")
	if !ok {
		return letter != 0 && strings.HasPrefix(arg, "-") && strings.ContainsRune(arg, letter)
	}
	long, _, _ = strings.Cut(long, "=")
	return strings.HasPrefix(name, long) || strings.HasPrefix("no-"+name, long)
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

// Target is the pointer to a struct with kong's tags. Flags that were not
// given stay nil in it.
func (f Flags) Target() any { return f.target.Interface() }

// Values are the flags that were given, by the name that was typed, for
// [config.LoadOptions]. A flag that was repeated gives one line per time.
func (f Flags) Values() map[string]string {
	values := map[string]string{}
	for _, in := range config.Inputs() {
		if in.NoFlag {
			continue
		}
		for _, name := range in.Names() {
			field := f.target.Elem().FieldByName(fieldName(name))
			if !field.IsValid() || field.IsNil() {
				continue
			}
			switch v := field.Interface().(type) {
			case *string:
				values[name] = *v
			case *bool:
				values[name] = strconv.FormatBool(*v)
			case []string:
				values[name] = strings.Join(v, "\n")
			}
		}
	}
	return values
}

// Times are the values with which a flag is given to get one of [Flags.Values].
func Times(name, value string) []string {
	repeated := func(in input.Input) bool {
		return slices.Contains(in.Names(), name) && fieldType(in).Kind() == reflect.Slice
	}
	if slices.ContainsFunc(config.Inputs(), repeated) {
		return strings.Split(value, "\n")
	}
	return []string{value}
}

// Typed tells of the flags whose letter is in a command line what was typed, for
// [config.LoadOptions.Words].
func (f Flags) Typed(args []string) map[string]string {
	typed := map[string]string{}
	for name, letter := range f.shorts {
		for _, arg := range args {
			if arg == "--" {
				break
			}
			if strings.HasPrefix(arg, "-"+string(letter)) {
				typed[name] = "flag -" + string(letter)
			}
			if long, _, _ := strings.Cut(arg, "="); long == "--"+name {
				delete(typed, name)
				break
			}
		}
	}
	return typed
}

func fieldName(name string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(name, "-") {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

func fieldType(in input.Input) reflect.Type {
	switch in.Kind {
	case input.Bool:
		return reflect.TypeFor[*bool]()
	case input.Lines, input.Names, input.GuardrailList:
		return reflect.TypeFor[[]string]()
	default:
		return reflect.TypeFor[*string]()
	}
}

// fieldTag describes the flag to kong. Another name is a flag of its own, which
// --help does not list: kong's aliases do not tell which name was typed. What the
// mode refuses is hidden as well, and still read, so that the error says why.
func fieldTag(in input.Input, name, help string, hidden bool) reflect.StructTag {
	tag := "name:" + strconv.Quote(name) + " help:" + strconv.Quote(help)
	if in.Group != "" {
		tag += " group:" + strconv.Quote(in.Group)
	}
	if hidden {
		tag += ` hidden:""`
	}
	if name == in.Name && in.Short != 0 {
		tag += " short:" + strconv.Quote(string(in.Short))
	}
	if in.Placeholder != "" {
		tag += " placeholder:" + strconv.Quote(in.Placeholder)
	}
	switch in.Kind {
	case input.Choice: // kong must not know: the error is the configuration's
		tag += " values:" + strconv.Quote(strings.Join(in.Enum, ","))
	case input.Path:
		tag += ` file:""`
	case input.Bool:
		tag += ` negatable:""`
	case input.GuardrailList: // `ralph init` had another word for it
		tag += ` sep:"none" aliases:"guardrail"`
	case input.Lines, input.Names:
		tag += ` sep:"none"`
	}
	return reflect.StructTag(tag)
}

// flagHelp is the help with the default, which kong must not know: it would
// count a default as a flag that was given.
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
	code := false
	help := strings.Map(func(r rune) rune { // a setting with its value is one word
		if r == '`' {
			code = !code
			return -1
		} else if code && r == ' ' {
			return '\u00a0'
		}
		return r
	}, in.Help)
	help = strings.TrimPrefix(help, "Mode tasks: ")
	for _, end := range []string{". ", ": ", "; "} {
		help, _, _ = strings.Cut(help, end)
	}
	help = strings.ReplaceAll(help, "\u00a0", " ")
	help = strings.TrimSuffix(help, ".")
	help, _, _ = strings.Cut(help, ", such as")
	if len(in.Enum) > 0 {
		help += ": " + strings.Join(in.Enum, ", ")
	}
	help = strings.ToUpper(help[:1]) + help[1:] + "."
	if k := in.Kind; k == input.Lines || k == input.Names || k == input.GuardrailList {
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
