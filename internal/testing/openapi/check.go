package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// Exchange is a request and its answer.
type Exchange struct {
	Method string
	Path   string // escaped as it was sent, below the address of the API
	Query  string
	// RequestType and AnswerType are the values of Content-Type.
	RequestType string
	Request     []byte
	Status      int
	AnswerType  string
	Answer      []byte
}

// Check says what GitHub would not accept in the request and could not have
// answered, all of it, one on each line.
func (d *Description) Check(e Exchange) error {
	return errors.Join(d.CheckRequest(e), d.CheckAnswer(e))
}

// CheckRequest checks the operation, its parameters and its body. Parameters
// and properties that the description does not name are errors.
func (d *Description) CheckRequest(e Exchange) error {
	operation, places, err := d.find(e.Method, e.Path)
	if err != nil {
		return err
	}
	query, err := url.ParseQuery(e.Query)
	if err != nil {
		return fmt.Errorf("%s %s: query: %w", e.Method, e.Path, err)
	}
	var problems []error
	known := map[string]bool{}
	for _, ref := range operation.Parameters {
		parameter := ref.Value
		var values []string
		switch parameter.In {
		case openapi3.ParameterInPath:
			values = []string{places[parameter.Name]}
		case openapi3.ParameterInQuery:
			known[parameter.Name] = true
			values = query[parameter.Name]
		default:
			continue
		}
		problems = append(problems, checkParameter(parameter, values))
	}
	for name := range query {
		if !known[name] {
			problems = append(problems, fmt.Errorf("query: GitHub knows no %q here", name))
		}
	}
	problems = append(problems, checkRequestBody(operation, e))
	return about(e, "request", problems)
}

func checkParameter(parameter *openapi3.Parameter, values []string) error {
	where := parameter.In + ": " + parameter.Name
	switch {
	case len(values) == 0 && parameter.Required:
		return fmt.Errorf("%s is missing", where)
	case len(values) == 0:
		return nil
	case len(values) > 1:
		return fmt.Errorf("%s stands there %d times", where, len(values))
	}
	schema := parameter.Schema.Value
	if err := visit(schema, scalar(schema, values[0])); err != nil {
		return fmt.Errorf("%s is %q: %w", where, values[0], err)
	}
	return nil
}

// scalar reads a parameter as the type it should have; what cannot be read as
// it stays a string, which the schema then refuses.
func scalar(schema *openapi3.Schema, text string) any {
	switch {
	case schema.Type.Permits(openapi3.TypeInteger), schema.Type.Permits(openapi3.TypeNumber):
		if n, err := strconv.ParseFloat(text, 64); err == nil {
			return n
		}
	case schema.Type.Permits(openapi3.TypeBoolean):
		if b, err := strconv.ParseBool(text); err == nil {
			return b
		}
	}
	return text
}

func checkRequestBody(operation *openapi3.Operation, e Exchange) error {
	body := operation.RequestBody
	switch {
	case len(e.Request) == 0 && body != nil && body.Value.Required:
		return errors.New("the body is missing")
	case len(e.Request) == 0:
		return nil
	case body == nil:
		return errors.New("GitHub wants no body here")
	}
	return checkBody(body.Value.Content, e.RequestType, e.Request)
}

// CheckAnswer checks the status and what is in the body. Not checked are:
//
//   - the body of a failure (4xx, 5xx), because tests play broken forges;
//   - statuses of failure and redirection that the description leaves out, as it
//     does most of 401, 403, 429 and 5xx;
//   - properties that the description does not name: GitHub adds some now and
//     then without a new version of the API.
func (d *Description) CheckAnswer(e Exchange) error {
	operation, _, err := d.find(e.Method, e.Path)
	if err != nil {
		return err
	}
	if e.Status >= http.StatusMultipleChoices {
		return nil
	}
	answer := operation.Responses.Status(e.Status)
	if answer == nil {
		var can []string
		for status := range operation.Responses.Map() {
			can = append(can, status)
		}
		slices.Sort(can)
		return about(e, "answer", []error{fmt.Errorf("GitHub never answers %d here, but %s", e.Status, strings.Join(can, ", "))})
	}
	content := answer.Value.Content
	switch {
	case e.Method == http.MethodHead:
		return nil
	case len(content) == 0 && len(e.Answer) > 0:
		return about(e, "answer", []error{errors.New("GitHub answers without a body here")})
	case len(content) == 0:
		return nil
	}
	return about(e, "answer", []error{checkBody(content, e.AnswerType, e.Answer)})
}

// checkBody takes a missing or sniffed Content-Type for JSON: test servers
// leave it out, and no client of ours reads it.
func checkBody(content openapi3.Content, contentType string, body []byte) error {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil || kind == "text/plain" || strings.HasSuffix(kind, "+json") {
		kind = "application/json"
	}
	media := content[kind]
	if media == nil {
		return fmt.Errorf("content type %q: GitHub has %s here", contentType, strings.Join(kinds(content), ", "))
	}
	var value any
	decoder := json.NewDecoder(bytes.NewReader(body))
	if err := decoder.Decode(&value); err != nil {
		return fmt.Errorf("the body is no JSON: %w", err)
	}
	if decoder.More() {
		return errors.New("the body goes on after its JSON")
	}
	return visit(media.Schema.Value, value)
}

func kinds(content openapi3.Content) []string {
	var all []string
	for kind := range content {
		all = append(all, kind)
	}
	slices.Sort(all)
	return all
}

// visit compares a value with its schema; every problem says where it is.
func visit(schema *openapi3.Schema, value any) error {
	err := schema.VisitJSON(value, openapi3.MultiErrors())
	if err == nil {
		return nil
	}
	var problems []error
	for _, one := range flatten(err) {
		problems = append(problems, plain(one))
	}
	return errors.Join(problems...)
}

func flatten(err error) []error {
	var several openapi3.MultiError
	if !errors.As(err, &several) {
		return []error{err}
	}
	var all []error
	for _, one := range several {
		all = append(all, flatten(one)...)
	}
	return all
}

// plain leaves out the schema and the value, which the library's own text
// repeats over hundreds of lines.
func plain(err error) error {
	var one *openapi3.SchemaError
	if !errors.As(err, &one) {
		return err
	}
	at := strings.Join(one.JSONPointer(), "/")
	if one.Origin != nil {
		return fmt.Errorf("%s: %s (%w)", at, one.Reason, plain(flatten(one.Origin)[0]))
	}
	return fmt.Errorf("%s: %s", at, one.Reason)
}

func about(e Exchange, what string, problems []error) error {
	err := errors.Join(problems...)
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s of %s %s (%d): %w", what, e.Method, e.Path, e.Status, err)
}
