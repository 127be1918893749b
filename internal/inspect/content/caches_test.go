package content_test

import (
	"testing"

	"github.com/org/ralph-action/internal/inspect/content"
)

func TestCaches(t *testing.T) {
	t.Parallel()
	c := content.NewCache()
	for path, want := range map[string]string{
		"src/__pycache__/a.cpython-313.pyc": "src/__pycache__",
		"a.pyc":                             "a.pyc",
		"node_modules/x/index.js":           "node_modules",
		"web/node_modules/x/y/z.js":         "web/node_modules",
		".DS_Store":                         ".DS_Store",
		"docs/.DS_Store":                    "docs/.DS_Store",
		".coverage":                         ".coverage",
		".coverage.host.1":                  ".coverage.host.1",
		"coverage.xml":                      "coverage.xml",

		".coveragerc":                       "",
		"internal/coverage.xml":             "",
		"coverage/main.go":                  "",
		"build/out.js":                      "",
		"node_modules.txt":                  "",
		"test/fixtures/node_modules/a/a.js": "",
		"pkg/testdata/__pycache__/a.pyc":    "",
		"src/pycache.py":                    "",
		"src/main.go":                       "",
		"package-lock.json":                 "",
		"src/__snapshots__/a.test.js.snap":  "",
		"cache/redis.go":                    "",
	} {
		if got := c.Of(path); got != want {
			t.Errorf("Of(%q) = %q, want %q", path, got, want)
		}
	}
	if got := (content.Cache{}).Of("a.pyc"); got != "" {
		t.Errorf("zero Cache: Of(a.pyc) = %q, want nothing", got)
	}
}
