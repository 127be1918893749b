package openapi

import "testing"

// GitHub's own examples pass, so that what is refused is refused for a reason.
func TestExamplesPass(t *testing.T) {
	t.Parallel()
	d, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	examples, err := d.examples()
	if err != nil || len(examples) < 50 {
		t.Fatalf("%d examples, %v, want one of nearly every operation", len(examples), err)
	}
	for _, e := range examples {
		if err := d.Check(e); err != nil {
			t.Errorf("%v", err)
		}
	}
}
