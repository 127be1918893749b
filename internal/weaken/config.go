package weaken

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
)

// configuration is what a file configures; empty when it configures no check.
// part is what of the file does, nil: all of it.
func (k *look) configuration(name string) (what string, part func([]byte) string) {
	base := path.Base(name)
	dir := "/" + path.Dir(name) + "/"
	switch base {
	case "pyproject.toml":
		return "tests, linters and type checkers", sections(re(`^\[+\s*tool\.(?:pytest|ruff|mypy|coverage|pylint|flake8|black|isort|pyright|basedpyright|tox|nox|hatch\.envs|poe|taskipy|bandit|ty)\b`))
	case "setup.cfg", "tox.ini":
		tools, checks := sections(re(`^\[\s*(?:tool:pytest|pytest|flake8|mypy|coverage|pylint|pycodestyle|pydocstyle|isort|bandit)\b`)), lines(k.pattern(checkTool))
		return "tests, linters and type checkers", func(text []byte) string { return tools(text) + checks(k.pattern(dependencies).ReplaceAll(text, nil)) }
	case "Cargo.toml":
		return "lints and tests", sections(re(`^\[+\s*(?:workspace\.)?(?:lints|test|profile\.test)\b`))
	case "package.json":
		return "tests and linters", packageChecks
	case "composer.json", "deno.json", "deno.jsonc":
		return "tests and linters", packageChecks
	case "mix.exs":
		return "tests", lines(re(`test_coverage|threshold|warnings_as_errors|elixirc_options|aliases|precommit|\btest\b|credo|dialyzer`))
	case "pom.xml":
		return "tests and linters", lines(re(`(?i)skip|surefire|failsafe|jacoco|checkstyle|spotbugs|pmd|<excludes?>|minimum|failOn|testFailureIgnore|haltOn`))
	case "build.gradle", "build.gradle.kts", "gradle.properties":
		return "tests and linters", lines(re(`(?i)useJUnit|ignoreFailures|jacoco|checkstyle|detekt|ktlint|spotbugs|\bexclude\b.*(?:test|spec|\*\*)|minimum|allWarningsAsErrors|Werror|abortOnError|\benabled\s*=`))
	case "Makefile", "makefile", "GNUmakefile", "justfile", "Justfile", "Taskfile.yml", "Taskfile.yaml":
		return "tests and checks", targets(base)
	case "conftest.py":
		return "tests", lines(re(`\bpytest_(?:collect|ignore|runtest|session|report|pyfunc|exception|assert|unconfigure)\w*|exitstatus|\.outcome\b`))
	case ".rspec", "phpunit.xml", "phpunit.xml.dist", "pytest.ini", ".pytest.ini", "karma.conf.js", "wdio.conf.js", "xunit.runner.json", "nextest.toml", "testng.xml", ".runsettings", "test.runsettings", "TestConfig.cmake", "CTestCustom.cmake", "cucumber.js", "cucumber.yml":
		return "tests", nil
	case ".nycrc", ".nycrc.json", ".c8rc.json", ".coveragerc", "codecov.yml", ".codecov.yml", "codecov.yaml", ".codecov.yaml", ".simplecov", "coveralls.yml", ".coveralls.yml", "tarpaulin.toml", ".tarpaulin.toml", "coverlet.runsettings", ".testcoverage.yml":
		return "coverage", nil
	case "mypy.ini", ".mypy.ini", "pyrightconfig.json", "dialyzer.ignore-warnings", ".dialyzer_ignore.exs", "psalm.xml", "psalm.xml.dist", "phpstan.neon", "phpstan.neon.dist", "phpstan-baseline.neon", ".flowconfig", "Steepfile", "sorbet/config", "py.typed":
		return "type checkers", nil
	case ".flake8", ".pylintrc", "pylintrc", "ruff.toml", ".ruff.toml", ".rubocop.yml", ".rubocop_todo.yml", "biome.json", "biome.jsonc", ".oxlintrc.json", "tslint.json", ".eslintignore", ".stylelintrc.json", ".stylelintrc", "clippy.toml", ".clippy.toml", ".credo.exs", ".swiftlint.yml", ".clang-tidy", "detekt.yml", "checkstyle.xml", "pmd.xml", "spotbugs-exclude.xml", "ruleset.xml", ".phpcs.xml", "phpcs.xml", "phpcs.xml.dist", ".php-cs-fixer.php", ".php-cs-fixer.dist.php", "rector.php", ".shellcheckrc", ".hadolint.yaml", ".yamllint", ".yamllint.yml", ".markdownlint.json", ".ansible-lint", "staticcheck.conf", "revive.toml", ".semgrepignore", ".bandit", "deptry.toml", "knip.json", ".dependency-cruiser.js", ".importlinter", "cspell.json", ".gitleaks.toml", ".gitleaksignore", ".trivyignore", ".snyk", ".globalconfig", "StyleCop.json", "stylecop.json", "sonar-project.properties", ".sonarcloud.properties", "qodana.yaml", ".codeclimate.yml", "trunk.yaml", ".reek.yml", "lint.xml", "lint-baseline.xml":
		return "linters", nil
	case ".pre-commit-config.yaml", "lefthook.yml", "lefthook.yaml", ".lintstagedrc", ".lintstagedrc.json", "lint-staged.config.js", ".overcommit.yml", ".huskyrc":
		return "checks before a commit", nil
	case ".gitlab-ci.yml", "azure-pipelines.yml", "Jenkinsfile", ".travis.yml", "appveyor.yml", ".drone.yml", "bitbucket-pipelines.yml", "cloudbuild.yaml", ".cirrus.yml", ".woodpecker.yml", "buildspec.yml":
		return "the CI", lines(k.pattern(checkTool))
	}
	switch {
	case strings.HasPrefix(base, "tsconfig") && strings.HasSuffix(base, ".json"), base == "jsconfig.json":
		return "the type checker", strictness
	case k.match(`^(?:jest|vitest|vite|playwright|cypress|ava|wdio|karma|mocha|nightwatch|web-test-runner|cucumber)\.(?:config|conf|workspace|setup)\b.*\.(?:[cm]?[jt]s|json)$|^\.mocharc\b|^jest\.setup\.|^vitest\.(?:workspace|setup)`, base):
		if strings.HasPrefix(base, "vite.") {
			return "tests", lines(re(`\btest\b|coverage|exclude|include|threshold|passWithNoTests|retry`))
		}
		return "tests", nil
	case k.match(`^\.eslintrc\b|^eslint\.config\.|^\.golangci\.|^\.stylelintrc|^stylelint\.config|^\.oxlintrc|^\.jshintrc|^\.prettierrc`, base):
		return "linters", nil
	case k.match(`\.(?:cs|fs|vb)proj$|^Directory\.Build\.(?:props|targets)$`, base):
		return "the compiler and tests", lines(re(`(?i)TreatWarningsAsErrors|NoWarn|WarningLevel|Nullable|AnalysisLevel|AnalysisMode|EnforceCodeStyle|RunAnalyzers|IsTestProject|Threshold|WarningsNotAsErrors|Compile Remove`))
	case base == "CMakeLists.txt":
		return "tests", lines(re(`(?i)add_test|enable_testing|gtest_discover|catch_discover|-Werror|WILL_FAIL|DISABLED|set_tests_properties|EXCLUDE`))
	case strings.Contains(dir, "/.github/workflows/"), strings.Contains(dir, "/.github/actions/"), strings.Contains(dir, "/.circleci/"), strings.Contains(dir, "/.buildkite/"), strings.Contains(dir, "/.gitea/workflows/"), strings.Contains(dir, "/.forgejo/workflows/"):
		return "the CI", lines(k.pattern(checkTool))
	case strings.Contains(dir, "/.husky/"):
		return "checks before a commit", nil
	}
	return "", nil
}

// match compiles a pattern once for all files.
func (k *look) match(pattern, s string) bool {
	return k.pattern(pattern).MatchString(s)
}

func (k *look) pattern(s string) *pattern {
	if k.patterns[s] == nil {
		k.patterns[s] = re(s)
	}
	return k.patterns[s]
}

// config tells changed configuration of tests and linters, and what agents read
// of a repository.
func (k *look) config() {
	for _, f := range k.files {
		was := f.Path
		if f.From != "" {
			was = f.From
		}
		if agentConfig(was) || agentConfig(f.Path) {
			k.add(rankAgent, ralph.FindingAgentConfig, f.Path, 0, "agent configuration", "what agents read of this repository was "+verb(f)+": it steers every later run of an agent")
		}
		k.interposed(f)
		what, part := k.configuration(was)
		if what == "" {
			what, part = k.configuration(f.Path)
		}
		script := what == "" && isScript(f.Path, f.New)
		if what == "" && !script {
			continue
		}
		told := k.softened(f, script)
		if what == "" || told {
			continue
		}
		now, _ := k.configuration(f.Path)
		if line, less := k.configuresLess(part, f.Old, f.New); less || now == "" {
			text := "the configuration of " + what + " was " + verb(f)
			if line != "" && !f.Deleted {
				text += ": " + line
			}
			k.add(rankConfig, ralph.FindingChecks, f.Path, 0, base(was), text)
		}
	}
}

// interposed tells what a file newly puts in front of the programs that checks
// start: another shell, a runner, modules that are loaded first.
func (k *look) interposed(f File) {
	was, is := interposes(f.From), interposes(f.Path)
	if f.From == "" {
		was = is
	}
	lines := func(text []byte, pattern string) [][]byte {
		if pattern == "" {
			return nil
		}
		return slices.DeleteFunc(linesOf(text), func(line []byte) bool { return !k.match(pattern, string(line)) })
	}
	more := missing(lines(f.New, is), lines(f.Old, was))
	if len(more) == 0 {
		return
	}
	key := "" // values may be secret
	if is != anyLine {
		key = ": " + shown(string(more[0][:max(0, bytes.IndexAny(more[0], "=:"))]))
	}
	k.add(rankSilenced, ralph.FindingChecks, f.Path, 0, base(f.Path), "it decides what runs when a check is started"+key)
}

// anyLine finds a line that is no comment.
const anyLine = `^[^#/;*\s]`

// interposes is the expression of the lines by which a file of that name makes
// tools start or load something else; empty for most.
func interposes(name string) string {
	dir := path.Base(path.Dir(name))
	switch base := path.Base(name); {
	case base == ".npmrc", base == ".yarnrc", base == ".yarnrc.yml", base == "pnpm-workspace.yaml":
		return `(?i)^["']?(?:script-?shell|shell-?emulator|node-?options|onload-?script|yarn-?path|global-?pnpmfile|pnpmfile|plugins)["']?\s*[:=]`
	case dir == ".cargo" && (base == "config.toml" || base == "config"):
		return `^(?:\w+\.)*(?:runner|linker|rustc|rustc-wrapper|rustc-workspace-wrapper|rustdoc|rustflags)\b|^(?:b|build|c|check|clippy|d|doc|fmt|r|run|t|test)\s*=`
	case base == ".bazelrc", base == "sitecustomize.py", base == "usercustomize.py", base == ".pnpmfile.cjs", base == "go.work", path.Ext(base) == ".pth", base == "bazel" && dir == "tools":
		return anyLine
	case dir == ".mvn" && (base == "maven.config" || base == "jvm.config" || base == "extensions.xml"), dir == ".bundle" && base == "config":
		return anyLine
	case base == "mise.toml", base == ".mise.toml":
		return `^(?:run|_\.(?:path|source|file)|PATH)\b`
	}
	return ""
}

// base is the last part of a path, fit to be shown.
func base(name string) string {
	return strings.Trim(shown(path.Base(name)), "'")
}

func verb(f File) string {
	switch {
	case f.Deleted:
		return "deleted"
	case f.Added:
		return "added"
	case f.From != "" && f.From != f.Path:
		return "moved"
	}
	return "changed"
}

// excuses finds in configuration what makes a check say less.
const excuses = `(?i)\b(?:exclu\w*|ignor\w*|skip\w*|disabl\w*|omit\w*|allow[_-]?fail\w*|norecursedirs|baseline|nowarn|suppress\w*|deselect\w*|off|warn|onlyIf|retr(?:y|ies)|filter|exitstatus|outcome|pytest_\w+)\b|\b(?:default|enable|extends|select|rules|checks)["']?\s*[:=]\s*(?:none\b|\[\s*\]|\{\s*\})`

// housekeeping finds lines that start no check although they name one: they
// install it, or say where it is.
const housekeeping = `(?i)\b(?:install|checkout|release|apt|apt-get|brew|choco|curl|wget|gem|get|cache|upload|deploy|publish|image|key|path|name|uses|branches|npm ci|group|module|version|checksum|createdb)\b|^["']?(?:deps|envlist)\b|^(?:- )?~/|^\W*$`

// dependencies finds what environments of tests install, in an INI file.
const dependencies = `(?m)^(?:deps|extras|install_requires|tests_require)[ \t]*=.*\n(?:[ \t]+.*\n|\n)*`

// comment finds lines that configure nothing.
const comment = `^(?:#|//|;|/?\*|<!--|[\[\](){},\s]*$)`

// configuresLess reports whether what a file configures says less than before,
// and of which line that is to be told: one of the old that no new one holds in
// full, or a new one that excuses something, by itself or by the key it stands
// under. Of a file that is about checks alone, all lines count; part picks those
// of others.
func (k *look) configuresLess(part func([]byte) string, old, now []byte) (line string, less bool) {
	noise := housekeeping
	if part == nil {
		part, noise = func(text []byte) string { return string(text) }, comment
	}
	was, is := linesOf([]byte(part(old))), linesOf([]byte(part(now)))
	lost, gained := missing(was, is), missing(is, was)
	for _, line := range lost {
		if !k.match(noise+"|"+excuses+`|\bfalse\b`, string(line)) && !k.configured(line) && !slices.ContainsFunc(gained, func(other []byte) bool { return holds(other, line) }) {
			return "without " + shown(strings.TrimPrefix(string(line), "- ")), true
		}
	}
	for _, line := range gained {
		if !k.match(noise, string(line)) && (k.match(excuses, string(line)) || noise == comment && len(old) > 0 && k.match(excuses, keyOf(now, line))) {
			return "with " + shown(strings.TrimPrefix(string(line), "- ")), true
		}
	}
	return "", false
}

// keyOf is the line above a line that is indented less, under which it stands.
func keyOf(text, line []byte) string {
	all := bytes.Split(text, []byte("\n"))
	indent := func(i int) int { return len(all[i]) - len(bytes.TrimLeft(all[i], " \t")) }
	at := slices.IndexFunc(all, func(other []byte) bool { return bytes.Equal(bytes.TrimSpace(other), line) })
	for i := at - 1; i >= 0; i-- {
		if len(bytes.TrimSpace(all[i])) > 0 && indent(i) < indent(at) {
			return string(all[i])
		}
	}
	return ""
}

// configured reports whether a line is new in any file of the change: it moved there.
func (k *look) configured(line []byte) bool {
	if k.moved == nil {
		k.moved = map[string]bool{}
		for _, f := range k.files {
			if what, _ := k.configuration(f.Path); what != "" {
				for _, line := range missing(linesOf(f.New), linesOf(f.Old)) {
					k.moved[string(line)] = true
				}
			}
		}
	}
	return k.moved[string(line)]
}

// holds reports whether a line has all that another one has. Signs around it,
// variables in front of it and versions do not count.
func holds(line, other []byte) bool {
	words := func(line []byte) []string {
		list := strings.FieldsFunc(strings.ReplaceAll(strings.ToLower(string(line)), "src/", ""), func(r rune) bool { return strings.ContainsRune(" \t\"'`,;:@[]{}()<>$-", r) })
		list = slices.DeleteFunc(list, func(word string) bool {
			if len(word) < 3 && bytes.Contains(line, []byte(" -"+word+" ")) { // short flags
				return true
			}
			if strings.Trim(word, "0123456789.%") == "" { // lowered says what a number means; of a maximum more is less
				return !bytes.Contains(line, []byte("max"))
			}
			return strings.HasSuffix(word, "=") || strings.HasPrefix(word, "timeout") || contains(" run script commands with color colors verbose quiet progress v q ", word)
		})
		for i := range list {
			if strings.Trim(list[i], "0123456789.") != "" {
				list[i] = strings.TrimRight(list[i], "0123456789.^~")
			}
		}
		return list
	}
	there := words(line)
	return !slices.ContainsFunc(words(other), func(word string) bool {
		return !slices.ContainsFunc(there, func(w string) bool { return w == word || strings.HasSuffix(w, "/"+word) })
	})
}

// agentConfig says that agent CLIs read a file by its name.
func agentConfig(name string) bool {
	for part := range strings.SplitSeq(path.Dir(name), "/") {
		switch part {
		case ".claude", ".codex", ".gemini", ".cursor", ".opencode", ".amp", ".cline", ".clinerules", ".roo", ".windsurf", ".agents", ".continue", ".kiro", ".junie", ".goose", ".qwen", ".copilot":
			return true
		}
	}
	switch path.Base(name) {
	case "CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "AGENTS.override.md", "AGENT.md", "GEMINI.md", "QWEN.md", ".mcp.json", "mcp.json", ".cursorrules", ".windsurfrules", ".clinerules", ".roorules", "opencode.json", "opencode.jsonc", ".aider.conf.yml", ".goosehints", "copilot-instructions.md", ".geminiignore", ".aiexclude":
		return true
	}
	return strings.HasSuffix(name, ".instructions.md") || strings.HasPrefix(name, ".github/prompts/") || strings.HasPrefix(name, ".github/agents/")
}

// sections keeps of an INI or TOML file the sections whose heading matches.
func sections(heading *pattern) func([]byte) string {
	return func(text []byte) string {
		var b strings.Builder
		in := false
		for _, line := range linesOf(text) {
			if line[0] == '[' && bytes.HasSuffix(bytes.TrimSpace(bytes.SplitN(line, []byte("#"), 2)[0]), []byte("]")) && bytes.IndexByte(line, '=') < 0 {
				in = heading.Match(line)
			}
			if in && line[0] != '#' && line[0] != ';' {
				b.Write(line)
				b.WriteByte('\n')
			}
		}
		return b.String()
	}
}

// lines keeps the lines that match.
func lines(re *pattern) func([]byte) string {
	return func(text []byte) string {
		var b strings.Builder
		for _, line := range linesOf(text) {
			if line[0] != '#' && !bytes.HasPrefix(line, []byte("//")) && re.Match(line) {
				b.Write(line)
				b.WriteByte('\n')
			}
		}
		return b.String()
	}
}

// checkName says that a script, a target or an environment is a check by its
// name.
func checkName(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"test", "lint", "check", "verify", "validate", "ci", "cover", "typecheck", "types", "tsc", "e2e", "spec", "qa", "audit", "analy", "vet"}, func(w string) bool {
		if w == "ci" {
			return name == "ci" || strings.HasPrefix(name, "ci:") || strings.HasPrefix(name, "ci-")
		}
		return strings.Contains(name, w)
	})
}

// packageChecks keeps of a package.json or composer.json what tests and linters
// read: scripts that are checks by their name, and their configuration.
func packageChecks(text []byte) string {
	var doc map[string]any
	if json.Unmarshal(text, &doc) != nil {
		return string(text)
	}
	kept := map[string]any{}
	for _, key := range []string{"jest", "vitest", "mocha", "ava", "nyc", "c8", "tap", "xo", "eslintConfig", "eslintIgnore", "stylelint", "lint-staged", "husky", "simple-git-hooks", "pre-commit", "lint", "test", "standard", "wireit"} {
		if v, ok := doc[key]; ok {
			kept[key] = v
		}
	}
	for _, key := range []string{"scripts", "tasks"} {
		scripts, _ := doc[key].(map[string]any)
		for name, v := range scripts {
			if checkName(name) {
				kept[name] = v
			}
		}
	}
	return keyed(kept)
}

// strictness keeps of a tsconfig what makes the checker say more or less.
func strictness(text []byte) string {
	var doc map[string]any
	if json.Unmarshal(lax(text), &doc) != nil {
		return string(text)
	}
	kept := map[string]any{}
	for _, key := range []string{"extends", "include", "exclude", "files"} {
		kept[key] = doc[key]
	}
	options, _ := doc["compilerOptions"].(map[string]any)
	for name, v := range options {
		if strings.HasPrefix(name, "no") || strings.HasPrefix(name, "strict") || strings.HasPrefix(name, "allow") || slices.Contains([]string{"skipLibCheck", "checkJs", "alwaysStrict", "exactOptionalPropertyTypes", "useUnknownInCatchVariables", "isolatedModules"}, name) {
			kept[name] = v
		}
	}
	return keyed(kept)
}

// keyed has a line for each key, and for each of a map in it.
func keyed(kept map[string]any) string {
	var b strings.Builder
	for _, key := range sorted(kept) {
		inner, ok := kept[key].(map[string]any)
		if !ok {
			out, _ := json.Marshal(kept[key])
			fmt.Fprintf(&b, "%s: %s\n", key, out)
		}
		for _, name := range sorted(inner) {
			out, _ := json.Marshal(inner[name])
			fmt.Fprintf(&b, "%s %s: %s\n", key, name, out)
		}
	}
	return b.String()
}

// lax makes JSON of JSON with comments and commas at the end of lists.
func lax(text []byte) []byte {
	s := lex(text, lexis{line: []string{"//"}, block: slashes, quotes: []quote{doubleQuote}})
	out := uncommented(s)
	for i, c := range s.code {
		if c == ',' {
			if n := s.skip(i + 1); n < len(s.code) && (s.code[n] == '}' || s.code[n] == ']') {
				out[i] = ' '
			}
		}
	}
	return out
}

func threshold(name string, was, is float64) string {
	return fmt.Sprintf("the threshold %s was lowered from %g to %g", shown(name), was, is)
}
