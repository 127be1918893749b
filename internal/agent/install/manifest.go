package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
)

const (
	manifestLimit = 1 << 20  // bytes of a package.json
	lockLimit     = 32 << 20 // bytes of a package-lock.json
)

func packageDir(tree string, p Package) string {
	return filepath.Join(tree, "node_modules", filepath.FromSlash(p.Name))
}

// manifest is the part of a package.json that counts here.
type manifest struct {
	Bin     programs          `json:"bin"`
	Scripts map[string]string `json:"scripts"`
}

// programs is `bin` of a package.json: a map, or one path, which is then the
// program named like the package.
type programs map[string]string

// UnmarshalJSON takes both; what is neither counts as none.
func (b *programs) UnmarshalJSON(data []byte) error {
	*b = nil
	var one string
	if json.Unmarshal(data, &one) == nil {
		*b = programs{"": one}
		return nil
	}
	many := map[string]string{}
	if json.Unmarshal(data, &many) == nil {
		*b = many
	}
	return nil
}

// of is the file of the program in a package of this name.
func (b programs) of(p Package) (file string, ok bool) {
	file, ok = b[p.Program]
	if !ok && path.Base(p.Name) == p.Program {
		file, ok = b[""]
	}
	return file, ok
}

func readManifest(root *os.Root, p Package) (m manifest, err error) {
	f, err := root.OpenFile(filepath.Join(packageDir("", p), "package.json"), openFlags, 0)
	data, err := bounded(f, err, manifestLimit)
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		return m, fmt.Errorf("%s was installed without a readable package.json: %w", p, err)
	}
	return m, nil
}

// linkProgram makes bin/PROGRAM, a link to the package's own file: the directory
// goes on PATH, and npm's directory of links holds what its dependencies bring, too.
func linkProgram(root *os.Root, p Package) error {
	m, err := readManifest(root, p)
	if err != nil {
		return err
	}
	file, ok := m.Bin.of(p)
	if !ok {
		names := strings.Join(slices.Sorted(maps.Keys(m.Bin)), ", ")
		if names == "" {
			names = "none"
		}
		return fmt.Errorf("%s has no program %q; its programs: %.200q", p, p.Program, names)
	}
	if file = filepath.Clean(filepath.FromSlash(file)); !filepath.IsLocal(file) {
		return fmt.Errorf("%s names a file outside of itself as %q: %.200q", p, p.Program, file)
	}
	err = root.RemoveAll(binFolder)
	if err == nil {
		err = root.Mkdir(binFolder, 0o755)
	}
	if err == nil {
		target := filepath.Join("..", "node_modules", filepath.FromSlash(p.Name), file)
		err = root.Symlink(target, filepath.Join(binFolder, p.Program))
	}
	if err != nil {
		return fmt.Errorf("link %s: %w", p.Program, err)
	}
	return nil
}

// scriptForm is an install script that node runs: "node install.cjs",
// "node ./postinstall.mjs || true".
var scriptForm = lazyregexp.New(`^node\s+(?:\./)?([A-Za-z0-9_][A-Za-z0-9_./-]*\.[cm]?js)(?:\s*\|\|\s*true)?$`)

// installScript is the file of the package that its install script runs.
func installScript(root *os.Root, p Package) (file string, ok bool) {
	m, err := readManifest(root, p)
	if err != nil {
		return "", false
	}
	for _, stage := range []string{"postinstall", "install"} {
		if found := scriptForm.FindStringSubmatch(strings.TrimSpace(m.Scripts[stage])); found != nil && filepath.IsLocal(found[1]) {
			return found[1], true
		}
	}
	return "", false
}

// lockedIntegrity is npm's checksum of the package. The error says which package
// has none, so that no registry vouches for it, or another than the tested one.
func lockedIntegrity(root *os.Root, p Package) (string, error) {
	f, err := root.OpenFile("package-lock.json", openFlags, 0)
	data, err := bounded(f, err, lockLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s: npm left no package-lock.json, so that no checksum was compared; npm 7 or later writes one", p)
	} else if err != nil {
		return "", fmt.Errorf("%s: %w", p, err)
	}
	var lock packageLock
	if err := json.Unmarshal(data, &lock); err != nil {
		return "", fmt.Errorf("%s: package-lock.json cannot be read: %w", p, err)
	}
	tested, _ := pinned(p)
	for _, name := range slices.Sorted(maps.Keys(lock.Packages)) {
		e := lock.Packages[name]
		if name != "" && !e.InBundle && !strings.HasPrefix(e.Integrity, "sha512-") {
			return "", fmt.Errorf("%s: no sha512 checksum for %.200q in npm's lock file, so it is not used; the registry has to name one", p, name)
		}
		if want, ok := tested.Packages[name]; ok && e.Integrity != want.Integrity {
			return "", fmt.Errorf("%s: %.200q that was installed has the checksum %.200s, and the one that was tested has %s", p, name, e.Integrity, want.Integrity)
		}
	}
	top, ok := lock.Packages["node_modules/"+p.Name]
	switch {
	case !ok:
		return "", fmt.Errorf("%s: npm's lock file does not name it, so that no checksum was compared", p)
	case top.Version != p.Version:
		return "", fmt.Errorf("%s: npm installed %.64q instead", p, top.Version)
	}
	return top.Integrity, nil
}
