package toolchain

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
)

// Cache is a folder of a tool on this machine that a run may use, and not change.
type Cache struct {
	Name  string   // as a user says it
	Dir   string   // absolute, and there
	Parts []string // of Dir that may be used, because it holds credentials beside them; empty: all of it

	use  string // NAME=prefix of what names the folder to the tool
	read reading
}

// reading is how a tool reads a cache where it is, and writes to a new one in HOME.
type reading struct{ name, before, after, usual string } // the value is before, the folder, after, and the usual value; no name: it cannot

// Use is the variable by which the tool uses dir in place of the cache.
func (c Cache) Use(dir string) string { return c.use + dir }

// Read is the variable by which the tool reads the cache where it is, and writes to
// a new one in HOME; ok is false if the tool cannot. Getenv is the child's environment.
func (c Cache) Read(getenv func(string) string) (variable string, ok bool) {
	r := c.read
	return r.name + "=" + r.before + c.Dir + r.after + cmp.Or(getenv(r.name), r.usual), r.name != ""
}

// caches are those that can be lent, with the programs that have them. None of the folders,
// or parts, holds credentials.
var caches = []struct {
	Cache
	programs []string
	from     string // variable that names the folder on this machine; empty: none does
	usual    string // below HOME
}{
	// go unpacks what it needs from the files that it downloaded.
	{Cache{Name: "go", use: "GOMODCACHE=", read: reading{"GOPROXY", "file://", "/cache/download,", "https://proxy.golang.org,direct"}}, []string{"go"}, "GOMODCACHE", "go/pkg/mod"},
	{Cache{Name: "go", use: "GOCACHE="}, []string{"go"}, "GOCACHE", ".cache/go-build"},
	{Cache{Name: "npm", use: "npm_config_cache=", Parts: []string{"_cacache"}}, []string{"npm"}, "npm_config_cache", ".npm"},
	{Cache{Name: "pnpm", use: "npm_config_store_dir="}, []string{"pnpm"}, "npm_config_store_dir", ".local/share/pnpm/store"},
	{Cache{Name: "yarn", use: "YARN_CACHE_FOLDER="}, []string{"yarn"}, "YARN_CACHE_FOLDER", ".cache/yarn"},
	{Cache{Name: "yarn", use: "YARN_GLOBAL_FOLDER="}, []string{"yarn"}, "YARN_GLOBAL_FOLDER", ".yarn/berry"},
	{Cache{Name: "bun", use: "BUN_INSTALL_CACHE_DIR="}, []string{"bun"}, "BUN_INSTALL_CACHE_DIR", ".bun/install/cache"},
	{Cache{Name: "deno", use: "DENO_DIR="}, []string{"deno"}, "DENO_DIR", ".cache/deno"},
	{Cache{Name: "pip", use: "PIP_CACHE_DIR="}, []string{"pip", "pip3"}, "PIP_CACHE_DIR", ".cache/pip"},
	{Cache{Name: "uv", use: "UV_CACHE_DIR="}, []string{"uv"}, "UV_CACHE_DIR", ".cache/uv"},
	{Cache{Name: "poetry", use: "POETRY_CACHE_DIR="}, []string{"poetry"}, "POETRY_CACHE_DIR", ".cache/pypoetry"},
	{Cache{Name: "cargo", use: "CARGO_HOME=", Parts: []string{"registry", "git"}}, []string{"cargo"}, "CARGO_HOME", ".cargo"},
	{Cache{Name: "maven", use: "MAVEN_OPTS=-Dmaven.repo.local="}, []string{"mvn", "java"}, "", ".m2/repository"},
	{Cache{Name: "gradle", use: "GRADLE_USER_HOME=", Parts: []string{"caches", "wrapper"}}, []string{"gradle", "java"}, "GRADLE_USER_HOME", ".gradle"},
	{Cache{Name: "nuget", use: "NUGET_PACKAGES="}, []string{"dotnet"}, "NUGET_PACKAGES", ".nuget/packages"},
	{Cache{Name: "composer", use: "COMPOSER_CACHE_DIR="}, []string{"composer"}, "COMPOSER_CACHE_DIR", ".cache/composer"},
}

// Folders are Dir, or its parts.
func (c Cache) Folders() []string {
	if len(c.Parts) == 0 {
		return []string{c.Dir}
	}
	var all []string
	for _, part := range c.Parts {
		all = append(all, filepath.Join(c.Dir, part))
	}
	return all
}

// CacheNames are the names that a user can say.
func CacheNames() []string {
	var names []string
	for _, c := range caches {
		if !slices.Contains(names, c.Name) {
			names = append(names, c.Name)
		}
	}
	return names
}

// Caches are those of the names that are on this machine; of nil, all whose tool is on
// PATH.
func Caches(names []string, getenv func(string) string, look Lookup) []Cache {
	var found []Cache
	for _, row := range caches {
		c := row.Cache
		if home := getenv("HOME"); home != "" {
			c.Dir = filepath.Join(home, row.usual)
		}
		if dir := getenv(row.from); row.from != "" && dir != "" {
			c.Dir = dir
		}
		has := func(program string) bool { _, err := look(program); return err == nil }
		if wanted := slices.Contains(names, c.Name) || names == nil && slices.ContainsFunc(row.programs, has); !wanted || !filepath.IsAbs(c.Dir) {
			continue
		}
		if len(c.Parts) > 0 {
			c.Parts = slices.DeleteFunc(slices.Clone(c.Parts), func(part string) bool { return !isDir(filepath.Join(c.Dir, part)) })
			if len(c.Parts) == 0 {
				continue
			}
		}
		if isDir(c.Dir) {
			found = append(found, c)
		}
	}
	return found
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
