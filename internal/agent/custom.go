package agent

// custom is any CLI, described by options.
type custom struct{ text }
