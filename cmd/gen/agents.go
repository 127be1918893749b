package main

import (
	"fmt"
	"go/format"
	"reflect"
	"strings"

	"github.com/org/ralph-action/internal/agent/catalog"
)

// code is a text as code in Markdown; nothing stays nothing.
func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

// codes are texts as code, separated by commas.
func codes(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = code(s)
	}
	return strings.Join(quoted, ", ")
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// clis are the agents that are somebody's CLI.
func clis() (all []catalog.Agent) {
	for _, a := range catalog.All() {
		if !a.Own() {
			all = append(all, a)
		}
	}
	return all
}

func agentsTable() string {
	var rows [][]string
	for _, a := range catalog.All() {
		where := "on first use"
		switch {
		case a.Own():
			where = "yours"
		case a.InImage:
			where = "yes"
		}
		rows = append(rows, []string{code(a.Name), a.About, a.Doc.Key, where, a.Doc.Cost})
	}
	return table([]string{"`agent`", "What it is", "Its key, as a variable", "In the image", "Cost"}, rows)
}

func packagesTable() string {
	var rows [][]string
	for _, a := range clis() {
		rows = append(rows, []string{code(a.Name), code(a.Package), a.Version, yes(a.InImage), a.Size})
	}
	return table([]string{"Agent", "npm package", "Version tested", "In the full image", "On disk"}, rows)
}

func versionsTable() string {
	var rows [][]string
	for _, a := range clis() {
		rows = append(rows, []string{code(a.Name), code(a.Package), a.Version, a.Doc.Container, a.Doc.Alone, a.Doc.NotSeen})
	}
	return table([]string{"Agent", "npm package", "Version", "Run whole, through the container", "The CLI alone, against scripted model servers", "Not seen"}, rows)
}

func credentialsTable() string {
	var rows [][]string
	for _, a := range catalog.All() {
		if a.Own() {
			rows = append(rows, []string{code(a.Name), "none: `pass-env`", ""})
		}
		for _, v := range a.Variables {
			name := code(a.Name)
			if v.For != "" {
				name = v.For
			}
			rows = append(rows, []string{name, codes(v.Keys), codes(v.Others)})
		}
	}
	return table([]string{"Agent", "Keys", "What chooses and describes the provider"}, rows)
}

func loginsTable() string {
	var rows [][]string
	for _, a := range clis() {
		rows = append(rows, []string{code(a.Name), a.Doc.Login})
	}
	return table([]string{"Agent", "A login is"}, rows)
}

func hostsTable() string {
	var rows [][]string
	for _, a := range catalog.All() {
		for _, h := range a.Doc.Hosts {
			name := code(a.Name)
			if h.For != "" {
				name = h.For
			}
			rows = append(rows, []string{name, h.Hosts})
		}
	}
	return table([]string{"Agent", "Hosts"}, rows)
}

// apiKeysTable says which variable the input api-key is. Providers in a row that have the
// same key share a line.
func apiKeysTable() string {
	var rows [][]string
	for _, a := range clis() {
		if a.AnyProvider {
			rows = append(rows, []string{code(a.Name), "by the provider of the model", "its usual variable, such as `OPENROUTER_API_KEY`; refused where none is known"})
			continue
		}
		if len(a.Providers) == 0 {
			rows = append(rows, []string{code(a.Name), "", code(a.Keys()[0])})
		}
		last := ""
		for i, p := range a.Providers {
			name, provider, key := "", code(p.Name), code(p.Key)
			if i == 0 {
				name, provider = code(a.Name), "none, "+provider
			}
			if key == "" {
				key = "refused: there is no key"
			}
			if n := len(rows) - 1; i > 0 && key == last {
				rows[n][1] += ", " + provider
				continue
			}
			rows, last = append(rows, []string{name, provider, key}), key
		}
	}
	return table([]string{"Agent", "`provider`", "`api-key` becomes"}, rows)
}

// columns is a table with a column for each agent.
func columns(rows [][]string) string {
	head := []string{""}
	for _, a := range catalog.All() {
		head = append(head, code(a.Name))
	}
	return table(head, rows)
}

// row is one of them.
func row(head string, cell func(a catalog.Agent) string) []string {
	cells := []string{head}
	for _, a := range catalog.All() {
		cells = append(cells, cell(a))
	}
	return cells
}

// own is a row that differs between CLIs and programs of the user's only.
func own(head, cli, program string) []string {
	return row(head, func(a catalog.Agent) string {
		if a.Own() {
			return program
		}
		return cli
	})
}

// fields are the rows of a struct of cells, by the tags of its fields.
func fields(cells func(a catalog.Agent) any) (rows [][]string) {
	first := reflect.TypeOf(cells(catalog.Agent{}))
	for i := range first.NumField() {
		rows = append(rows, row(first.Field(i).Tag.Get("row"), func(a catalog.Agent) string { return reflect.ValueOf(cells(a)).Field(i).String() }))
	}
	return rows
}

func readsTable() string {
	rows := [][]string{row("program, or `agent-command`", func(a catalog.Agent) string {
		if a.Own() {
			return "`agent-command`, required"
		}
		return code(a.Program)
	})}
	rows = append(rows, fields(func(a catalog.Agent) any { return a.Doc.Reads })...)
	return columns(append(rows, own("version shown", "yes", "no")))
}

func takesTable() string {
	return columns(append(fields(func(a catalog.Agent) any { return a.Doc.Takes }), own("`agent-version`, `agent-install`", "yes", "refused; nothing to install")))
}

func holdsTable() string {
	return columns(append(fields(func(a catalog.Agent) any { return a.Doc.Holds }),
		row("hooks", func(a catalog.Agent) string { return yes(a.Hooks) }),
		own("`fallback-agent`, `review-agent` ([task lists](tasks.md#who-reviews))", "yes", "no; alone it reviews its own work")))
}

// imageVersions are the versions that the image is built with.
func imageVersions() string {
	var b strings.Builder
	for _, a := range clis() {
		if a.InImage {
			fmt.Fprintf(&b, "ARG %s_VERSION=%s\n", strings.ToUpper(a.Name), a.Version)
		}
	}
	return b.String()
}

// drivers is the source that joins the packages of the CLIs to internal/agent.
func drivers() string {
	var b strings.Builder
	b.WriteString("// Code generated by cmd/gen from internal/agent/catalog; DO NOT EDIT.\n\npackage agent\n\nimport (\n")
	names := catalog.Names()
	for _, name := range append(names, "driver") {
		fmt.Fprintf(&b, "\t%q\n", "github.com/org/ralph-action/internal/agent/"+name)
	}
	b.WriteString(")\n\n// drivers are those of the known agents by their names.\nfunc drivers() map[string]driver.Driver {\n\treturn map[string]driver.Driver{\n")
	for _, name := range names {
		fmt.Fprintf(&b, "\t\t%q: %s.Driver{},\n", name, name)
	}
	b.WriteString("\t}\n}\n")
	source, err := format.Source([]byte(b.String()))
	if err != nil {
		panic(err) // the names of packages are ours
	}
	return string(source)
}
