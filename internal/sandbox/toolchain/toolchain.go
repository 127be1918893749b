// Package toolchain knows where the tools of a machine lie that earlier steps of a job,
// or their owner, put there: actions/setup-go, setup-python, setup-java and their like.
package toolchain

import (
	"path/filepath"
	"slices"
	"strings"
)

// variables name folders of tools, or lists of such folders. None of them holds
// credentials, or is a folder that a tool keeps credentials in.
var variables = []string{
	"GOROOT",
	"JAVA_HOME", // and JAVA_HOME_17_X64 and so on
	"pythonLocation", "Python_ROOT_DIR", "Python2_ROOT_DIR", "Python3_ROOT_DIR", "VIRTUAL_ENV", "CONDA", "CONDA_PREFIX",
	"DOTNET_ROOT",
	"RUSTUP_HOME",
	"PNPM_HOME", "BUN_INSTALL", "DENO_INSTALL",
	"GEM_HOME", "GEM_PATH",
	"ANDROID_HOME", "ANDROID_SDK_ROOT", "ANDROID_NDK_HOME", "FLUTTER_ROOT",
	"SWIFT_PATH", "VCPKG_INSTALLATION_ROOT", "CHROMEWEBDRIVER", "GECKOWEBDRIVER",
	"LD_LIBRARY_PATH", "PKG_CONFIG_PATH",
	"RUNNER_TOOL_CACHE", "AGENT_TOOLSDIRECTORY",
}

// beside are the names of what a tool has beside the bin that is on PATH. Its whole
// folder is not opened: it may be a project's.
var beside = []string{
	"lib", "lib64", "libexec", "share", "include",
	"src", "pkg", "go.env", "VERSION", // Go
	"conf", "jmods", "jre", "release", // Java
}

// Toolchain is what a child needs in order to use the tools of its machine.
type Toolchain struct {
	Paths []string // to read, absolute; all of them exist
	Env   []string // KEY=VALUE
	Named []Folder // what variables named, opened or not
}

// Folder is one that a variable of the environment names.
type Folder struct{ Variable, Dir, Closed string } // Closed says why it is; empty: it is open

// Find reads an environment. Folders that hold one of private, such as HOME and the
// workspace, stay closed. What is named and does not exist is left out: the environment
// of a job in a container names folders of the machine outside.
func Find(environ, private []string) Toolchain {
	var t Toolchain
	home := ""
	if i := slices.IndexFunc(environ, func(kv string) bool { return strings.HasPrefix(kv, "HOME=") }); i >= 0 {
		home = strings.TrimPrefix(environ[i], "HOME=")
	}
	private = append(slices.Clone(private), home)
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if !slices.Contains(variables, name) && !strings.HasPrefix(name, "JAVA_HOME_") {
			continue
		}
		var there []string
		for dir := range strings.SplitSeq(value, string(filepath.ListSeparator)) {
			why := t.open(dir, private)
			t.Named = append(t.Named, Folder{name, dir, why})
			if why == "" {
				there = append(there, dir)
			}
		}
		if len(there) > 0 {
			t.Env = append(t.Env, name+"="+strings.Join(there, string(filepath.ListSeparator)))
		}
	}
	for _, kv := range environ {
		list, ok := strings.CutPrefix(kv, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(list) {
			if root := filepath.Dir(dir); filepath.Base(dir) == "bin" && !shared(root, home) {
				for _, name := range beside {
					t.open(filepath.Join(root, name), private)
				}
			}
			if home != "" && dir == filepath.Join(home, ".cargo", "bin") {
				t.rust(home, private)
			}
		}
	}
	return t
}

// rust opens what rustup's programs in ~/.cargo/bin start, where the private HOME of a
// child would have nothing.
func (t *Toolchain) rust(home string, private []string) {
	dir := filepath.Join(home, ".rustup")
	if !slices.ContainsFunc(t.Env, func(kv string) bool { return strings.HasPrefix(kv, "RUSTUP_HOME=") }) && t.open(dir, private) == "" {
		t.Env = append(t.Env, "RUSTUP_HOME="+dir)
	}
}

// open adds a folder that exists, and returns why it may not be read; empty if it may.
func (t *Toolchain) open(dir string, private []string) (closed string) {
	if !filepath.IsAbs(dir) {
		return "it is no absolute path"
	}
	dir = filepath.Clean(dir)
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "it does not exist"
	}
	for _, p := range private {
		if p != "" && (within(p, dir) || within(p, real)) {
			return "it holds " + p
		}
	}
	for _, d := range []string{dir, real} {
		if !slices.Contains(t.Paths, d) {
			t.Paths = append(t.Paths, d)
		}
	}
	return ""
}

// shared reports whether a folder belongs to no single tool: a user's own, and the
// dot-folders right below it, where tools keep credentials as well.
func shared(dir, home string) bool {
	return dir == "/" || home != "" && (dir == filepath.Clean(home) || filepath.Dir(dir) == filepath.Clean(home))
}

// within reports whether a path is dir or lies below it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, filepath.Clean(path))
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}
