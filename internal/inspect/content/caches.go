package content

import "strings"

// caches are what tools leave behind and no repository is meant to hold: names that
// mean nothing else. What can be a project's own (build, dist, target, coverage) is
// none of them.
func caches() []string {
	return []string{
		// Python
		"__pycache__/", "*.pyc", "*.pyo", ".pytest_cache/", ".mypy_cache/", ".ruff_cache/", ".hypothesis/", ".tox/", ".nox/", ".venv/",
		// JavaScript
		"node_modules/", ".nyc_output/", ".eslintcache", ".parcel-cache/", "*.tsbuildinfo",
		// others
		".gradle/", ".phpunit.cache/", ".phpunit.result.cache",
		// coverage
		".coverage", ".coverage.*", "!.coveragerc", "/coverage.out", "/coverage.xml", "/lcov.info", "*.profraw", "*.gcda",
		// desktops
		".DS_Store", "Thumbs.db",
		// what tests are made of
		"!**/testdata/", "!**/fixtures/", "!**/__fixtures__/",
	}
}

// Cache picks out caches and what else tools leave behind. It returns the directory or
// file that is one, which is the path or lies above it; empty if none is. The zero
// Cache knows none.
type Cache struct{ patterns Patterns }

// NewCache knows the caches of common tools.
func NewCache() Cache {
	p, _ := Parse(caches()) // a test has parsed them
	return Cache{p}
}

// Of is the cache that holds a path, which is slash-separated, from the top.
func (c Cache) Of(path string) string {
	if c.patterns.Match(path) == "" {
		return ""
	}
	for i := range path {
		if path[i] == '/' && c.patterns.Match(path[:i]) != "" {
			return path[:i]
		}
	}
	return strings.TrimSuffix(path, "/")
}
