package actions

import (
	"fmt"
	"strings"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
)

// ParseEnv reads text that programs wrote for the runner into the file of GITHUB_ENV:
// NAME=value, or NAME<<WORD with the lines of the value up to one that is WORD. It returns
// NAME=value in the order of the text. The error says which line is wrong, and quotes
// nothing of it. Format: FileCommandManager.cs of actions/runner 2.336.
func ParseEnv(text string) ([]string, error) {
	var all []string
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line, at := lines[i], i+1
		if line == "" {
			continue
		}
		equals, heredoc := strings.Index(line, "="), strings.Index(line, "<<")
		name, value := "", ""
		switch {
		case equals >= 0 && (heredoc < 0 || equals < heredoc):
			name, value = line[:equals], line[equals+1:]
		case heredoc >= 0 && line[heredoc+2:] != "":
			name = line[:heredoc]
			end, first := line[heredoc+2:], i+1
			for i++; i < len(lines) && lines[i] != end; i++ {
			}
			if i == len(lines) {
				return nil, fmt.Errorf("line %d begins a value that has no end: a line with nothing but %q", at, end)
			}
			value = strings.Join(lines[first:i], "\n")
		default:
			return nil, fmt.Errorf("line %d is neither NAME=value nor NAME<<WORD", at)
		}
		if !variable.MatchString(name) {
			return nil, fmt.Errorf("line %d: before = or << stands the name of a variable, of letters, digits and _", at)
		}
		if strings.ContainsRune(value, 0) {
			return nil, fmt.Errorf("line %d: the value of %s contains a NUL character", at, name)
		}
		all = append(all, name+"="+value)
	}
	return all, nil
}

// variable is a name that a shell can set.
var variable = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
