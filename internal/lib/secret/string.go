// Package secret keeps credentials out of everything that is printed: values
// that cannot be formatted, and a redactor that finds them in streams.
package secret

import "fmt"

// String is a value that no formatting verb, JSON or YAML encoder shows. The
// value stands behind a pointer, because %+v prints unexported fields. The
// zero value is an absent secret.
type String struct{ value *string }

// New wraps a value; the empty string gives the zero String.
func New(value string) String {
	if value == "" {
		return String{}
	}
	return String{value: &value}
}

// Reveal is the only way to the value; "" when absent.
func (s String) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// IsSet reports whether there is a value.
func (s String) IsSet() bool { return s.value != nil }

// String never shows the value.
func (s String) String() string {
	if s.value == nil {
		return ""
	}
	return "***"
}

// Format hides the value from every verb, %d of the pointer included.
func (s String) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, s.String()) }

// MarshalText hides the value from every text encoder, JSON and YAML included.
func (s String) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
