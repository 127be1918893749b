// Package openapi checks what tests send and answer against GitHub's own
// description of its REST API. It is imported by tests only: nothing of it is
// in the binary.
//
// The description in github.json is a part of GitHub's; README.md says where it
// is from and how to make it anew. GraphQL is no part of it, and is not checked.
package openapi

import (
	_ "embed"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
)

//go:embed github.json
var github []byte

// Description is the part of GitHub's description that operations.txt names.
// It may be used by several goroutines at once.
type Description struct {
	paths []template
	roots map[string]bool // first segments of the paths it knows
}

// load reads the description once: it takes 80 ms, and hundreds of tests of one
// program want it. It is never changed afterwards.
var load = sync.OnceValues(read)

// Load is the description.
func Load() (*Description, error) { return load() }

func read() (*Description, error) {
	document, err := openapi3.NewLoader().LoadFromData(github)
	if err != nil {
		return nil, fmt.Errorf("github.json: %w", err)
	}
	for schema, names := range loose() {
		ref := document.Components.Schemas[schema]
		if ref == nil {
			return nil, fmt.Errorf("github.json: no schema %q to be loose about", schema)
		}
		ref.Value.Required = slices.DeleteFunc(ref.Value.Required, func(name string) bool { return slices.Contains(names, name) })
	}
	// GitHub sets these two itself, says its documentation of check suites and
	// of GraphQL's CheckConclusionState; the enums leave them out.
	for _, schema := range []string{"check-run", "job"} {
		conclusion := document.Components.Schemas[schema].Value.Properties["conclusion"].Value
		conclusion.Enum = append(conclusion.Enum, "stale", "startup_failure")
	}
	d := &Description{roots: map[string]bool{}}
	for path, item := range document.Paths.Map() {
		one := newTemplate(path, item)
		d.paths = append(d.paths, one)
		d.roots[strings.Split(path, "/")[1]] = true
		for _, operation := range one.operations {
			if operation.RequestBody != nil {
				for _, media := range operation.RequestBody.Value.Content {
					seal(media.Schema)
				}
			}
		}
	}
	// A path in words comes before one with a place for them.
	slices.SortFunc(d.paths, func(a, b template) int {
		if a.literal != b.literal {
			return b.literal - a.literal
		}
		return strings.Compare(a.path, b.path)
	})
	return d, nil
}

// loose lists, by schema, the properties that the description requires and that
// GitHub leaves out: in its own examples of the same description, and on
// servers of Enterprise.
func loose() map[string][]string {
	return map[string][]string{
		"diff-entry":                             {"contents_url", "sha"},
		"full-repository":                        {"language"},
		"job":                                    {"created_at"},
		"nullable-collaborator":                  {"role_name"},
		"protected-branch-required-status-check": {"checks"},
		"repository":                             {"language"},
		"team":                                   {"type"},
		"team-simple":                            {"type"},
	}
}

// seal forbids what an object in a request does not name. GitHub ignores it,
// so that a mistyped name would never be found.
func seal(ref *openapi3.SchemaRef) {
	if ref == nil || ref.Value == nil {
		return
	}
	schema := ref.Value
	if len(schema.Properties) > 0 && schema.AdditionalProperties.Has == nil && schema.AdditionalProperties.Schema == nil {
		no := false
		schema.AdditionalProperties.Has = &no
	}
	for _, property := range schema.Properties {
		seal(property)
	}
	seal(schema.Items)
	for _, alternatives := range []openapi3.SchemaRefs{schema.OneOf, schema.AnyOf} {
		for _, one := range alternatives {
			seal(one)
		}
	}
}

// template is a path of the description, such as /repos/{owner}/{repo}.
type template struct {
	path       string
	pattern    *regexp.Regexp // of an escaped path
	names      []string       // of the pattern's groups
	literal    int            // characters that are no place for a name
	operations map[string]*openapi3.Operation
}

var placePattern = regexp.MustCompile(`\{[^{}]+\}`)

func newTemplate(path string, item *openapi3.PathItem) template {
	t := template{path: path, operations: item.Operations()}
	several := map[string]bool{} // names that may hold a "/", such as that of a ref
	for _, operation := range t.operations {
		for _, parameter := range operation.Parameters {
			if parameter.Value.Extensions["x-multi-segment"] == true {
				several[parameter.Value.Name] = true
			}
		}
	}
	pattern, rest := "^", path
	for place := placePattern.FindStringIndex(rest); place != nil; place = placePattern.FindStringIndex(rest) {
		name := rest[place[0]+1 : place[1]-1]
		pattern += regexp.QuoteMeta(rest[:place[0]])
		if several[name] {
			pattern += "(.+)"
		} else {
			pattern += "([^/]+)"
		}
		t.literal += place[0]
		t.names = append(t.names, name)
		rest = rest[place[1]:]
	}
	t.literal += len(rest)
	t.pattern = regexp.MustCompile(pattern + regexp.QuoteMeta(rest) + "$")
	return t
}

// Covers reports whether a path belongs to the REST API, whether the description has
// it or not, and cuts what stands before it on GitHub Enterprise Server.
func (d *Description) Covers(path string) (string, bool) {
	short, enterprise := strings.CutPrefix(path, "/api/v3/")
	if enterprise {
		return "/" + short, short != "graphql"
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return path, d.roots[first]
}

// find is the operation of a method and an escaped path, with the values of the
// places in its path.
func (d *Description) find(method, path string) (*openapi3.Operation, map[string]string, error) {
	var others []string
	for _, one := range d.paths {
		values := one.pattern.FindStringSubmatch(path)
		if values == nil {
			continue
		}
		operation := one.operations[method]
		if operation == nil {
			for name := range one.operations {
				others = append(others, name+" "+one.path)
			}
			continue
		}
		places := map[string]string{}
		for i, name := range one.names {
			value, err := url.PathUnescape(values[i+1])
			if err != nil {
				return nil, nil, fmt.Errorf("%s %s: %s: %w", method, path, name, err)
			}
			places[name] = value
		}
		return operation, places, nil
	}
	if len(others) > 0 {
		slices.Sort(others)
		return nil, nil, fmt.Errorf("%s %s: GitHub has no such operation; it has %s", method, path, strings.Join(others, ", "))
	}
	return nil, nil, fmt.Errorf("%s %s: no such operation in github.json: if GitHub has it, add it to operations.txt (README.md says how)", method, path)
}
