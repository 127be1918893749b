package internal_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	maxMain    = 100  // lines of package main
	maxFields  = 15   // of a struct of the pipeline
	maxSubject = 20   // of a struct of the configuration
	maxPackage = 3500 // lines of a package without its tests
)

// large lists the packages that may be larger, and why.
var large = map[string]string{
	"config":     "the table of inputs, and what reads and checks each of them",
	"forge":      "one client of one API, whose answers and errors all calls share",
	"agent/hook": "the hooks and the shell that their guard reads",
	"repo":       "one owner of the branch; to be cut by job",
	"run":        "stages that hand each other values which nothing else needs",
	"tasks":      "a task list: its schema, its transitions, what puts it right",
}

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
	lines := map[string]int{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		lines[filepath.ToSlash(filepath.Dir(path))] += bytes.Count(source, []byte("\n"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, n := range lines {
		if n > maxPackage && large[name] == "" {
			t.Errorf("internal/%s has %d lines, want at most %d, or a reason in the table", name, n, maxPackage)
		}
	}
	for name := range large {
		if lines[name] <= maxPackage {
			t.Errorf("internal/%s has %d lines: it needs no reason in the table", name, lines[name])
		}
	}
}
