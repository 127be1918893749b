package internal_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	maxMain    = 100  // lines of package main
	maxFields  = 15   // of a struct of the pipeline
	maxSubject = 20   // of a struct of the configuration
	maxPackage = 3500 // lines of a package without its tests
)

// reason finds in the comment of a package why it may be larger.
var reason = regexp.MustCompile(`(?m)^// It is large: \S`)

func TestMainIsSmall(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../cmd/ralph/*.go")
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines += bytes.Count(source, []byte("\n"))
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			pkg, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module)
			if ours && pkg != "cli" && pkg != "run" {
				t.Errorf("%s imports %s: package main imports cli and run only", name, pkg)
			}
		}
	}
	if lines == 0 || lines > maxMain {
		t.Errorf("package main has %d lines, want 1 to %d", lines, maxMain)
	}
}

func TestStructsAreSmall(t *testing.T) {
	t.Parallel()
	structsAreSmall(t, "run/*.go", maxFields)
	structsAreSmall(t, "config/config.go", maxSubject)
}

func structsAreSmall(t *testing.T, pattern string, most int) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			body, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			seen++
			if n := body.Fields.NumFields(); n > most {
				t.Errorf("%s: %s has %d fields, want at most %d", name, spec.Name.Name, n, most)
			}
			return true
		})
	}
	if seen == 0 {
		t.Error("no struct was looked at")
	}
}

func TestPackagesAreSmall(t *testing.T) {
	t.Parallel()
	lines, excused := map[string]int{}, map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		name := filepath.ToSlash(filepath.Dir(path))
		lines[name] += bytes.Count(source, []byte("\n"))
		comment, _, _ := bytes.Cut(source, []byte("\npackage "))
		excused[name] = excused[name] || reason.Match(comment)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, n := range lines {
		switch {
		case n > maxPackage && !excused[name]:
			t.Errorf("internal/%s has %d lines, want at most %d, or a line in its comment that begins \"It is large: \" and says why", name, n, maxPackage)
		case n <= maxPackage && excused[name]:
			t.Errorf("internal/%s has %d lines: it needs no reason for more", name, n)
		}
	}
}
