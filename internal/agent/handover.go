package agent

import (
	"fmt"
	"maps"

	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/ralph"
)

// handOver prepares how a prompt reaches the CLI: o and q are for its argv, the
// returned text is for its stdin. done is called when the turn is over.
func (c *CLI) handOver(p ralph.Prompt) (o Options, q ralph.Prompt, stdin string, done func(), err error) {
	o = c.o
	var files []driver.File
	done = func() {
		for _, f := range files {
			f.Remove()
		}
	}
	w := c.driver.Ways(o)
	if o.System != "" && !w.System {
		p.Text = o.System + "\n\n" + p.Text
	}
	q = p
	if w.Logged && o.PromptLog != nil {
		o.PromptLog(fmt.Sprintf("prompt_%03d.txt", p.Iteration), p.Text)
	}
	o.Turn.Files = maps.Clone(o.Turn.Files)
	for _, e := range c.extras {
		f := driver.NewFile(c.scratch, o.Scratch, e.Name)
		files = append(files, f)
		if err := f.Write(e.Text); err != nil {
			return o, q, "", done, fmt.Errorf("agent %q: %s: %w", o.Name, e.Name, err)
		}
		o.Turn.Files[e.Name] = f.Path
	}
	// What is in a file may be the word of a program that the agent ran.
	if w.Answer && o.Plain && !o.Exact && c.scratch != nil && !judges(o) {
		o.Turn.Answer = driver.NewFile(c.scratch, o.Scratch, "answer.txt")
		files = append(files, o.Turn.Answer)
	}
	if !w.Argument {
		return o, q, p.Text, done, nil
	}
	if len(p.Text) <= driver.MaxArgument && !w.File {
		return o, q, "", done, nil
	}
	if w.Inline {
		return o, q, "", done, fmt.Errorf("agent %q: its prompt is an argument, and %d bytes are too long for one (%d)", o.Name, len(p.Text), driver.MaxArgument)
	}
	if c.scratch == nil && w.File {
		return o, q, "", done, fmt.Errorf("agent %q: takes its prompt in a file, and there is no folder for one", o.Name)
	}
	if c.scratch == nil {
		return o, q, "", done, fmt.Errorf("agent %q: takes its prompt as an argument, and %d bytes are too long for one (%d) without a folder for a file", o.Name, len(p.Text), driver.MaxArgument)
	}
	task := driver.NewFile(c.scratch, o.Scratch, "task.txt")
	files = append(files, task)
	if err := task.Write(p.Text); err != nil {
		return o, q, "", done, fmt.Errorf("agent %q: prompt: %w", o.Name, err)
	}
	if w.File {
		q.Text = task.Path
		return o, q, "", done, nil
	}
	q.Text = "Your whole task stands in the file " + task.Path + "\nRead all of that file first, then do what it says, as if it stood here."
	return o, q, "", done, nil
}

// Argv is the command line for a prompt, for showing it: where the prompt is an
// argument it says <prompt>, and <file> for the file an answer is left in.
func (c *CLI) Argv(p ralph.Prompt) []string {
	o := c.o
	if c.scratch != nil && c.driver.Ways(o).Answer {
		o.Turn.Answer.Path = "<file>"
	}
	if c.driver.Ways(o).Argument {
		p.Text = "<the prompt>"
		argv := driver.CommandLine(c.driver, o, p)
		for i := range argv {
			if argv[i] == p.Text {
				argv[i] = "<prompt>"
			}
		}
		return argv
	}
	return driver.CommandLine(c.driver, o, p)
}
