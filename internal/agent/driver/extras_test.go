package driver

import "testing"

// A file that was half edited is no JSON object, whatever its beginning is.
func TestDecodeJSON(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		`{"a":1}`: true, " {} \n": true,
		"": false, "null": false, "[]": false, `{"a":1} x`: false, `{"a":1}}`: false, `{"a":1},`: false, `{"a":1} null`: false, `{"a":1} {}`: false,
	} {
		if m, err := DecodeJSON(text); (err == nil) != ok {
			t.Errorf("DecodeJSON(%q) = %v, %v", text, m, err)
		}
	}
}
