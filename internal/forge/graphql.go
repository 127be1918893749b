package forge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// errNoGraphQL says that the forge has no GraphQL API.
var errNoGraphQL = errors.New("the forge has no GraphQL API: set GITHUB_GRAPHQL_URL, or do it by hand")

// graphQLError is a refusal, which GraphQL sends with status 200.
type graphQLError struct {
	kind string // FORBIDDEN, NOT_FOUND, UNPROCESSABLE, …
	said string // cleaned
}

func (e *graphQLError) Error() string { return "the forge refused it: " + e.said }

// graphQL asks one question and decodes its data. The error is errNoGraphQL, a
// *graphQLError, or one of call.
func (c *Client) graphQL(ctx context.Context, query string, variables map[string]any, data any) error {
	if c.graphQLURL == "" {
		return errNoGraphQL
	}
	question := map[string]any{"query": query}
	if len(variables) > 0 {
		question["variables"] = variables
	}
	var answer struct {
		Data   json.RawMessage `json:"data"`
		Errors []struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"errors"`
	}
	if err := c.call(ctx, http.MethodPost, c.graphQLURL, question, &answer); err != nil {
		return err
	}
	if len(answer.Errors) > 0 {
		return &graphQLError{answer.Errors[0].Type, c.transport.clean(answer.Errors[0].Message)}
	}
	if len(answer.Data) == 0 {
		return &graphQLError{said: "an answer without data"}
	}
	return json.Unmarshal(answer.Data, data)
}

// explainGraphQL is explain for an error of graphQL.
func (c *Client) explainGraphQL(operation, permission string, err error) error {
	var refused *graphQLError
	switch {
	case errors.As(err, &refused) && refused.kind == "FORBIDDEN":
		return &PermissionError{Operation: operation + " in " + c.where(), Permission: permission, Message: refused.said}
	case errors.As(err, &refused), errors.Is(err, errNoGraphQL):
		return fmt.Errorf("%s in %s: %w", operation, c.where(), err)
	}
	return c.explain(operation, permission, err)
}
