package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/actions"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/tasks"
)

// tasksCheckCmd says whether a task list can be worked on.
type tasksCheckCmd struct {
	tasksPlace
	tasksRules
	Format string `enum:"text,json,github" default:"text" help:"Output format: text, json, or github for annotations. Default: text."`
}

// Help is shown below the flags.
func (tasksCheckCmd) Help() string {
	return `Exit code: 0 the list can be worked on, with or without warnings; 2 it cannot.

Examples:
  ralph tasks check
  ralph tasks check --format github    in a workflow: problems stand beside the lines of a pull request`
}

// checked is what there is to say about a list.
type checked struct {
	File     string        `json:"file"`
	OK       bool          `json:"ok"`
	Problems []checkedLine `json:"problems"`
	Stories  int           `json:"stories"`
	Done     int           `json:"done"`
	Next     *checkedNext  `json:"next"` // null: nothing is left to do
	Estimate string        `json:"estimate"`
}

type checkedLine struct {
	Severity string `json:"severity"` // error, warning
	Line     int    `json:"line"`     // from 1; 0: no place in the file
	Column   int    `json:"column"`
	Story    string `json:"story"`
	Text     string `json:"text"`
}

type checkedNext struct {
	Story string     `json:"story"`
	Mode  tasks.Mode `json:"mode"`
}

// Run checks the list.
func (c *tasksCheckCmd) Run(a *app, done *exit) error {
	found, err := c.check()
	if err != nil {
		return err
	}
	if !found.OK {
		*done = exit(ralph.Invalid.ExitCode(false))
	}
	switch c.Format {
	case "json":
		enc := json.NewEncoder(a.stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(found)
	case "github":
		for _, p := range found.Problems {
			fmt.Fprintln(a.stdout, actions.Annotation(p.Severity, actions.InWorkspace(a.getenv("GITHUB_WORKSPACE"), found.File), p.Line, p.Column, p.Text))
		}
	default:
		for _, p := range found.Problems {
			fmt.Fprintln(a.stdout, p.text(found.File))
		}
	}
	if found.OK {
		fmt.Fprintln(a.stdout, found.summary())
	}
	return nil
}

// check reads the list, and says everything at once.
func (c *tasksCheckCmd) check() (checked, error) {
	folder, err := c.open()
	if err != nil {
		return checked{}, err
	}
	defer folder.Close()
	found := checked{File: c.shown(folder.Path(tasks.TasksName)), OK: true, Problems: []checkedLine{}}
	data, err := folder.Tasks()
	if err != nil {
		text := err.Error()
		if rest, named := strings.CutPrefix(text, folder.Path(tasks.TasksName)+" "); named {
			text = "it " + rest
		}
		found.add(tasks.Problem{Kind: tasks.Schema, Text: text})
		return found, nil
	}
	list, problems := tasks.Snapshot{Rules: c.rules()}.Verify(data)
	for _, p := range append(problems, tasks.Lint(data)...) {
		found.add(p)
	}
	found.sort()
	if list == nil || !found.OK {
		return found, nil
	}
	rules := c.rules()
	figures := list.Figures(rules)
	found.Stories, found.Done = figures.Stories, figures.Done
	if next, ok := list.Next(rules); ok {
		found.Next = &checkedNext{next.ID, list.Mode(rules)}
	}
	found.Estimate = list.Estimate(rules).String()
	return found, nil
}

func (c *checked) add(p tasks.Problem) {
	line := checkedLine{Severity: "error", Line: p.Line, Column: p.Column, Story: p.Story, Text: p.Text}
	if p.Kind == tasks.Unfinished {
		line.Severity = "warning"
	} else {
		c.OK = false
	}
	c.Problems = append(c.Problems, line)
}

// sort gives the problems the order of the file; "and 7 more" comes last.
func (c *checked) sort() {
	slices.SortStableFunc(c.Problems, func(a, b checkedLine) int {
		if (a.Line == 0) != (b.Line == 0) {
			return cmp.Compare(b.Line, a.Line)
		}
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// text is a problem as a compiler says it.
func (l checkedLine) text(file string) string {
	text := l.Text
	if l.Severity == "warning" {
		text = "warning: " + text
	}
	if l.Line > 0 {
		return actions.PlainLine(fmt.Sprintf("%s:%d:%d: %s", file, l.Line, l.Column, text))
	}
	return actions.PlainLine(file + ": " + text)
}

// summary is what is left to do, in a line.
func (c *checked) summary() string {
	text := fmt.Sprintf("%s: 1 story", c.File)
	if c.Stories != 1 {
		text = fmt.Sprintf("%s: %d stories", c.File, c.Stories)
	}
	text += fmt.Sprintf(", %d done", c.Done)
	if c.Next != nil {
		text += fmt.Sprintf("; next: %s %s; %s", c.Next.Mode, c.Next.Story, c.Estimate)
	}
	return actions.PlainLine(text)
}

// legal is the list, or everything that is wrong with it as one error.
func (p tasksPlace) legal(folder *tasks.Folder, rules tasks.Rules) (*tasks.List, error) {
	data, err := folder.Tasks()
	if err != nil {
		return nil, err
	}
	return rules.Legal(p.shown(folder.Path(tasks.TasksName)), data)
}
