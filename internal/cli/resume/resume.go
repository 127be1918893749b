// Package resume says how a run goes on: with which flags, and what remains of its
// limits.
package resume

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/cli/flagset"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/lib/lazyregexp"
	"github.com/org/ralph-action/internal/lib/printable"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/gitdir"
	"github.com/org/ralph-action/internal/report/words"
	"github.com/org/ralph-action/internal/run/lastrun"
)

// Check returns why nobody can go on with a run; nil if one can.
func Check(last lastrun.Run, state lastrun.State) error {
	switch {
	case state == lastrun.Starting, state == lastrun.Running:
		return fmt.Errorf("the last run still goes on (pid %d): ralph status says what it does", last.PID)
	case state == lastrun.Ended && last.End.Outcome == ralph.Completed:
		return fmt.Errorf("the last run completed its task. To start anew: %s", commandLine(last))
	case last.Mode == config.ModeSession:
		return fmt.Errorf("a session ends with its run, and its context with it. To start anew: %s", commandLine(last))
	case len(last.Command.Withheld) > 0:
		return fmt.Errorf("the last run had a secret in --%s, which is not kept: give its command again", strings.Join(last.Command.Withheld, ", --"))
	}
	return nil
}

// commandLine is how a run was started, with flags for what was given as words.
func commandLine(run lastrun.Run) string {
	command := []string{"ralph", run.Mode}
	if run.Mode == config.ModeTasks {
		command = append(command, "run")
	}
	for _, name := range slices.Sorted(maps.Keys(run.Command.Flags)) {
		for _, value := range flagset.Times(name, run.Command.Flags[name]) {
			command = append(command, "--"+name+"="+Word(value))
		}
	}
	return strings.Join(command, " ")
}

// plainWord is what a shell takes as it is.
var plainWord = lazyregexp.New(`^[\w./:@%+,=-]+$`)

// Word is a value as one pastes it into a shell: one line, and nothing in it that a
// terminal would obey.
func Word(value string) string {
	switch {
	case plainWord.MatchString(value):
		return value
	case printable.Clean(value, len(value)) == value:
		return config.ShellWords([]string{value})
	}
	var b strings.Builder
	for _, c := range []byte(value) {
		switch {
		case c == '\n':
			b.WriteString(`\n`)
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\%03o`, c)
		case c == '\'' || c == '\\':
			b.WriteByte('\\')
			fallthrough
		default:
			b.WriteByte(c)
		}
	}
	return "$'" + b.String() + "'"
}

// changes names the files of configuration and task that are not what they were.
func changes(last lastrun.Run, cfg config.Config) []string {
	then, now := last.Command.Files, lastrun.Digests(last.Workspace, append(slices.Collect(maps.Keys(last.Command.Files)), cfg.Files()...))
	return slices.DeleteFunc(slices.Sorted(maps.Keys(now)), func(name string) bool {
		was, known := then[name]
		return known && was == now[name]
	})
}

// More is what a person gives a run that goes on.
type More struct {
	Iterations, CostUSD, TotalCostUSD, Tokens, Duration string // empty: what remains
	Changed                                             bool   // files of configuration and task may have changed
}

// Way is how a run goes on.
type Way struct {
	Flags   map[string]string
	Opening string           // the line that says so
	Limits  map[string]int64 // of which the flags have what remains, see [lastrun.Run]
}

// Plan is how a run goes on whose configuration is cfg now.
func Plan(last lastrun.Run, state lastrun.State, cfg config.Config, more More) (Way, error) {
	if changed := changes(last, cfg); len(changed) > 0 && !more.Changed {
		return Way{}, fmt.Errorf("changed since the last run: %s. To go on with what it says now: ralph resume --changed", strings.Join(changed, ", "))
	}
	if here := gitdir.Branch(last.Workspace); !last.Ours && here != last.Branch {
		return Way{}, fmt.Errorf("the last run worked on %s, and %s is checked out: git switch %[1]s, or start anew", branchName(last.Branch), branchName(here))
	}
	flags := maps.Clone(last.Command.Flags)
	if last.Ours {
		flags["branch"], flags["branch-suffix"] = last.Branch, "none"
	}
	if last.Ours && last.Base != "" && cfg.Git.Base == "" && state == lastrun.Ended {
		flags["base"] = last.Base
	}
	remain, limits, err := more.limits(last, cfg, flags)
	if err != nil {
		return Way{}, err
	}
	how := "was killed"
	if state == lastrun.Ended {
		how = "ended"
	}
	how += " after " + words.Plural(last.Done, "iteration")
	if state == lastrun.Ended {
		how += " (" + cmp.Or(last.End.Limit, string(last.End.Outcome)) + ")"
	}
	opening := fmt.Sprintf("Going on with the run of %s, which %s: %s.", words.Stamp(last.Started), how, cmp.Or(strings.Join(remain, ", "), "no limit"))
	return Way{Flags: flags, Opening: opening, Limits: limits}, nil
}

// limits puts what remains of a run's limits into the flags, and says it.
func (m More) limits(last lastrun.Run, cfg config.Config, flags map[string]string) (remain []string, limits map[string]int64, err error) {
	limits = map[string]int64{}
	used := last.Used.Add(last.Turn)
	spent := last.Seen.Sub(last.Started)
	if last.End != nil {
		spent = last.End.Duration
	}
	iterations := "max-iterations"
	if _, given := flags["max-restarts"]; given || last.Mode == config.ModeSupervise {
		iterations = "max-restarts"
	}
	set := func(name, value string) {
		if name == iterations {
			for _, other := range []string{"maximum-iterations", "max-iterations", "max-restarts"} {
				delete(flags, other)
			}
			if value == "0" { // no limit, which is no number of restarts
				name = "max-iterations"
			}
		}
		flags[name] = value
	}
	for _, l := range []struct {
		name, given string
		limit, used int64
		least       bool // more may be used
		flag, words func(int64) string
		unit        string
	}{
		{iterations, m.Iterations, int64(cfg.Loop.MaxIterations), int64(last.Done), false, number, number, " iterations"},
		{"max-cost-usd", m.CostUSD, int64(cfg.Limits.Cost), int64(used.Cost.Amount), used.Cost.Unknown, dollars, func(n int64) string { return ralph.MicroUSD(n).String() }, ""},
		{"max-total-cost-usd", m.TotalCostUSD, 0, 0, false, nil, nil, ""}, // counts the runs before
		{"max-tokens", m.Tokens, cfg.Limits.Tokens, used.Tokens.Total(), used.Tokens.Unknown, number, number, " tokens"},
		{"max-duration", m.Duration, int64(cfg.Limits.Duration), int64(spent), false, duration, func(n int64) string { return words.Span(time.Duration(n)) }, ""},
	} {
		left, whole := l.limit-l.used, cmp.Or(last.Limits[l.name], l.limit)
		switch {
		case l.given != "":
			set(l.name, l.given)
			remain = append(remain, "given --"+l.name+"="+printable.Clean(l.given, 40))
		case l.limit == 0:
		case left <= 0:
			return nil, nil, fmt.Errorf("the last run has used up its %s (%s). To give it more: ralph resume --%s=…", l.name, l.words(whole), l.name)
		default:
			set(l.name, l.flag(left))
			limits[l.name] = whole
			remain = append(remain, fmt.Sprintf("%s%s of %s%s remain", map[bool]string{true: "at most "}[l.least], l.words(left), l.words(whole), l.unit))
		}
	}
	return remain, limits, nil
}

func number(n int64) string  { return strconv.FormatInt(n, 10) }
func dollars(n int64) string { return fmt.Sprintf("%d.%06d", n/int64(ralph.USD), n%int64(ralph.USD)) }
func duration(n int64) string {
	return time.Duration(max(n, int64(time.Second))).Round(time.Second).String()
}

func branchName(name string) string {
	return cmp.Or(printable.Clean(name, 200), "no branch")
}
