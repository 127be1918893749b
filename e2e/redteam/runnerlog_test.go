package redteam

import (
	"regexp"
	"strings"
	"unicode"
)

var (
	lineEnd   = regexp.MustCompile(`\r\n|\n|\r`)
	bracketed = regexp.MustCompile(`##\[([^\]]+)\](.*)`)
)

// runnerCommands are the lines of a log that actions/runner 2.336 would carry
// out (ActionCommand.cs, ActionCommandManager.cs), each as "name data". It is
// stricter: every name is a command, and what .NET ignores in comparisons is
// ignored everywhere.
func runnerCommands(log string) []string {
	var all []string
	stop := ""
	for _, line := range lineEnd.Split(log, -1) {
		name, data, ok := runnerCommand(line)
		switch {
		case !ok:
		case stop != "":
			if name == stop {
				stop = ""
			}
		case name == "stop-commands":
			stop = strings.ToLower(data)
			all = append(all, name+" "+data)
		default:
			all = append(all, name+" "+data)
		}
	}
	return all
}

func runnerCommand(line string) (name, data string, ok bool) {
	line = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) || r == 0 {
			return -1
		}
		return r
	}, strings.ToValidUTF8(line, "\uFFFD"))
	if rest, is := strings.CutPrefix(strings.TrimLeftFunc(line, unicode.IsSpace), "::"); is {
		if head, data, is := strings.Cut(rest, "::"); is {
			if name, properties, _ := strings.Cut(head, " "); name != "" {
				return strings.ToLower(name), strings.TrimSpace(properties + " " + data), true
			}
		}
	}
	if m := bracketed.FindStringSubmatch(line); m != nil {
		name, properties, _ := strings.Cut(m[1], " ")
		return strings.ToLower(name), strings.TrimSpace(properties + " " + m[2]), true
	}
	return "", "", false
}
