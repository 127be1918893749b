//go:build ignore

// Trim makes github.json of GitHub's OpenAPI description: the operations that
// operations.txt names, with everything they refer to, without the prose; and
// examples.json of its examples.
//
//	npm pack @octokit/openapi
//	tar xzf octokit-openapi-*.tgz package/generated/api.github.com.json
//	go run trim.go package/generated/api.github.com.json
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

type object = map[string]any

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run trim.go api.github.com.json")
		os.Exit(2)
	}
	if err := trim(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "trim:", err)
		os.Exit(1)
	}
}

func trim(source string) error {
	raw, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	var all object
	if err := json.Unmarshal(raw, &all); err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	list, err := os.ReadFile("operations.txt")
	if err != nil {
		return err
	}
	wanted := map[string]bool{}
	for _, id := range strings.Fields(string(list)) {
		wanted[id] = false
	}

	t := trimmer{components: all["components"].(object), kept: object{}}
	examples := object{}
	paths := object{}
	for path, item := range all["paths"].(object) {
		for method, value := range item.(object) {
			operation, _ := value.(object)
			id, _ := operation["operationId"].(string)
			if _, ok := wanted[id]; !ok || id == "" {
				continue
			}
			wanted[id] = true
			if paths[path] == nil {
				paths[path] = object{}
			}
			paths[path].(object)[method] = t.operation(operation)
			if found := t.examples(operation); len(found) > 0 {
				examples[strings.ToUpper(method)+" "+path] = found
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(wanted)) {
		if !wanted[id] {
			return fmt.Errorf("%s has no operation %q", source, id)
		}
	}
	info := all["info"].(object)
	err = write("github.json", object{
		"openapi":    all["openapi"],
		"info":       object{"title": info["title"], "version": info["version"], "license": info["license"]},
		"paths":      paths,
		"components": t.kept,
	})
	if err != nil {
		return err
	}
	return write("examples.json", examples)
}

func write(name string, value any) error {
	out, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(out, '\n'), 0o644)
}

type trimmer struct{ components, kept object }

// operation keeps what a request and its answers are checked against.
func (t *trimmer) operation(operation object) object {
	out := object{"operationId": operation["operationId"]}
	for _, name := range []string{"parameters", "requestBody", "responses"} {
		if value, ok := operation[name]; ok {
			out[name] = t.clean(value, name)
		}
	}
	return out
}

// clean copies a value of the description without its prose, and without
// discriminators: servers of Enterprise do not send the one of users. parent is
// the key it stands under.
func (t *trimmer) clean(value any, parent string) any {
	switch v := value.(type) {
	case []any:
		out := make([]any, len(v))
		for i, one := range v {
			out[i] = t.clean(one, parent)
		}
		return out
	case object:
		if ref, ok := v["$ref"].(string); ok && !names(parent) {
			t.keep(ref)
			return object{"$ref": ref}
		}
		out := object{}
		for key, one := range v {
			switch {
			case names(parent):
				out[key] = t.clean(one, "")
			case key == "enum" || key == "required" || key == "x-multi-segment":
				out[key] = one
			case key == "description" && v["content"] == nil && v["headers"] == nil && !response(v):
			case key == "description":
				out[key] = "" // the format wants one
			case key == "example", key == "examples", key == "default", key == "discriminator", key == "title", key == "summary", key == "externalDocs", key == "deprecated", strings.HasPrefix(key, "x-"):
			default:
				out[key] = t.clean(one, key)
			}
		}
		return out
	}
	return value
}

// names reports whether the keys below this one are names that somebody chose.
func names(key string) bool {
	return key == "properties" || key == "responses" || key == "content" || key == "headers" || key == "components"
}

// response reports whether an object is a response without a body.
func response(v object) bool { return len(v) == 1 && v["description"] != nil }

// examples are those of an operation: "request", and each status with one.
func (t *trimmer) examples(operation object) object {
	found := object{}
	if body, ok := operation["requestBody"].(object); ok {
		t.example(found, "request", body)
	}
	for status, answer := range operation["responses"].(object) {
		t.example(found, status, answer.(object))
	}
	return found
}

// example takes the one called default, else the first by name.
func (t *trimmer) example(found object, name string, body object) {
	content, _ := body["content"].(object)
	media, _ := content["application/json"].(object)
	all, _ := media["examples"].(object)
	if len(all) == 0 {
		return
	}
	one, ok := all["default"]
	if !ok {
		one = all[slices.Sorted(maps.Keys(all))[0]]
	}
	// An issue's stands where its value should.
	value := t.shared(t.shared(one).(object)["value"])
	if example, ok := value.(object); ok && example["value"] != nil && len(example) <= 2 {
		value = example["value"]
	}
	found[name] = value
}

// shared is what a reference refers to; another value is itself.
func (t *trimmer) shared(value any) any {
	if v, ok := value.(object); ok {
		if ref, ok := v["$ref"].(string); ok {
			return t.components["examples"].(object)[ref[strings.LastIndex(ref, "/")+1:]]
		}
	}
	return value
}

// keep takes a referenced component over, with what it refers to.
func (t *trimmer) keep(ref string) {
	parts := strings.Split(ref, "/") // #/components/schemas/name
	kind, name := parts[2], parts[3]
	if t.kept[kind] == nil {
		t.kept[kind] = object{}
	}
	if _, done := t.kept[kind].(object)[name]; done {
		return
	}
	t.kept[kind].(object)[name] = nil // a schema may refer to itself
	t.kept[kind].(object)[name] = t.clean(t.components[kind].(object)[name], "")
}
