package config

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/org/ralph-action/internal/config/problem"
)

// Settings are the values of a settings file by input, lists joined by |.
func Settings(name, text string) (map[string]string, error) {
	l := &loader{List: problem.NewList(nil), rows: table()}
	return texts(l.parseSettings(name, []byte(text))), l.Err()
}

// Shell are the values of a shell-style file by input, and its variables.
func Shell(name, text string) (values, variables map[string]string, err error) {
	l := &loader{List: problem.NewList(nil), rows: table()}
	given, variables := l.parseShell(name, []byte(text))
	return texts(given), variables, l.Err()
}

// JSON reads a text as a settings file is read, into what encoding/json makes
// of it but for numbers, which stay texts.
func JSON(text string) (any, error) {
	twice := false
	root, bad := readJSON([]byte(text), func(*yaml.Node, int) { twice = true })
	switch {
	case bad != nil:
		return nil, &problem.Problems{List: []problem.Problem{{Where: "JSON", Text: bad.why}}}
	case twice:
		return nil, &problem.Problems{List: []problem.Problem{{Where: "JSON", Text: "twice"}}}
	}
	return plainJSON(root), nil
}

func plainJSON(n *yaml.Node) any {
	switch {
	case n.Kind == yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			m[n.Content[i].Value] = plainJSON(n.Content[i+1])
		}
		return m
	case n.Kind == yaml.SequenceNode:
		list := []any{}
		for _, c := range n.Content {
			list = append(list, plainJSON(c))
		}
		return list
	case n.Tag == "!!null":
		return nil
	case n.Tag == "!!bool":
		return n.Value == "true"
	}
	return n.Value
}

func texts(values map[string]value) map[string]string {
	m := map[string]string{}
	for name, v := range values {
		m[name] = v.text
		if v.node != nil {
			var list []string
			for _, c := range v.node.Content {
				if c.Kind == yaml.ScalarNode {
					list = append(list, c.Value)
				} else {
					list = append(list, "{}")
				}
			}
			m[name] = strings.Join(list, "|")
		}
	}
	return m
}
