package agent

import (
	"crypto/rand"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"syscall"

	"github.com/org/ralph-action/internal/ralph"
)

const (
	// maxArgument bounds a prompt that is an argument; the kernel's own limit
	// for one is 128 KiB.
	maxArgument = 100 << 10
	// maxAnswer bounds the answer read from a file.
	maxAnswer = 1 << 20
)

// ways are how a CLI takes a prompt and gives an answer back.
type ways struct {
	argument bool   // the prompt is an argument; else it comes on stdin
	inline   bool   // … and no file can stand in for a long one
	file     bool   // … and is the path of a file that holds the prompt
	flag     string // … and stands behind this one among exact arguments
	answer   bool   // in text mode the last message is left in a file
	logged   bool   // prompts are kept
	totals   bool   // the tokens reported are those of the session so far
	system   bool   // the CLI takes Options.System itself
}

// file is one in the scratch folder. The folder is held open, so that a child
// cannot put another one in its place; the name is random, and nothing there is
// followed out of the folder.
type file struct {
	root *os.Root // nil: no file
	name string
	path string // as the child sees it
}

func newFile(root *os.Root, dir, kind string) file {
	name := "ralph-" + rand.Text() + "-" + kind
	return file{root: root, name: name, path: filepath.Join(dir, name)}
}

// write makes the file, readable by nobody but us and the folder's owner.
func (f file) write(text string) error {
	w, err := f.root.OpenFile(f.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if dir, err := f.root.Stat("."); err == nil {
		giveTo(w, dir)
	}
	_, err = io.WriteString(w, text)
	if e := w.Close(); err == nil {
		err = e
	}
	return err
}

// read is what the child left in the file, at most maxAnswer bytes; empty when
// there is no regular file. It is called when the child is gone.
func (f file) read() string {
	if f.root == nil {
		return ""
	}
	before, err := f.root.Lstat(f.name)
	if err != nil || !before.Mode().IsRegular() {
		return ""
	}
	r, err := f.root.OpenFile(f.name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe by now
	if err != nil {
		return ""
	}
	defer r.Close()
	if now, err := r.Stat(); err != nil || !os.SameFile(before, now) {
		return ""
	}
	b, _ := io.ReadAll(io.LimitReader(r, maxAnswer))
	return valid(b)
}

// giveTo makes the folder's owner the file's, who is whom the child runs as.
// Where that is not allowed we are not root, and the child runs as ourselves.
func giveTo(f *os.File, dir fs.FileInfo) {
	if s, ok := dir.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(s.Uid), int(s.Gid))
	}
}

func (f file) remove() {
	if f.root != nil {
		_ = f.root.Remove(f.name) // it may never have been made
	}
}

// handOver prepares how a prompt reaches the CLI: o and q are for its argv, the
// returned text is for its stdin. done is called when the turn is over.
func (c *CLI) handOver(p ralph.Prompt) (o Options, q ralph.Prompt, stdin string, done func(), err error) {
	o = c.o
	var files []file
	done = func() {
		for _, f := range files {
			f.remove()
		}
	}
	w := c.format.ways(o)
	if o.System != "" && !w.system {
		p.Text = o.System + "\n\n" + p.Text
	}
	q = p
	if w.logged && o.PromptLog != nil {
		o.PromptLog(fmt.Sprintf("prompt_%03d.txt", p.Iteration), p.Text)
	}
	o.extra = maps.Clone(o.extra)
	for _, e := range c.extras {
		f := newFile(c.scratch, o.Scratch, e.name)
		files = append(files, f)
		if err := f.write(e.text); err != nil {
			return o, q, "", done, fmt.Errorf("agent %q: %s: %w", o.Name, e.name, err)
		}
		o.extra[e.name] = f.path
	}
	// What is in a file may be the word of a program that the agent ran.
	if w.answer && o.Plain && !o.Exact && c.scratch != nil && !o.judges() {
		o.answer = newFile(c.scratch, o.Scratch, "answer.txt")
		files = append(files, o.answer)
	}
	if !w.argument {
		return o, q, p.Text, done, nil
	}
	if len(p.Text) <= maxArgument && !w.file {
		return o, q, "", done, nil
	}
	if w.inline {
		return o, q, "", done, fmt.Errorf("agent %q: its prompt is an argument, and %d bytes are too long for one (%d)", o.Name, len(p.Text), maxArgument)
	}
	if c.scratch == nil && w.file {
		return o, q, "", done, fmt.Errorf("agent %q: takes its prompt in a file, and there is no folder for one", o.Name)
	}
	if c.scratch == nil {
		return o, q, "", done, fmt.Errorf("agent %q: takes its prompt as an argument, and %d bytes are too long for one (%d) without a folder for a file", o.Name, len(p.Text), maxArgument)
	}
	task := newFile(c.scratch, o.Scratch, "task.txt")
	files = append(files, task)
	if err := task.write(p.Text); err != nil {
		return o, q, "", done, fmt.Errorf("agent %q: prompt: %w", o.Name, err)
	}
	if w.file {
		q.Text = task.path
		return o, q, "", done, nil
	}
	q.Text = "Your whole task stands in the file " + task.path + "\nRead all of that file first, then do what it says, as if it stood here."
	return o, q, "", done, nil
}

// argv is the command line for what handOver prepared.
func (c *CLI) argv(o Options, p ralph.Prompt) []string {
	w := c.format.ways(o)
	if !CanResume(c.o.Name) || !resumable(p.Resume) {
		p.Resume = ""
	}
	if !o.Exact {
		return c.format.argv(o, p)
	}
	argv := command(o, c.o.Name)
	n := len(argv)
	argv = c.format.resumed(append(argv, o.ExactArgs...), n, p.Resume)
	if w.argument && w.flag != "" {
		argv = append(argv, w.flag)
	}
	switch {
	case w.file:
		argv = append(argv, p.Text)
	case w.argument:
		argv = append(argv, operand(p.Text))
	}
	return argv
}

// Argv is the command line for a prompt, for showing it: where the prompt is an
// argument it says <prompt>, and <file> for the file an answer is left in.
func (c *CLI) Argv(p ralph.Prompt) []string {
	o := c.o
	if c.scratch != nil && c.format.ways(o).answer {
		o.answer.path = "<file>"
	}
	if c.format.ways(o).argument {
		p.Text = "<the prompt>"
		argv := c.argv(o, p)
		for i := range argv {
			if argv[i] == p.Text {
				argv[i] = "<prompt>"
			}
		}
		return argv
	}
	return c.argv(o, p)
}
