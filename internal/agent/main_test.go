package agent

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/org/ralph-action/internal/proc"
	"github.com/org/ralph-action/internal/sandbox"
)

// TestMain serves the supervisor's hidden commands and the agents the tests
// start: this binary under another name.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "sandbox-init":
			os.Exit(proc.InitMain(os.Stderr))
		case "sandbox-exec":
			os.Exit(sandbox.ExecMain(os.Args[2:], os.Environ()))
		}
	}
	if role := os.Getenv("AGENT_ROLE"); role != "" {
		os.Exit(play(role))
	}
	os.Exit(m.Run())
}

// play is an agent that behaves in one of many ways. AGENT_FILE is what it
// prints.
func play(role string) int {
	stream, _ := os.ReadFile(os.Getenv("AGENT_FILE"))
	if os.Args[len(os.Args)-1] == "--version" && role != "broken" {
		fmt.Println("2.1.197 (Claude Code)")
		return 0
	}
	switch role {
	case "print": // reads its prompt, prints, exits well
		n, _ := io.Copy(io.Discard, os.Stdin)
		_, _ = os.Stdout.Write(stream)
		_, _ = fmt.Fprintf(os.Stderr, "prompt of %d bytes", n)
	case "fail":
		_, _ = os.Stdout.Write(stream)
		_, _ = fmt.Fprintln(os.Stderr, "error: unknown option '--no-such-flag'")
		return 1
	case "deaf": // never reads its prompt
		_, _ = os.Stdout.Write(stream)
	case "hang": // says everything and stays
		_, _ = os.Stdout.Write(stream)
		select {}
	case "half": // dies in the middle of its second to last line
		lines := strings.SplitAfter(string(stream), "\n")
		n := len(lines) - 3
		_, _ = os.Stdout.WriteString(strings.Join(lines[:n], "") + lines[n][:len(lines[n])/2])
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "flood":
		for {
			_, _ = os.Stdout.Write(stream)
		}
	case "count":
		b, _ := io.ReadAll(os.Stdin)
		fmt.Printf("read %d bytes, args %q, CLAUDECODE=%q\n", len(b), os.Args[1:], os.Getenv("CLAUDECODE"))
	case "both":
		fmt.Println("one")
		_, _ = fmt.Fprintln(os.Stderr, "two")
		fmt.Println("three")
	case "not-found":
		_, _ = fmt.Fprintln(os.Stderr, "sh: 1: claude: not found")
		return 127
	case "broken":
		_, _ = fmt.Fprintln(os.Stderr, "Error: native binary is missing\nrun npm again")
		return 1
	}
	return 0
}
