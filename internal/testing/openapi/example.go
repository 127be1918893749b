package openapi

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

//go:embed examples.json
var examplesJSON []byte

// stored are the examples by operation, and "request" or status. They are never
// changed.
var stored = sync.OnceValues(func() (map[string]map[string]json.RawMessage, error) {
	var all map[string]map[string]json.RawMessage
	if err := json.Unmarshal(examplesJSON, &all); err != nil {
		return nil, fmt.Errorf("examples.json: %w", err)
	}
	return all, nil
})

// Example is GitHub's own example of an answer, for a test server to put its
// values into; of a list it is the first element. operation is a method and a
// path of the description, such as "GET /repos/{owner}/{repo}". The caller owns
// what it gets.
func Example(t testing.TB, operation string, status int) map[string]any {
	t.Helper()
	all, err := stored()
	if err != nil {
		t.Fatal(err)
	}
	raw := all[operation][strconv.Itoa(status)]
	if raw == nil {
		t.Fatalf("examples.json has no example of %s (%d)", operation, status)
	}
	var list []map[string]any
	if json.Unmarshal(raw, &list) == nil && len(list) > 0 {
		return list[0]
	}
	var object map[string]any
	if err := json.Unmarshal(raw, &object); err != nil {
		t.Fatalf("examples.json: the example of %s (%d) is no object: %v", operation, status, err)
	}
	return object
}

// examples lists all of GitHub's examples of answers, each with the example of
// its request, sorted.
func (d *Description) examples() ([]Exchange, error) {
	byOperation, err := stored()
	if err != nil {
		return nil, err
	}
	var all []Exchange
	for _, key := range slices.Sorted(maps.Keys(byOperation)) {
		method, path, _ := strings.Cut(key, " ")
		i := slices.IndexFunc(d.paths, func(one template) bool { return one.path == path })
		if i < 0 || d.paths[i].operations[method] == nil {
			return nil, fmt.Errorf("examples.json: github.json has no %s", key)
		}
		for _, ref := range d.paths[i].operations[method].Parameters {
			value := "x"
			if ref.Value.Schema.Value.Type.Is("integer") {
				value = "1"
			}
			path = strings.Replace(path, "{"+ref.Value.Name+"}", value, 1)
		}
		for _, name := range slices.Sorted(maps.Keys(byOperation[key])) {
			if status, err := strconv.Atoi(name); err == nil {
				all = append(all, Exchange{Method: method, Path: path, Request: byOperation[key]["request"], Status: status, Answer: byOperation[key][name]})
			}
		}
	}
	return all, nil
}
