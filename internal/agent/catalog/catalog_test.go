package catalog_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/agent/catalog"
)

// A row lacks nothing that is needed of each.
func TestRows(t *testing.T) {
	t.Parallel()
	var seen []string
	for _, a := range catalog.All() {
		if a.Name == "" || slices.Contains(seen, a.Name) {
			t.Errorf("the name %q is empty or stands twice", a.Name)
		}
		seen = append(seen, a.Name)
		if !reflect.DeepEqual(catalog.Of(a.Name), a) {
			t.Errorf("Of(%q) is not its row", a.Name)
		}
		if a.Own() {
			if len(a.Credentials()) > 0 || len(a.Programs) > 0 || a.Program != "" {
				t.Errorf("%s is a program of the user's: nothing is known of it", a.Name)
			}
		} else {
			for field, missing := range map[string]bool{
				"Program": a.Program == "", "Version": a.Version == "", "Size": a.Size == "", "Variables": len(a.Keys()) == 0,
				"Programs": len(a.Programs) == 0, "Prose": len(a.Prose) == 0,
				"Doc.Tried": a.Doc.Tried == "", "Doc.NotSeen": a.Doc.NotSeen == "",
			} {
				if missing {
					t.Errorf("%s: the row of a CLI lacks %s", a.Name, field)
				}
			}
		}
		for _, p := range a.Providers {
			if p.Key != "" && !slices.Contains(a.Credentials(), p.Key) {
				t.Errorf("%s is not handed %s, the key of %s", a.Name, p.Key, p.Name)
			}
		}
		if a.About == "" || a.Doc.Key == "" || a.Doc.Cost == "" || len(a.Doc.Hosts) == 0 {
			t.Errorf("%s: the documents lack something", a.Name)
		}
		for _, cells := range []any{a.Doc.Takes, a.Doc.Holds} {
			v := reflect.ValueOf(cells)
			for i := range v.NumField() {
				if text := v.Field(i).String(); text == "" || strings.ContainsAny(text, "|\n") {
					t.Errorf("%s: the cell %s is %q", a.Name, v.Type().Field(i).Name, text)
				}
			}
		}
		if goesOn := !strings.HasPrefix(a.Doc.Holds.Session, "no"); goesOn != a.Sessions {
			t.Errorf("%s: Sessions is %v, and the documents say %q", a.Name, a.Sessions, a.Doc.Holds.Session)
		}
	}
	if a := catalog.Of("nobody"); a.Name != "" || a.Own() {
		t.Errorf("Of(nobody) = %+v, want nothing", a)
	}
}

// Each CLI has a lock of its tested version, with checksums for Linux on amd64.
func TestLocks(t *testing.T) {
	t.Parallel()
	for _, a := range catalog.All() {
		if a.Own() {
			continue
		}
		path := filepath.Join("..", "install", "locks", a.Program)
		data, err := os.ReadFile(filepath.Join(path, "package-lock.json"))
		var lock struct {
			Packages map[string]struct{ Version, Resolved, Integrity string }
		}
		if err == nil {
			err = json.Unmarshal(data, &lock)
		}
		if got := lock.Packages["node_modules/"+a.Package].Version; err != nil || got != a.Version {
			t.Errorf("the lock of %s has version %q, %v, want %s: run npm install --package-lock-only --ignore-scripts --save-exact --prefix internal/agent/install/locks/%s %s@%s", a.Name, got, err, a.Version, a.Program, a.Package, a.Version)
		}
		delete(lock.Packages, "")
		for name, p := range lock.Packages {
			if !strings.HasPrefix(p.Integrity, "sha512-") || !strings.HasPrefix(p.Resolved, "https://registry.npmjs.org/") {
				t.Errorf("%s of %s comes from %q with the checksum %q", name, a.Name, p.Resolved, p.Integrity)
			}
		}
	}
}
