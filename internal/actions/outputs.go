package actions

import (
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
	"github.com/org/ralph-action/internal/ralph"
)

// SetOutput hands a value to later steps. The names are those of action.yml;
// each has an alphabet, so that no value can carry text of the agent's or end
// its line. An empty value is one that is not known, such as the pull request
// of a run without one. Without GITHUB_OUTPUT, values are checked and dropped.
//
// Call it when the agent is dead. An error that wraps ErrChanged tells that
// the value is written and foreign text is gone; after any other it is not
// written.
func (r *Runner) SetOutput(name, value string) error {
	valid, ok := outputs()[name]
	if !ok {
		return fmt.Errorf("output %q is not one of this action's", name)
	}
	if len(value) > 4096 || value != "" && !valid(value) {
		return fmt.Errorf("output %s: %q is no value for it", name, truncate(value, 100))
	}
	delimiter := "ralph_" + token()
	for strings.Contains(value, delimiter) {
		delimiter = "ralph_" + token()
	}
	return r.outputs.append([]byte(name + "<<" + delimiter + "\n" + value + "\n" + delimiter + "\n"))
}

// outputs are the checks of the outputs' values, by their names.
func outputs() map[string]func(string) bool {
	isBool := func(v string) bool { return v == "true" || v == "false" }
	// A branch's name is one that a shell takes for one word, because outputs end up in
	// run: lines.
	isBranch := func(v string) bool { return ralph.CheckBranch(v) == nil }
	return map[string]func(string) bool{
		"status":    func(v string) bool { return ralph.Outcome(v).Known() },
		"checks":    oneOf(ralph.ChecksPassed, ralph.ChecksFailed, ralph.ChecksPending, ralph.ChecksNone),
		"completed": isBool, "iterations": integer.MatchString, "input-tokens": orUnknown(integer), "output-tokens": orUnknown(integer),
		"cost-usd": orUnknown(decimal), "duration-seconds": decimal.MatchString, "branch": isBranch, "head-sha": sha.MatchString, "report-path": isPath, "lane-dir": isPath,
		"pull-request-number": integer.MatchString, "pull-request-url": isURL, "pull-request-branch": isBranch, "pull-request-head-sha": sha.MatchString,
		"pull-request-commits-verified": isBool,
		"next":                          isBool, "wave": integer.MatchString, "integrated": integer.MatchString, "returned": integer.MatchString,
		"pull-request-operation": oneOf(ralph.OperationNone, ralph.OperationCreated, ralph.OperationUpdated, ralph.OperationClosed),
	}
}

func oneOf[T ~string](words ...T) func(string) bool {
	return func(v string) bool { return slices.Contains(words, T(v)) }
}

var (
	integer = lazyregexp.New(`^[0-9]{1,18}$`)
	decimal = lazyregexp.New(`^[0-9]{1,15}(\.[0-9]{1,9})?$`)
	sha     = lazyregexp.New(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
	address = lazyregexp.New(`^https?://[A-Za-z0-9._:\[\]-]+(/[A-Za-z0-9._~%@+-]+)*/?$`)
)

func orUnknown(re *lazyregexp.Regexp) func(string) bool {
	return func(v string) bool { return v == "unknown" || re.MatchString(v) }
}

func isPath(v string) bool {
	return isName(v, "._/", " ._/+@#=,~:-") && path.Clean(v) == v && (path.IsAbs(v) || filepath.IsLocal(v))
}

// isName reports whether v is made of letters, marks, digits and the given others, of
// which some may stand first. A regular expression with these classes and a
// count costs 10 MB and tens of milliseconds at every start of the binary.
func isName(v, first, others string) bool {
	also := first
	for _, r := range v {
		if !unicode.In(r, unicode.L, unicode.M, unicode.N) && !strings.ContainsRune(also, r) {
			return false
		}
		also = others
	}
	return v != ""
}

func isURL(v string) bool {
	u, err := url.Parse(v)
	return err == nil && u.Host != "" && address.MatchString(v)
}
