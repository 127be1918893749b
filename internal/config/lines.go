package config

import (
	"errors"
	"strings"

	"github.com/org/ralph-action/internal/config/problem"
)

// ErrorLines splits an error into the lines that are shown, one per problem; nil if err
// is nil.
func ErrorLines(err error) []string {
	if err == nil {
		return nil
	}
	var problems *problem.Problems
	if errors.As(err, &problems) {
		out := make([]string, len(problems.List))
		for i, p := range problems.List {
			out[i] = p.String()
		}
		return out
	}
	return strings.Split(err.Error(), "\n")
}
