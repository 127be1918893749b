package install

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
)

// maxPackages bounds the packages of one program that are looked at.
const maxPackages = 2000

// packageName is a name that npm accepts. No other leads out of a node_modules.
var packageName = lazyregexp.New(`^(@[\w~-][\w.~-]*/)?[\w~-][\w.~-]*$`)

// Needs are the folders of the packages that the npm package in the folder dir loads and
// that do not lie in it, links resolved: npm puts what is for one platform only, and
// what several packages depend on, beside it. They are found as Node finds them: in the
// nearest node_modules at or above a package. What is not there is left out.
func Needs(dir string) []string {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil
	}
	seen, outside := map[string]bool{real: true}, []string{}
	for queue := []string{real}; len(queue) > 0 && len(seen) < maxPackages; queue = queue[1:] {
		for _, name := range dependencies(queue[0]) {
			found, ok := nearest(queue[0], name)
			if !ok || seen[found] {
				continue
			}
			seen[found] = true
			queue = append(queue, found)
			if !strings.HasPrefix(found, real+string(filepath.Separator)) {
				outside = append(outside, found)
			}
		}
	}
	return outside
}

// dependencies are the names of the packages that the one in dir depends on.
func dependencies(dir string) []string {
	f, err := os.OpenFile(filepath.Join(dir, "package.json"), openFlags, 0) // #nosec G304 -- of a program that is to be run
	data, err := bounded(f, err, manifestLimit)
	var m struct {
		Dependencies         map[string]any `json:"dependencies"`
		OptionalDependencies map[string]any `json:"optionalDependencies"`
		PeerDependencies     map[string]any `json:"peerDependencies"`
	}
	if err != nil || json.Unmarshal(data, &m) != nil {
		return nil
	}
	names := slices.Concat(slices.Collect(maps.Keys(m.Dependencies)), slices.Collect(maps.Keys(m.OptionalDependencies)), slices.Collect(maps.Keys(m.PeerDependencies)))
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return !packageName.MatchString(name) })
}

// nearest is the folder of the package that a file in dir gets by a name. A link that
// leads to anything but a package opens nothing.
func nearest(dir, name string) (found string, ok bool) {
	for ; ; dir = filepath.Dir(dir) {
		if filepath.Base(dir) != "node_modules" {
			real, err := filepath.EvalSymlinks(filepath.Join(dir, "node_modules", filepath.FromSlash(name)))
			if err == nil {
				info, err := os.Stat(filepath.Join(real, "package.json"))
				return real, err == nil && info.Mode().IsRegular() && isPackage(real)
			}
		}
		if dir == filepath.Dir(dir) {
			return "", false
		}
	}
}

// isPackage reports whether a folder is one of a node_modules.
func isPackage(dir string) bool {
	parent := filepath.Dir(dir)
	if strings.HasPrefix(filepath.Base(parent), "@") {
		parent = filepath.Dir(parent)
	}
	return filepath.Base(parent) == "node_modules"
}
