package egress

import (
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

// ecosystem is a language by the files that tell it, and the hosts that its
// package manager and toolchain read from.
type ecosystem struct {
	files []string // names in lower case, or ".ext"
	hosts []string
}

// ecosystems are exact hosts: below the domain of a network that delivers for
// everybody, anybody can have a host.
func ecosystems() []ecosystem {
	return []ecosystem{
		{ // npm, yarn, pnpm, bun, JSR's packages for them; node's own downloads and the headers for native modules
			[]string{"package.json", "package-lock.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb"},
			[]string{"registry.npmjs.org", "registry.yarnpkg.com", "repo.yarnpkg.com", "nodejs.org", "npm.jsr.io"},
		}, { // Deno, which reads npm's packages, too
			[]string{"deno.json", "deno.jsonc", "deno.lock", "jsr.json"},
			[]string{"registry.npmjs.org", "jsr.io", "npm.jsr.io", "deno.land", "dl.deno.land"},
		}, { // pip, poetry, uv, pipenv
			[]string{"pyproject.toml", "requirements.txt", "requirements.in", "requirements-dev.txt", "setup.py", "setup.cfg", "pipfile", "pipfile.lock", "poetry.lock", "uv.lock", "tox.ini", "environment.yml"},
			[]string{"pypi.org", "files.pythonhosted.org"},
		}, { // conda
			[]string{"environment.yml", "environment.yaml", "pixi.toml", "conda-lock.yml"},
			[]string{"conda.anaconda.org", "repo.anaconda.com"},
		}, { // the module proxy, which redirects to a store, the checksum database, toolchains. That store takes
			// uploads of anybody who has an account there; without it no module can be fetched.
			[]string{"go.mod", "go.work"},
			[]string{"proxy.golang.org", "storage.googleapis.com", "sum.golang.org", "go.dev", "dl.google.com", "golang.org", "gopkg.in"},
		}, { // crates.io, its sparse index, rustup
			[]string{"cargo.toml", "cargo.lock", "rust-toolchain", "rust-toolchain.toml"},
			[]string{"index.crates.io", "static.crates.io", "crates.io", "static.rust-lang.org"},
		}, {
			[]string{"gemfile", "gemfile.lock", "gems.rb", ".gemspec"},
			[]string{"rubygems.org", "index.rubygems.org"},
		}, { // packages themselves come from the forge
			[]string{"composer.json", "composer.lock"},
			[]string{"repo.packagist.org", "packagist.org", "getcomposer.org"},
		}, { // Maven and Gradle, for Java, Kotlin, Android
			[]string{"pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "gradlew", "mvnw"},
			[]string{"repo.maven.apache.org", "repo1.maven.org", "plugins.gradle.org", "plugins-artifacts.gradle.org", "services.gradle.org", "downloads.gradle.org", "dl.google.com", "maven.google.com"},
		}, { // Scala
			[]string{"build.sbt", "build.sc", "build.mill"},
			[]string{"repo1.maven.org", "repo.scala-sbt.org", "repo.typesafe.com"},
		}, { // Clojure
			[]string{"project.clj", "deps.edn"},
			[]string{"repo1.maven.org", "repo.clojars.org"},
		}, { // NuGet, and the SDK's feed of versions
			[]string{".csproj", ".fsproj", ".vbproj", ".sln", ".slnx", "global.json", "nuget.config", "directory.packages.props", "directory.build.props", "paket.dependencies"},
			[]string{"api.nuget.org", "www.nuget.org", "builds.dotnet.microsoft.com"},
		}, { // Hex, for Elixir, Erlang and Gleam
			[]string{"mix.exs", "mix.lock", "rebar.config", "gleam.toml"},
			[]string{"repo.hex.pm", "hex.pm", "builds.hex.pm"},
		}, {
			[]string{"pubspec.yaml", "pubspec.lock"},
			[]string{"pub.dev", "pub.dartlang.org"},
		}, { // Swift packages come from the forge; CocoaPods has an index of its own
			[]string{"podfile", "podfile.lock", ".podspec"},
			[]string{"cdn.cocoapods.org", "trunk.cocoapods.org"},
		}, { // Cabal and Stack
			[]string{"cabal.project", "stack.yaml", ".cabal"},
			[]string{"hackage.haskell.org", "hackage-content.haskell.org", "www.stackage.org", "stackage.org", "downloads.haskell.org"},
		}, { // opam
			[]string{"dune-project", ".opam"},
			[]string{"opam.ocaml.org"},
		}, { // CRAN
			[]string{"renv.lock", ".rproj"},
			[]string{"cloud.r-project.org", "cran.r-project.org"},
		}, {
			[]string{"cpanfile", "makefile.pl", "build.pl"},
			[]string{"cpan.metacpan.org", "fastapi.metacpan.org", "www.cpan.org"},
		}, {
			[]string{"project.toml", "juliaproject.toml"},
			[]string{"pkg.julialang.org", "us-east.pkg.julialang.org", "us-west.pkg.julialang.org", "eu-central.pkg.julialang.org"},
		}, {
			[]string{"build.zig", "build.zig.zon"},
			[]string{"ziglang.org"},
		}, {
			[]string{"elm.json"},
			[]string{"package.elm-lang.org"},
		}, { // providers and modules; their files come from the forge or from HashiCorp's releases
			[]string{".tf", ".tofu"},
			[]string{"registry.terraform.io", "registry.opentofu.org", "releases.hashicorp.com"},
		}, {
			[]string{"module.bazel", "workspace.bazel"},
			[]string{"bcr.bazel.build", "mirror.bazel.build", "releases.bazel.build"},
		},
	}
}

// Registries are the hosts of package registries and toolchains for the languages
// of a repository, sorted: what files at its top, and one or two levels below, tell.
// Links are not followed, nor folders that hold what was installed or built.
func Registries(root *os.Root) []string {
	byFile := map[string][]string{}
	for _, e := range ecosystems() {
		for _, name := range e.files {
			byFile[name] = append(byFile[name], e.hosts...)
		}
	}
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
