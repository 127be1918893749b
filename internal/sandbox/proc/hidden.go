package proc

import "os"

// The hidden command sandbox-init is served here and not by main: every child of a
// run starts with it, and the tables and regular expressions of the packages that
// are initialised after this one, which it has no use for, are most of its start.
// A goroutine, because initialisation is locked to one thread, and waking that
// costs more.
func init() {
	if len(os.Args) > 1 && os.Args[1] == "sandbox-init" {
		code := make(chan int)
		go func() { code <- supervise(os.Stderr) }()
		os.Exit(<-code) //nolint:forbidigo // in place of main
	}
}
