package main

// tasksCmd are the commands about a task list.
type tasksCmd struct {
	Run tasksRunCmd `cmd:"" help:"Work through the task list: implement, review, fix, review again."`
}
