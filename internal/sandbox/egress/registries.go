package egress

import (
	_ "embed"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

const (
	// registryDepth is how many levels below the top are looked at.
	registryDepth = 2
	// maxEntries bounds how many files and folders are looked at.
	maxEntries = 20000
)

// ecosystems says what each line of it is.
//
//go:embed registries.txt
var ecosystems string

// hostsByFile are the hosts of ecosystems by the names, or endings, of files.
func hostsByFile() map[string][]string {
	byFile := map[string][]string{}
	for line := range strings.Lines(ecosystems) {
		files, hosts, ok := strings.Cut(line, "->")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		for _, name := range strings.Fields(files) {
			byFile[name] = append(byFile[name], strings.Fields(hosts)...)
		}
	}
	return byFile
}

// Registries are the hosts of package registries and toolchains for the languages
// of a repository, sorted: what files at its top, and one or two levels below, tell.
// Links are not followed, nor folders that hold what was installed or built.
func Registries(root *os.Root) []string {
	byFile := hostsByFile()
	var found []string
	left := maxEntries
	folders := []string{"."}
	for depth := 0; depth <= registryDepth && left > 0; depth++ {
		var below []string
		for _, folder := range folders {
			list(root, folder, &left, func(name string, kind fs.FileMode) {
				switch {
				case kind.IsDir() && !skipped(name):
					below = append(below, path.Join(folder, name))
				case kind.IsRegular():
					name = strings.ToLower(name)
					found = append(found, byFile[name]...)
					found = append(found, byFile[path.Ext(name)]...)
				}
			})
		}
		folders = below
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// list goes through a folder until left entries were seen. What cannot be read is
// passed over.
func list(root *os.Root, folder string, left *int, each func(string, fs.FileMode)) {
	if *left <= 0 {
		return
	}
	f, err := root.Open(folder)
	if err != nil {
		return
	}
	defer f.Close()
	for *left > 0 {
		entries, err := f.ReadDir(min(*left, 256))
		for _, e := range entries {
			*left--
			each(e.Name(), e.Type())
		}
		if err != nil || len(entries) == 0 {
			return
		}
	}
}

func skipped(name string) bool {
	return slices.Contains([]string{".git", "node_modules", "vendor", "target", "dist", "build", "testdata", ".venv", "venv", "__pycache__", ".ralph"}, name)
}
