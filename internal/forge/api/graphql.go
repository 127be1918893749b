package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// errNoGraphQL means that the forge has no GraphQL API.
var errNoGraphQL = errors.New("the forge has no GraphQL API: set GITHUB_GRAPHQL_URL, or do it by hand")

// GraphQLError is a refusal, which GraphQL sends with status 200.
type GraphQLError struct {
	Kind string // FORBIDDEN, NOT_FOUND, UNPROCESSABLE, …
	Said string // cleaned
}

func (e *GraphQLError) Error() string { return "the forge refused it: " + e.Said }

// GraphQL asks one question and decodes its data. The error is errNoGraphQL, a
// *GraphQLError, or one of call.
func (c *Client) GraphQL(ctx context.Context, query string, variables map[string]any, data any) error {
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
	if err := c.Call(ctx, http.MethodPost, c.graphQLURL, question, &answer); err != nil {
		return err
	}
	if len(answer.Errors) > 0 {
		return &GraphQLError{answer.Errors[0].Type, c.Clean(answer.Errors[0].Message)}
	}
	if len(answer.Data) == 0 {
		return &GraphQLError{Said: "an answer without data"}
	}
	return json.Unmarshal(answer.Data, data)
}

// ExplainGraphQL is Explain for an error of graphQL.
func (c *Client) ExplainGraphQL(operation, permission string, err error) error {
	var refused *GraphQLError
	switch {
	case errors.As(err, &refused) && refused.Kind == "FORBIDDEN":
		return &PermissionError{Operation: operation + " in " + c.Where(), Permission: permission, Message: refused.Said}
	case errors.As(err, &refused), errors.Is(err, errNoGraphQL):
		return fmt.Errorf("%s in %s: %w", operation, c.Where(), err)
	}
	return c.Explain(operation, permission, err)
}
