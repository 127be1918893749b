package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const conformance = "docs/internals/conformance.md"

// promises are the numbers of all rows, in order.
func promises() []string {
	var ids []string
	for _, dialect := range []struct {
		number string
		rows   int
	}{{"000", 43}, {"001", 44}, {"002", 21}, {"003", 34}, {"004", 13}} {
		for row := 1; row <= dialect.rows; row++ {
			id := fmt.Sprintf("%s-%02d", dialect.number, row)
			ids = append(ids, id)
			if id == "001-30" {
				ids = append(ids, id+"a")
			}
		}
	}
	return ids
}

// Every promise has a row, and every row a test that names it.
func TestConformance(t *testing.T) {
	t.Parallel()
	want, seen := promises(), []string{}
	for line := range strings.Lines(read(t, conformance)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		id := strings.TrimSpace(cells[0])
		if !regexp.MustCompile(`^[0-9]{3}-`).MatchString(id) {
			continue
		}
		switch {
		case len(cells) != 3 || strings.TrimSpace(cells[1]) == "":
			t.Errorf("%s: %s is no row of number, promise and tests", conformance, id)
			continue
		case !slices.Contains(want, id):
			t.Errorf("%s: %s is no promise", conformance, id)
		case slices.Contains(seen, id):
			t.Errorf("%s: %s is there twice", conformance, id)
		}
		seen = append(seen, id)
		tests := regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(cells[2], -1)
		if len(tests) == 0 {
			t.Errorf("%s: %s has no test", conformance, id)
		}
		for _, m := range tests {
			if err := shows(m[1], id); err != nil {
				t.Errorf("%s: %s: %v", conformance, id, err)
			}
		}
	}
	for _, id := range want {
		if !slices.Contains(seen, id) {
			t.Errorf("%s: %s is missing", conformance, id)
		}
	}
	if !t.Failed() && !slices.Equal(seen, want) {
		t.Errorf("%s: the rows are not in order", conformance)
	}
}

// shows says what is wrong with a test that is to show a promise: SCRIPT.txtar
// or FILE_test.go:TestName.
func shows(test, id string) error {
	path, function, inGo := strings.Cut(test, ":")
	switch {
	case inGo && strings.HasSuffix(path, "_test.go"):
	case !inGo && strings.HasPrefix(path, "cmd/ralph/testdata/script/") && strings.HasSuffix(path, ".txtar"):
	default:
		return fmt.Errorf("%s is neither a script nor FILE_test.go:TestName", test)
	}
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
	if err != nil {
		return err
	}
	if inGo && !strings.Contains(string(data), "\nfunc "+function+"(t *testing.T)") {
		return fmt.Errorf("%s has no test %s", path, function)
	}
	if !regexp.MustCompile(`\b` + id + `\b`).Match(data) {
		return fmt.Errorf("%s does not name it", path)
	}
	return nil
}
