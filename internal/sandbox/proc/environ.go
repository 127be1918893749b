package proc

import (
	"slices"
	"strings"
)

// Getenv is the value of a variable in environ, a list of NAME=value; empty if it
// is not set.
func Getenv(environ []string, name string) string {
	for _, kv := range environ {
		if k, v, _ := strings.Cut(kv, "="); k == name {
			return v
		}
	}
	return ""
}

// Setenv returns a copy of environ in which name has the value.
func Setenv(environ []string, name, value string) []string {
	environ = slices.DeleteFunc(slices.Clone(environ), func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
	return append(environ, name+"="+value)
}
