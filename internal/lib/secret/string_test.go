package secret

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestStringIsNeverPrinted(t *testing.T) {
	t.Parallel()
	const value = "hunter2-hunter2"
	type config struct {
		Token  String
		hidden String
		List   []String
		Map    map[string]*String
	}
	s := New(value)
	c := config{Token: s, hidden: s, List: []String{s}, Map: map[string]*String{"a": &s}}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T"} {
		for _, v := range []any{s, &s, c, &c} {
			if got := fmt.Sprintf(verb, v); strings.Contains(got, value) || strings.Contains(got, fmt.Sprintf("%x", value)) {
				t.Errorf("Sprintf(%q) = %q, shows the value", verb, got)
			}
		}
	}
	got, err := json.Marshal(c)
	if err != nil || strings.Contains(string(got), value) || !strings.Contains(string(got), Mask) {
		t.Errorf("Marshal = %s, %v, want masks", got, err)
	}
	if err := fmt.Errorf("login with %v: %w", s, fmt.Errorf("denied %s", s)); strings.Contains(err.Error(), value) {
		t.Errorf("error %q shows the value", err)
	}
}

func TestStringReveals(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"", "x", "hunter2"} {
		s := New(value)
		if s.Reveal() != value || s.IsSet() != (value != "") {
			t.Errorf("New(%q): Reveal() = %q, IsSet() = %v", value, s.Reveal(), s.IsSet())
		}
	}
	var zero String
	if zero.String() != "" || zero.Reveal() != "" {
		t.Errorf("zero: String() = %q, Reveal() = %q, want nothing", zero, zero.Reveal())
	}
}
