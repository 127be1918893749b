package main

// sessionCmd is one agent session kept going until its promise. 004
type sessionCmd struct {
	deskFlags
	Task string `arg:"" optional:"" name:"task" help:"The task."`
}

// Run keeps a session going.
func (c *sessionCmd) Run(a *app, done *exit) error {
	return a.desk(desk{mode: "session", flags: c.values(), verbose: c.Verbose}, done)
}
