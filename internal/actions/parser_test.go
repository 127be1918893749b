package actions

import (
	"regexp"
	"strings"
	"unicode"
)

// parsed is a line that the runner takes for a command. props are its
// properties as the runner reads them, "key=value" in order.
type parsed struct{ name, data, props string }

// parser reads a log as actions/runner 2.336 does (ActionCommand.cs,
// ActionCommandManager.cs), with two simplifications that make it stricter:
// every name is a registered command, and characters that .NET's comparison
// ignores are ignored everywhere.
type parser struct{ stop string }

var (
	lineEnd    = regexp.MustCompile(`\r\n|\n|\r`)
	bracketed  = regexp.MustCompile(`##\[([^\]]+)\](.*)`)
	unescapers = strings.NewReplacer("%0D", "\r", "%0A", "\n", "%25", "%")
	properties = strings.NewReplacer("%0D", "\r", "%0A", "\n", "%3A", ":", "%2C", ",", "%25", "%")
)

// obeyed lists the commands that the runner carries out.
func (p *parser) obeyed(log string) []parsed {
	var all []parsed
	for _, line := range lineEnd.Split(log, -1) {
		c, ok := parseLine(line)
		switch {
		case !ok:
		case p.stop != "":
			if c.name == p.stop {
				p.stop = ""
			}
		case c.name == "stop-commands":
			p.stop = c.data
		default:
			all = append(all, c)
		}
	}
	return all
}

func parseLine(line string) (parsed, bool) {
	line = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) || r == 0 {
			return -1
		}
		return r
	}, strings.ToValidUTF8(line, "\uFFFD"))
	if rest, ok := strings.CutPrefix(strings.TrimLeftFunc(line, unicode.IsSpace), "::"); ok {
		if head, data, ok := strings.Cut(rest, "::"); ok {
			if name, list, _ := strings.Cut(head, " "); name != "" {
				var props []string
				for pair := range strings.SplitSeq(list, ",") { // empty ones are dropped
					if key, value, ok := strings.Cut(strings.TrimSpace(pair), "="); ok && key != "" && value != "" {
						props = append(props, key+"="+properties.Replace(value))
					}
				}
				return parsed{strings.ToLower(name), unescapers.Replace(data), strings.Join(props, ";")}, true
			}
		}
	}
	if m := bracketed.FindStringSubmatch(line); m != nil {
		name, _, _ := strings.Cut(m[1], " ")
		return parsed{name: strings.ToLower(name), data: m[2]}, true
	}
	return parsed{}, false
}

// commands lists the lines that look like commands, whether or not the runner
// listens.
func commands(log string) []parsed {
	var all []parsed
	for _, line := range lineEnd.Split(log, -1) {
		if c, ok := parseLine(line); ok {
			all = append(all, c)
		}
	}
	return all
}

// entry is an output as the runner reads it from GITHUB_OUTPUT.
type entry struct{ name, value string }

// entries reads a command file with heredocs (FileCommandManager.cs).
func entries(text string) (all []entry, ok bool) {
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		if lines[i] == "" {
			continue
		}
		equals, heredoc := strings.Index(lines[i], "="), strings.Index(lines[i], "<<")
		if equals >= 0 && (heredoc < 0 || equals < heredoc) {
			all = append(all, entry{lines[i][:equals], lines[i][equals+1:]})
			continue
		}
		name, delimiter, found := strings.Cut(lines[i], "<<")
		if !found || name == "" || delimiter == "" {
			return all, false
		}
		var value []string
		for i++; ; i++ {
			if i == len(lines) {
				return all, false
			}
			if lines[i] == delimiter {
				break
			}
			value = append(value, lines[i])
		}
		all = append(all, entry{name, strings.Join(value, "\n")})
	}
	return all, true
}
