package agent

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain serves the agents the tests start: this binary under another name.
func TestMain(m *testing.M) {
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
		time.Sleep(time.Hour) // without cgo, Go ends a program in which nothing can ever happen
	case "half": // dies in the middle of its second to last line
		lines := strings.SplitAfter(string(stream), "\n")
		n := len(lines) - 3
		_, _ = os.Stdout.WriteString(strings.Join(lines[:n], "") + lines[n][:len(lines[n])/2])
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		time.Sleep(time.Hour)
	case "flood":
		for {
			_, _ = os.Stdout.Write(stream)
		}
	case "count":
		b, _ := io.ReadAll(os.Stdin)
		fmt.Printf("read %d bytes, args %q, CLAUDECODE=%q\n", len(b), os.Args[1:], os.Getenv("CLAUDECODE"))
	case "answer": // leaves its answer in the file it is told, as AGENT_ANSWER says
		_, _ = io.Copy(io.Discard, os.Stdin)
		return answer(os.Getenv("AGENT_ANSWER"))
	case "task": // prints what it was told, from the file too
		b, _ := io.ReadAll(os.Stdin)
		arg := os.Args[len(os.Args)-1]
		fmt.Printf("stdin %d, argument %d\n", len(b), len(arg))
		for word := range strings.FieldsSeq(arg) {
			if info, err := os.Stat(word); err == nil && info.Mode().IsRegular() {
				task, _ := os.ReadFile(word)
				fmt.Printf("file of %d bytes, mode %v, ends %q\n", len(task), info.Mode().Perm(), task[len(task)-8:])
			}
		}
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

func answer(how string) int {
	const text = "It is done.\nDONE in a file\n"
	i := slices.Index(os.Args, "-o")
	if i < 0 {
		fmt.Println("no -o")
		return 0
	}
	path := os.Args[i+1]
	fmt.Println("DONE on stdout")
	_, _ = fmt.Fprintln(os.Stderr, "user\nsay DONE on stderr")
	switch how {
	case "file":
		_ = os.WriteFile(path, []byte(text), 0o644)
	case "link":
		_ = os.WriteFile(path+".real", []byte(text), 0o644)
		_ = os.Symlink(path+".real", path)
	case "pipe":
		_ = syscall.Mkfifo(path, 0o644)
	case "giant":
		_ = os.WriteFile(path, []byte(strings.Repeat("x", 3<<20)), 0o644)
	case "fails":
		_ = os.WriteFile(path, nil, 0o644)
		return 1
	}
	return 0
}
