package openapi

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

//go:embed examples.json
var examplesJSON []byte

// Example is GitHub's own example of an answer, for a test server to put its
// values into; of a list it is the first element. operation is a method and a
// path of the description, such as "GET /repos/{owner}/{repo}". The caller owns
// what it gets.
func Example(t testing.TB, operation string, status int) map[string]any {
	t.Helper()
	var all map[string]map[string]json.RawMessage
	if err := json.Unmarshal(examplesJSON, &all); err != nil {
		t.Fatalf("examples.json: %v", err)
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
	var stored map[string]map[string]json.RawMessage
	if err := json.Unmarshal(examplesJSON, &stored); err != nil {
		return nil, fmt.Errorf("examples.json: %w", err)
	}
	var all []Exchange
	for _, key := range slices.Sorted(maps.Keys(stored)) {
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
		for _, name := range slices.Sorted(maps.Keys(stored[key])) {
			if status, err := strconv.Atoi(name); err == nil {
				all = append(all, Exchange{Method: method, Path: path, Request: stored[key]["request"], Status: status, Answer: stored[key][name]})
			}
		}
	}
	return all, nil
}
