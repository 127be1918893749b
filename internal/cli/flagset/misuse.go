package flagset

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/org/ralph-action/internal/lib/nearest"
)

// Dashed is the first flag whose value is the next word, and begins with a dash: more
// likely the value was forgotten.
func Dashed(fs *pflag.FlagSet, args []string) (name, value string) {
	for i, arg := range args[min(1, len(args)):] {
		if args[i] == "--" {
			break
		}
		if f := waiting(fs, args[i]); f != nil && len(arg) > 1 && arg[0] == '-' {
			return f.Name, arg
		}
	}
	return "", ""
}

// waiting is the flag in a word whose value is the next word; nil if there is none.
func waiting(fs *pflag.FlagSet, arg string) (f *pflag.Flag) {
	if name, long := strings.CutPrefix(arg, "--"); long {
		f = fs.Lookup(name)
	} else if letters, short := strings.CutPrefix(arg, "-"); short {
		for i := range len(letters) {
			f = fs.ShorthandLookup(letters[i : i+1])
			if f == nil || f.NoOptDefVal == "" && i+1 < len(letters) { // the rest is its value
				return nil
			}
		}
	}
	if f == nil || f.NoOptDefVal != "" {
		return nil
	}
	return f
}

// Explain says what is wrong with a flag, of an error of pflag.
func Explain(fs *pflag.FlagSet, err error) string {
	var (
		unknown *pflag.NotExistError
		missing *pflag.ValueRequiredError
		invalid *pflag.InvalidValueError
		syntax  *pflag.InvalidSyntaxError
	)
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		return "unknown flag -" + unknown.GetSpecifiedName()
	case errors.As(err, &unknown):
		var flags []string
		fs.VisitAll(func(f *pflag.Flag) { flags = append(flags, f.Name) })
		name := unknown.GetSpecifiedName()
		near := nearest.Of(name, flags)
		if near == "" {
			named := nearest.WithWord(name, flags)
			if len(named) == 0 {
				named = slices.DeleteFunc(flags, func(flag string) bool { return !strings.HasPrefix(flag, name) })
			}
			if len(named) == 1 {
				near = named[0]
			}
		}
		if near == "" {
			return "unknown flag --" + name
		}
		return fmt.Sprintf("unknown flag --%s, did you mean --%s?", name, near)
	case errors.As(err, &missing):
		return "--" + missing.GetFlag().Name + " needs a value"
	case errors.As(err, &invalid):
		give := map[string]string{"bool": "true or false", "int": "a whole number", "float64": "a number"}[invalid.GetFlag().Value.Type()]
		return fmt.Sprintf("--%s: %q is not allowed: give %s", invalid.GetFlag().Name, invalid.GetValue(), give)
	case errors.As(err, &syntax):
		return "unknown flag " + syntax.GetSpecifiedFlag()
	}
	return err.Error()
}
