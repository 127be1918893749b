package ralph

import (
	"fmt"
	"strings"
)

// Listed names a few of many.
func Listed(names []string) string {
	const most = 10
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// Option is how an input is given, for a sentence that people read: a flag where the
// run was started by a command, else an input of the action.
func Option(command bool, name, value string) string {
	switch {
	case !command:
		return name + ": " + value
	case value == "true":
		return "--" + name
	}
	return "--" + name + " " + value
}
