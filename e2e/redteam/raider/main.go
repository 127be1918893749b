//go:build e2e && linux

// Command raider is what the attacks of package redteam are made of, built
// static and mounted into the container: the agent that runs them one after
// the other, system calls a shell cannot make, and the canary that sees what
// arrives. Every deed exits with 0 when it got what it wanted, with 77 when the
// machine cannot show it, and with 1 when it was refused.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// errCannot says that this machine cannot show the attack, sandboxed or not.
var errCannot = errors.New("cannot be shown here")

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: raider DEED [ARGUMENT...]")
		os.Exit(2)
	}
	deeds := map[string]func([]string) error{
		"battery": battery,
		"canary":  canary,
		"claude":  claude,
		"connect": connect,
		"via":     via,
		"race":    race,
		"mem":     onProcess(readMemory),
		"vmread":  onProcess(vmRead),
		"ptrace":  onProcess(attach),
		"pidfd":   onProcess(stealDescriptor),
		"signal":  onProcess(signalTo),
		"limit":   onProcess(limitOther),
		"idle":    onProcess(idleOther),
		"pid":     number,
		"speak":   speak,
		"worker":  worker,
		"stay":    stay,
		"ipc":     ipc,
		"sys":     call,
		"survive": survive,
		"swap":    swap,
		"flood":   flood,
	}
	deed, ok := deeds[os.Args[1]]
	if !ok {
		fmt.Fprintf(os.Stderr, "raider: no deed %q\n", os.Args[1])
		os.Exit(2)
	}
	switch err := deed(os.Args[2:]); {
	case err == nil:
	case errors.Is(err, errCannot):
		fmt.Println(strings.TrimSpace(err.Error()))
		os.Exit(77)
	default:
		fmt.Println("refused:", err)
		os.Exit(1)
	}
}

// mark is what every packet and file of an attack holds, so that whoever sees it
// knows whose it is.
func mark() string { return "RT:" + os.Getenv("RT_ID") + ":" + os.Getenv("RT_RUN") + ";" }

// rest is the i-th argument, or a default.
func rest(args []string, i int, otherwise string) string {
	if i < len(args) {
		return args[i]
	}
	return otherwise
}
