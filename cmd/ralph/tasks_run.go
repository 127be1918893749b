package main

// tasksRunCmd is the loop of seed 003.
type tasksRunCmd struct{ deskFlags }

// Run works through the task list.
func (c *tasksRunCmd) Run(a *app, done *exit) error {
	return a.desk(desk{mode: "tasks", flags: c.values(), verbose: c.Verbose}, done)
}
