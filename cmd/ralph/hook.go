package main

// hookCmd answers the hooks of an agent CLI.
type hookCmd struct{}

// Run lets the agent go on.
func (hookCmd) Run(*app) error { return nil }
