package main

// cancelCmd ends a session loop.
type cancelCmd struct{}

// Run ends it.
func (cancelCmd) Run(*app) error { return nil }
