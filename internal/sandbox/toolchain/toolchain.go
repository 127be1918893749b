// Package toolchain knows where the tools of a machine lie that earlier steps of a job,
// or their owner, put there: actions/setup-go, setup-python, setup-java and their like.
package toolchain

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// variables name folders of tools, or lists of such folders.
var variables = []string{
	"GOROOT",
	"JAVA_HOME", // and JAVA_HOME_17_X64 and so on
	"pythonLocation", "Python_ROOT_DIR", "Python2_ROOT_DIR", "Python3_ROOT_DIR", "VIRTUAL_ENV", "CONDA", "CONDA_PREFIX",
	"DOTNET_ROOT",
	"RUSTUP_HOME",
	"PNPM_HOME", "BUN_INSTALL", "DENO_INSTALL", "VOLTA_HOME", "NVM_DIR",
	"PYENV_ROOT", "RBENV_ROOT", "NODENV_ROOT", "ASDF_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR", "SDKMAN_DIR",
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
	"boot",          // Maven
	"Cellar", "opt", // Homebrew
}

// homes are folders below HOME that PATH names, and what else of HOME their programs need:
// a child's HOME is new.
var homes = []struct {
	on       string   // what PATH names; or, with a slash behind, something below it
	needs    []string // below HOME
	variable string   // tells the programs where the first of them is, unless it is set; empty: none has to
}{
	{".cargo/bin", []string{".rustup"}, "RUSTUP_HOME"},
	{".local/bin", []string{".local/share/uv/tools", ".local/share/uv/python", ".local/share/pipx", ".local/pipx"}, ""},
	{".pyenv/", []string{".pyenv"}, "PYENV_ROOT"},
	{".rbenv/", []string{".rbenv"}, "RBENV_ROOT"},
	{".nodenv/", []string{".nodenv"}, "NODENV_ROOT"},
	{".asdf/", []string{".asdf"}, "ASDF_DATA_DIR"},
	{".local/share/mise/", []string{".local/share/mise"}, "MISE_DATA_DIR"},
	{".sdkman/candidates/", []string{".sdkman/candidates"}, ""},
	{".dotnet", []string{".dotnet"}, "DOTNET_ROOT"},
	{".bun/bin", []string{".bun/install/global"}, ""},
	{".npm-global/bin", []string{".npm-global/lib"}, ""},
	{".config/composer/vendor/bin", []string{".config/composer/vendor"}, ""},
}

// credentials are files below HOME that lie in folders of tools. A folder with one of them
// stays closed.
var credentials = []string{".gem/credentials", ".cargo/credentials", ".cargo/credentials.toml", ".m2/settings.xml", ".gradle/gradle.properties", ".config/composer/auth.json", ".composer/auth.json"}

// Toolchain is what a child needs in order to use the tools of its machine.
type Toolchain struct {
	Paths []string // to read, absolute; all of them exist
	Env   []string // KEY=VALUE
	Named []Folder // what variables named, opened or not

	private []string
}

// Folder is one that a variable of the environment names.
type Folder struct{ Variable, Dir, Closed string } // Closed says why it is; empty: it is open

// Find reads an environment. Folders that hold one of private, such as HOME and the
// workspace, stay closed, and so does where a link below one of private leads out of it: an
// agent may have made it. What is named and does not exist is left out: the environment
// of a job in a container names folders of the machine outside.
func Find(environ, private []string) Toolchain {
	t := Toolchain{private: private}
	home := ""
	if i := slices.IndexFunc(environ, func(kv string) bool { return strings.HasPrefix(kv, "HOME=") }); i >= 0 {
		home = strings.TrimPrefix(environ[i], "HOME=")
	}
	private = append(slices.Clone(private), home)
	for _, name := range credentials {
		if file := filepath.Join(home, name); home != "" && exists(file) {
			private = append(private, file)
		}
	}
	for _, p := range slices.Clone(private) {
		if real, err := filepath.EvalSymlinks(p); err == nil && real != p {
			private = append(private, real)
		}
	}
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
			t.open(dir, private)
			if root := filepath.Dir(dir); filepath.Base(dir) == "bin" && !shared(root, home) {
				for _, name := range beside {
					t.open(filepath.Join(root, name), private)
				}
			}
			if below, err := filepath.Rel(home, dir); home != "" && err == nil {
				t.openHomes(home, below, private)
			}
		}
	}
	return t
}

// openHomes opens what the programs in a folder below HOME need.
func (t *Toolchain) openHomes(home, dir string, private []string) {
	for _, h := range homes {
		if below := strings.HasSuffix(h.on, "/") && strings.HasPrefix(dir+"/", h.on); dir != h.on && !below {
			continue
		}
		for i, need := range h.needs {
			path := filepath.Join(home, need)
			isSet := func(kv string) bool { return strings.HasPrefix(kv, h.variable+"=") }
			if t.open(path, private) == "" && i == 0 && h.variable != "" && !slices.ContainsFunc(t.Env, isSet) {
				t.Env = append(t.Env, h.variable+"="+path)
			}
		}
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
	for _, p := range t.private {
		if target, err := filepath.EvalSymlinks(p); p != "" && err == nil && within(dir, p) && !within(real, target) {
			return "it leads out of " + p
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

// Outside are those of the paths that do not lie below a folder, as they are named and where
// they lead. Where children write, a path of its own opens nothing more, and they could put a
// link in its place, which a supervisor that starts later would follow.
func Outside(paths, folders []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		return slices.ContainsFunc(folders, func(dir string) bool {
			return within(path, dir) || within(target(path), target(dir))
		})
	})
}

// target is where an absolute path leads, as far as it exists.
func target(path string) string {
	for dir := filepath.Clean(path); filepath.IsAbs(dir); dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, filepath.Clean(path)[len(dir):])
		}
	}
	return path
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// within reports whether a path is dir or lies below it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, filepath.Clean(path))
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}
