package install

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
)

const (
	stampName  = "ralph-install.json"
	stampLimit = 64 << 10 // bytes
	binFolder  = "bin"
	tarballs   = "npm-cache" // npm's cache, in which it finds what it fetched by checksum
)

// stamp is written last, by us: a directory without it is not whole.
type stamp struct {
	Package   string    `json:"package"`
	Version   string    `json:"version"`
	Program   string    `json:"program"`
	Integrity string    `json:"integrity"`
	Platform  string    `json:"platform"` // GOOS/GOARCH
	Files     int       `json:"files"`    // as measure counts them
	Bytes     int64     `json:"bytes"`
	Tree      string    `json:"tree"` // see digest
	Installed time.Time `json:"installed"`
}

// errNone: there is no installation.
var errNone = errors.New("not installed")

// Find looks for a whole installation that only root and we could have
// changed. A version that is not exact finds the newest one. It changes nothing,
// and does not read the files. What is broken, partial, of another platform or not
// ours counts as not found; the error is for a root that cannot be read.
func Find(root string, p Package) (Installed, bool, error) {
	if err := p.check(); err != nil {
		return Installed{}, false, err
	}
	if exactForm.MatchString(p.Version) {
		in, err := whole(root, p)
		return in, err == nil, nil
	}
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return Installed{}, false, nil
	} else if err != nil {
		return Installed{}, false, fmt.Errorf("look for installed agents: %w", err)
	}
	var best Installed
	for _, e := range entries {
		version, ours := strings.CutPrefix(e.Name(), p.folder(""))
		if !ours || !exactForm.MatchString(version) || best.Dir != "" && compare(version, best.Version) <= 0 {
			continue
		}
		if in, err := whole(root, Package{p.Name, p.Program, version}); err == nil {
			best = in
		}
	}
	return best, best.Dir != "", nil
}

// Of is the directory of the installation that a file lies in, links resolved: the
// program needs all of it, because what it depends on lies beside its package. ok
// is false for what was installed otherwise.
func Of(program string) (dir string, ok bool) {
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return "", false
	}
	for dir = filepath.Dir(real); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if !strings.Contains(filepath.Base(dir), "@") {
			continue
		}
		if s, err := readStamp(dir); err == nil && filepath.Base(dir) == (Package{Name: s.Package}).folder(s.Version) {
			return dir, true
		}
	}
	return "", false
}

// directory is the name of the directory of a version. A plus stands for the slash of
// a scope: no name has one.
func (p Package) folder(version string) string {
	return strings.ReplaceAll(strings.TrimPrefix(p.Name, "@"), "/", "+") + "@" + version
}

// Place is where an exact version is, or will be installed; ok is false for a tag. Nothing
// need be there.
func Place(root string, p Package) (in Installed, ok bool) {
	if p.check() != nil || !exactForm.MatchString(p.Version) {
		return Installed{}, false
	}
	dir := filepath.Join(root, p.folder(p.Version))
	return Installed{Dir: dir, Bin: filepath.Join(dir, binFolder), Version: p.Version}, true
}

// whole is the installation of an exact version, if its directory holds all that its
// stamp speaks of and only we could have changed. The error is errNone, or
// says why it is not used.
func whole(root string, p Package) (Installed, error) {
	dir := filepath.Join(root, p.folder(p.Version))
	switch info, err := os.Lstat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return Installed{}, errNone
	case err != nil:
		return Installed{}, err
	case !info.IsDir():
		return Installed{}, errors.New("it is no directory")
	}
	s, err := readStamp(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return Installed{}, errors.New("it is not whole")
	}
	files, bytes, ours := measure(dir)
	if ours != nil {
		return Installed{}, ours
	}
	if err != nil || s.Package != p.Name || s.Version != p.Version || s.Platform != platform() || !strings.HasPrefix(s.Integrity, "sha512-") || files < s.Files || bytes < s.Bytes {
		return Installed{}, errors.New("it is not whole, or of another machine")
	}
	program, err := programIn(dir, p)
	if err != nil {
		return Installed{}, err
	}
	return Installed{
		Dir: dir, Bin: filepath.Join(dir, binFolder), Program: program,
		Version: p.Version, Integrity: s.Integrity, Files: files, Bytes: bytes, tree: s.Tree,
	}, nil
}

// unchanged is the installation of whole, if its files are what they were when it was
// stamped.
func unchanged(root string, p Package) (Installed, error) {
	in, err := whole(root, p)
	if err != nil {
		return in, err
	}
	switch tree, err := digest(in.Dir); {
	case err != nil:
		return Installed{}, err
	case tree != in.tree:
		return Installed{}, errors.New("its files are not what they were when it was installed")
	}
	return in, nil
}

// programIn is the path of the program, which leads to a file of the
// installation that may be executed.
func programIn(dir string, p Package) (string, error) {
	program := filepath.Join(dir, binFolder, p.Program)
	top, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return "", err
	}
	if rel, err := filepath.Rel(top, real); err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%s leads out of the installation", p.Program)
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return "", fmt.Errorf("%s is no program", p.Program)
	}
	return program, nil
}

// measure counts files and links, and the bytes of files, of one with several
// names once. The stamp and the tarballs do not count. The error names what somebody
// else than root and us owns or may write.
func measure(dir string) (files int, bytes int64, err error) {
	seen := map[uint64]bool{} // by inode: an installation is on one file system
	err = walk(dir, func(path string, info fs.FileInfo) error {
		st, ok := info.Sys().(*syscall.Stat_t)
		switch {
		case ok && st.Uid != 0 && int(st.Uid) != os.Geteuid():
			return fmt.Errorf("%s belongs to the user %d, who could have changed it", path, st.Uid)
		case info.Mode()&fs.ModeSymlink == 0 && info.Mode()&0o022 != 0:
			return fmt.Errorf("%s may be written by others (%v), who could have changed it", path, info.Mode())
		case info.IsDir() || path == filepath.Join(dir, stampName):
			return nil
		}
		files++
		if ok && st.Nlink > 1 {
			if seen[st.Ino] {
				return nil
			}
			seen[st.Ino] = true
		}
		if info.Mode().IsRegular() {
			bytes += info.Size()
		}
		return nil
	})
	return files, bytes, err
}

// digest is a checksum of all names, contents, links and rights to execute in a
// directory, but for the stamp and the tarballs.
func digest(dir string) (string, error) {
	sums := map[uint64]string{} // by inode
	all := sha256.New()
	err := walk(dir, func(path string, info fs.FileInfo) (err error) {
		if path == filepath.Join(dir, stampName) {
			return nil
		}
		content := ""
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			content, err = os.Readlink(path)
		case info.Mode().IsRegular():
			st, ok := info.Sys().(*syscall.Stat_t)
			if ok && sums[st.Ino] != "" {
				content = sums[st.Ino]
			} else if content, err = fileSum(path); ok {
				sums[st.Ino] = content
			}
		}
		fmt.Fprintf(all, "%q %v %t %q\n", strings.TrimPrefix(path, dir), info.Mode().Type(), info.Mode()&0o100 != 0, content)
		return err
	})
	return hex.EncodeToString(all.Sum(nil)), err
}

func fileSum(path string) (string, error) {
	f, err := os.OpenFile(path, openFlags, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return hex.EncodeToString(sum.Sum(nil)), err
}

// walk visits an installation in the order of names, but for the tarballs.
func walk(dir string, visit func(path string, info fs.FileInfo) error) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path == filepath.Join(dir, tarballs) {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return visit(path, info)
	})
}

func platform() string { return runtime.GOOS + "/" + runtime.GOARCH }

func readStamp(dir string) (s stamp, err error) {
	f, err := os.OpenFile(filepath.Join(dir, stampName), openFlags, 0)
	data, err := bounded(f, err, stampLimit)
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(data, &s)
}

// writeStamp writes it into an open tree, which lies at dir.
func writeStamp(root *os.Root, dir string, p Package, integrity string) error {
	s := stamp{
		Package: p.Name, Version: p.Version, Program: p.Program, Integrity: integrity,
		Platform: platform(), Installed: time.Now().UTC().Truncate(time.Second),
	}
	var err error
	if s.Files, s.Bytes, err = measure(dir); err != nil {
		return err
	}
	if s.Tree, err = digest(dir); err != nil {
		return err
	}
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	if err := root.RemoveAll(stampName); err != nil { // the package's scripts may have put something there
		return err
	}
	f, err := root.OpenFile(stampName, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	return errors.Join(err, f.Close())
}

// maxPackages bounds the packages of one program that are looked at.
const maxPackages = 2000

// packageName is a name that npm accepts. No other leads out of a node_modules.
var packageName = lazyregexp.New(`^(@[\w~-][\w.~-]*/)?[\w~-][\w.~-]*$`)

// Needs are the directories of the packages that the npm package in the directory dir loads and
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

// nearest is the directory of the package that a file in dir gets by a name. A link that
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

// isPackage reports whether a directory is one of a node_modules.
func isPackage(dir string) bool {
	parent := filepath.Dir(dir)
	if strings.HasPrefix(filepath.Base(parent), "@") {
		parent = filepath.Dir(parent)
	}
	return filepath.Base(parent) == "node_modules"
}

const linkLimit = 40 // as the kernel's

// PathOutside is a PATH without what the agent can write: directories of the
// workspace, directories that a link in or into it leads to, and those that are not
// absolute, which would be searched for below wherever a child stands.
func PathOutside(path, workspace string) string {
	dirs := slices.DeleteFunc(filepath.SplitList(path), func(dir string) bool {
		return !filepath.IsAbs(dir) || leadsThrough(dir, workspace)
	})
	return strings.Join(dirs, string(filepath.ListSeparator))
}

// leadsThrough reports whether an absolute path, or a link on its way, passes through
// a directory: whoever can write there decides what is at its end. The directory is
// known by its inode, whatever name it is mounted under. An empty directory is none.
func leadsThrough(path, folder string) bool {
	top, err := os.Stat(folder)
	if folder == "" || err != nil {
		return false
	}
	at, links := string(filepath.Separator), 0
	if info, err := os.Lstat(at); err == nil && os.SameFile(info, top) {
		return true
	}
	for rest := split(path); len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		here := filepath.Join(at, part)
		info, err := os.Lstat(here)
		switch {
		case err != nil:
			return false // it leads nowhere
		case os.SameFile(info, top):
			return true
		case info.Mode()&fs.ModeSymlink == 0:
			at = here
			continue
		}
		to, err := os.Readlink(here)
		if links++; err != nil || links > linkLimit {
			return false
		}
		if filepath.IsAbs(to) {
			at = string(filepath.Separator)
		}
		rest = append(split(to), rest...)
	}
	return false
}

func split(path string) []string { return strings.Split(path, string(filepath.Separator)) }
