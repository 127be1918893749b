package sandbox

// ExecMain is what remains of a hidden command that nothing starts any more.
func ExecMain(args, environ []string) int { return 126 }
