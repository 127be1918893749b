package demo

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// maxPrompt bounds what the agent reads of its prompt.
const maxPrompt = 16 << 20

// promise is what the agent prints when it believes to be done.
const promise = "<promise>COMPLETE</promise>"

const (
	wrongFix   = "name=${1-World}"
	rightFix   = "name=${1:-World}"
	readmeLine = "Without a name, or with an empty one, it greets the whole world."
)

// said is what the agent says of its work, for commit and pull request.
const said = "<commit>Treat an empty name as no name</commit>\n<change>\nGreet the whole world when there is no name\n\n" +
	"`greet.sh` took a missing name for an empty one and greeted nobody. `${1:-World}` now stands for both, and the README says so.\n</change>"

// feedbackMark stands in every message of a failed guardrail.
const feedbackMark = `Guardrail "`

// Agent is a coding agent that follows a script: it reads its prompt from
// stdin, edits the demo's repository in dir and prints claude's stream-json.
// Its first fix forgets the empty name and claims to be complete; only when
// the prompt then carries a guardrail's feedback does it repair that. pause is
// the time it seems to think before each step; 0 is for tests. The result is
// the exit code.
func Agent(stdin io.Reader, stdout io.Writer, dir string, pause time.Duration) int {
	s := &stream{out: stdout, pause: pause, dir: dir, started: time.Now()}
	a := &actor{stream: s, dir: dir}
	prompt, err := io.ReadAll(io.LimitReader(stdin, maxPrompt))
	if err != nil {
		err = fmt.Errorf("read the prompt: %w", err)
	}
	source := ""
	if err == nil {
		source, err = a.load("greet.sh")
	}
	feedback := strings.Contains(string(prompt), feedbackMark)
	switch {
	case err != nil:
		s.session = "00000000-0000-4000-8000-000000000000"
		s.init()
	case strings.Contains(source, "name=$1\n"):
		s.session = "00000000-0000-4000-8000-000000000001"
		s.init()
		err = a.firstTry(source)
	case feedback && strings.Contains(source, wrongFix):
		s.session = "00000000-0000-4000-8000-000000000002"
		s.init()
		err = a.repair(source)
	default:
		s.session = "00000000-0000-4000-8000-000000000003"
		s.init()
		s.say("There is nothing left that I would change. " + promise)
	}
	s.result(err)
	if err != nil || s.err != nil {
		return 1
	}
	return 0
}

type actor struct {
	*stream
	dir string
}

func (a *actor) firstTry(source string) error {
	a.say("I will look at the program first.")
	a.tool("Read", map[string]any{"file_path": a.path("greet.sh")}, source, nil)
	a.say("Without an argument $1 is unset, so a default will do.")
	if err := a.edit("greet.sh", "name=$1", wrongFix); err != nil {
		return err
	}
	a.say("Done: greet.sh greets the whole world when it gets no name.\n\n<commit>Greet the whole world when no name is given</commit>\n" + promise)
	return nil
}

func (a *actor) repair(source string) error {
	a.say("The guardrail is right: an empty name is still greeted as nobody.")
	a.todo(1, 0)
	a.tool("Read", map[string]any{"file_path": a.path("greet.sh")}, source, nil)
	if err := a.edit("greet.sh", wrongFix, rightFix); err != nil {
		return err
	}
	a.todo(2, 1)
	readme, err := a.load("README.md")
	a.tool("Read", map[string]any{"file_path": a.path("README.md")}, readme, err)
	if err != nil {
		return err
	}
	const anchor = "Run the tests"
	if err := a.edit("README.md", anchor, readmeLine+"\n\n"+anchor); err != nil {
		return err
	}
	a.todo(0, 2)
	a.say("Now ${1:-World} covers both cases, and README.md says so.\n\n" + said + "\n" + promise)
	return nil
}

// todo prints the task list with the first done entries finished; active is
// the number of the one in work, counted from 1.
func (a *actor) todo(active, done int) {
	entries := []struct{ content, form string }{
		{"Treat an empty name as no name", "Treating an empty name as no name"},
		{"Say so in README.md", "Updating README.md"},
	}
	var todos []any
	for i, entry := range entries {
		status := "pending"
		if i < done {
			status = "completed"
		} else if i+1 == active {
			status = "in_progress"
		}
		todos = append(todos, map[string]any{"content": entry.content, "activeForm": entry.form, "status": status})
	}
	a.tool("TodoWrite", map[string]any{"todos": todos}, "Todos have been modified successfully.", nil)
}

func (a *actor) path(name string) string { return filepath.Join(a.dir, name) }

func (a *actor) load(name string) (string, error) {
	raw, err := os.ReadFile(a.path(name))
	return string(raw), err
}

// edit replaces the first occurrence of old, keeping the file's mode, and
// reports it as a tool call.
func (a *actor) edit(name, old, replacement string) error {
	err := a.replace(name, old, replacement)
	a.tool("Edit",
		map[string]any{"file_path": a.path(name), "old_string": old, "new_string": replacement},
		"The file "+a.path(name)+" has been updated.", err)
	return err
}

func (a *actor) replace(name, old, replacement string) error {
	source, err := a.load(name)
	if err != nil {
		return err
	}
	if !strings.Contains(source, old) {
		return fmt.Errorf("%s does not contain %q", name, old)
	}
	info, err := os.Stat(a.path(name))
	if err != nil {
		return err
	}
	return os.WriteFile(a.path(name), []byte(strings.Replace(source, old, replacement, 1)), info.Mode().Perm())
}
