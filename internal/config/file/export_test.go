package file

import (
	"gopkg.in/yaml.v3"

	"github.com/org/ralph-action/internal/config/problem"
)

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
