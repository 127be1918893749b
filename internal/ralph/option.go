package ralph

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
