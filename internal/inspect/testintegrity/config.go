package testintegrity

import (
	"bytes"
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
	"github.com/org/ralph-action/internal/ralph"
)

// configuration is a kind of file that configures tests or checks.
type configuration struct {
	path *lazyregexp.Regexp
	what string
	// part returns the lines that count; nil means all that are not comments.
	part func(name string, text []byte) [][]byte
	// commands returns the lines that may start checks, by script or target; nil for
	// files that start nothing.
	commands func(name string, text []byte) map[string][][]byte
}

var configurations = []configuration{
	{re(`(?:^|/)pyproject\.toml$`), "tests, coverage, linters and type checkers", sections(re(`^\[+\s*tool\.(?:pytest|ruff|mypy|coverage|pylint|flake8|pyright|basedpyright|tox|bandit|ty)\b`)), nil},
	{re(`(?:^|/)(?:setup\.cfg|tox\.ini)$`), "tests, coverage, linters and type checkers", sections(re(`^\[\s*(?:tool:pytest|pytest|flake8|mypy|coverage|pylint|pycodestyle|pydocstyle|bandit)\b`)), nil},
	{re(`(?:^|/)Cargo\.toml$`), "linters and tests", sections(re(`^\[+\s*(?:workspace\.)?(?:lints|test|profile\.test)\b`)), nil},
	{re(`(?:^|/)(?:package|composer|deno)\.jsonc?$`), "tests and linters", nil, scripted},
	{re(`(?:^|/)(?:GNUm|[Mm])akefile$|(?:^|/)[Jj]ustfile$`), "tests and checks", nil, targets},
	{re(`(?:^|/)(?:\.gitlab-ci|\.?azure-pipelines|\.drone|\.woodpecker)\.ya?ml$|^(?:\.travis|\.?appveyor|bitbucket-pipelines|\.cirrus)\.ya?ml$|(?:^|/)Jenkinsfile$|(?:^|/)\.(?:github|gitea|forgejo)/(?:workflows|actions)/|(?:^|/)\.(?:circleci|buildkite)/`), "the CI", nil, steps},
	{re(`(?:^|/)(?:pom\.xml|build\.gradle(?:\.kts)?|gradle\.properties)$`), "tests and linters", lines(re(`(?i)\bexclude.*(?:test|spec)|minimum|allWarningsAsErrors|Werror`)), nil},
	{re(`\.(?:cs|fs|vb)proj$|(?:^|/)Directory\.Build\.(?:props|targets)$`), "the compiler and tests", lines(re(`(?i)TreatWarningsAsErrors|<NoWarn|WarningLevel|AnalysisLevel|AnalysisMode|EnforceCodeStyle|RunAnalyzers|IsTestProject|Threshold|WarningsNotAsErrors|Compile Remove.*test`)), nil},
	{re(`(?:^|/)[jt]sconfig[^/]*\.json$`), "the type checker", lines(re(`"(?:strict\w*|alwaysStrict|checkJs|exactOptionalPropertyTypes|useUnknownInCatchVariables|no(?:Implicit|Unused|Unchecked|Fallthrough|PropertyAccess)\w+)"\s*:`)), nil},
	{re(`(?:^|/)conftest\.py$`), "tests", lines(re(`\bpytest_(?:collection_modifyitems|ignore_collect|runtest_makereport|sessionfinish|pyfunc_call|runtest_protocol)\b|exitstatus|\.outcome\b`)), nil},
	{re(`(?:^|/)(?:jest|vite|vitest|playwright|cypress|ava|wdio|karma|mocha)\.(?:config|conf|workspace|setup)\b[^/]*\.(?:[cm]?[jt]s|json)$|(?:^|/)\.mocharc\b`), "tests", lines(re(`(?i)test(?:match|regex|name|pathignore)|exclude|ignore|threshold|coverage|retr(?:y|ies)|forbidOnly|\bgrep\b|\bbranches\b`)), nil},
	{re(`(?:^|/)(?:\.rspec|phpunit\.xml(?:\.dist)?|\.?pytest\.ini|xunit\.runner\.json|nextest\.toml|testng\.xml|[^/]*\.runsettings)$`), "tests", nil, nil},
	{re(`(?:^|/)(?:\.nycrc(?:\.json)?|\.c8rc\.json|\.coveragerc|\.simplecov|\.?tarpaulin\.toml)$`), "coverage", nil, nil},
	{re(`(?:^|/)\.?codecov\.ya?ml$`), "coverage", lines(re(`target|threshold|status|patch|project|informational|ignore`)), nil},
	{re(`(?:^|/)(?:\.?mypy\.ini|pyrightconfig\.json|psalm\.xml(?:\.dist)?|phpstan\.neon(?:\.dist)?|phpstan-baseline\.neon|\.flowconfig)$`), "type checkers", nil, nil},
	{re(`(?:^|/)(?:\.eslintrc|eslint\.config\.)[^/]*$`), "linters", lines(re(`["']?[@\w/-]+["']?\s*:\s*\[?\s*(?:["']?(?:error|warn|off)\b|[012]\b)|\bextends\b|\bignore|recommended`)), nil},
	{re(`(?:^|/)(?:\.golangci\.\w+|\.flake8|\.?pylintrc|\.?ruff\.toml|\.rubocop\.yml|\.rubocop_todo\.yml|biome\.jsonc?|\.oxlintrc\.json|tslint\.json|\.eslintignore|\.stylelintrc[^/]*|\.?clippy\.toml|\.swiftlint\.yml|\.clang-tidy|detekt\.yml|checkstyle\.xml|\.?phpcs\.xml(?:\.dist)?|\.shellcheckrc|staticcheck\.conf|revive\.toml|\.bandit|\.gitleaksignore|\.trivyignore)$`), "linters", nil, nil},
	{re(`(?:^|/)(?:\.pre-commit-config\.yaml|lefthook\.ya?ml|\.lintstagedrc(?:\.json)?)$|(?:^|/)\.husky/`), "checks before a commit", nil, nil},
}

// configurationOf returns the kind of a file, nil if it configures no check.
func configurationOf(name string) *configuration {
	for i := range configurations {
		if configurations[i].path.MatchString(name) {
			return &configurations[i]
		}
	}
	return nil
}

// lines returns those of a text that count, without comments at their ends.
func (c *configuration) lines(name string, text []byte) [][]byte {
	var list [][]byte
	if c.part != nil {
		list = c.part(name, text)
	} else {
		list = slices.DeleteFunc(linesOf(text), func(line []byte) bool { return comment.Match(line) })
	}
	for i, line := range list {
		if at := bytes.Index(line, []byte(" #")); at > 0 {
			list[i] = bytes.TrimSpace(line[:at])
		}
	}
	return list
}

// config tells changed configuration of tests and linters.
func (k *look) config() {
	for _, f := range k.files {
		was := cmp.Or(f.From, f.Path)
		k.interposed(f)
		if fixture.MatchString(f.Path) {
			continue
		}
		c := configurationOf(was)
		if c == nil {
			c = configurationOf(f.Path)
		}
		if c == nil && !isScript(f.Path, f.New) || k.softened(f, c) || c == nil {
			continue
		}
		const many = 20 // lines of a file that was written anew: none of them is the one to tell
		before, now := linesOf(f.Old), linesOf(f.New)
		anew := len(missing(before, now))+len(missing(now, before)) > many
		line, less := "", false
		switch {
		case f.Deleted || configurationOf(f.Path) == nil:
			less = !project.MatchString(was) && !k.replaced(c, f, true) && c.says(was, f.Old)
		case c.commands != nil && anew:
		case c.commands != nil:
			line, less = k.fewerChecks(c, f)
		case !k.replaced(c, f, false):
			line, less = c.saysLess(f, anew)
		}
		if less {
			k.add(rankConfig, ralph.FindingChecks, f.Path, 0, base(was), "the configuration of "+c.what+" was "+verb(f)+line)
		}
	}
}

// says reports whether a file configures a check.
func (c *configuration) says(name string, text []byte) bool {
	if c.commands == nil {
		return len(c.lines(name, text)) > 0
	}
	return slices.ContainsFunc(slices.Collect(maps.Values(c.commands(name, text))), func(lines [][]byte) bool { return len(checks(lines)) > 0 })
}

var (
	// excuses finds in configuration what makes a check say less, by itself or for what
	// stands below it.
	excuses = re(`(?i)\b(?:exclude\w*|ignor\w*|skip\w*|disabl\w*|omit\w*|allow[_-][\w-]+|norecursedirs.*test|baseline|nowarn|compile remove|suppress\w*|deselect\w*|onlyIf|retr(?:y|ies)|test_?match|test_?regex|testNamePattern|grep|exitstatus|outcome|pytest_\w+)\b`)
	// demoted finds a rule of a linter that fails no check.
	demoted = re(`[:=]\s*\[?\s*["']?(?:off|warn)\b`)
	// enforced finds a rule of a linter that fails a check, whatever it allows.
	enforced = re(`^enable|:\s*\[?\s*["']?error\b`)
	// usual finds what may be excused: modules without types, warnings of others, places
	// that hold nothing of one's own, and code that no test runs.
	usual = re(`^ignore_missing_imports\b|^["']*(?:ignore|default|once):|\b(?:node_modules|site-packages|vendor|third_party|generated|build|dist|tmp|fixtures?|testdata|snapshots?)\b|\.(?:tox|venv|git|eggs|nox|cache)\b|TYPE_CHECKING|pragma|__main__|NotImplemented|abstractmethod|__repr__`)
	// nothing finds configuration of a linter that finds nothing.
	nothing = re(`(?i)\b(?:default|select|rules|checks)["']?\s*[:=]\s*(?:none\b|\[\s*\]|\{\s*\})|\bdisable-all:\s*true`)
	// enables finds what is looked for all the same.
	enables = re(`(?i)\benable`)
	// harmless finds lines of which one less means no check less, linters that are
	// part of others today among them.
	harmless = re(`(?i)^[-\s"']*(?:version|timeout|deadline|run|output|formats?|colou?rs?|concurrency|cache\w*|plugins?|parser\w*|env|root|sort-\w*|print-\w*|tests|go|addopts|minversion|testpaths|norecursedirs|source|paths?|AllCops|TargetRubyVersion|NewCops|python_?version|target-?version|EnforcedStyle\w*|max\S*|\S*length)\b["']?\s*[:=]?|\bfalse\b|^[-\s]*["']?[\w/-]+["']?\s*[:=]\s*[\[{]?$|^- (?:deadcode|structcheck|varcheck|gosimple|stylecheck|scopelint|golint|interfacer|maligned|exportloopref|typecheck|megacheck|gas|gomnd|tenv|ifshort|nosnakecase)\b`)
	// project finds files that configure much else: they go with what they configure.
	project = re(`(?:proj|\.props|\.targets|pom\.xml|\.gradle(?:\.kts)?|Cargo\.toml|package\.json|composer\.json|deno\.jsonc?|config\.json)$`)
	// comment finds lines that configure nothing.
	comment = re(`^(?:#|//|;|/\*|\*(?:[\s/]|$)|--\s|<[!?]|["'](?:-//|https?:)|[\[\](){},\s]*$)`)
	// bareKey finds lines that are told by those below them.
	bareKey = re(`^[-\s]*["']?[\w/-]+["']?\s*[:=]\s*[\[{]?$`)
	// listed finds parts of a list over several lines, mostly files.
	listed = re(`^["'][^"']*["'],?$`)
	// judges finds what has rules that can be taken out.
	judges = re(`linters|type checker`)
	// strict finds what switches all strict rules of a type checker on.
	strict = re(`(?m)^\s*"?strict"?\s*[:=]\s*[tT]rue`)
)

// saysLess reports whether a file of configuration excuses more than before, or wants
// less, and by which line. It is silent about files of which much changed, and where
// something is wanted that was not: what came may take the place of what is gone.
func (c *configuration) saysLess(f File, anew bool) (line string, ok bool) {
	was, is := c.lines(cmp.Or(f.From, f.Path), f.Old), c.lines(f.Path, f.New)
	gone, come := missing(was, is), missing(is, was)
	said := func(how string, line []byte) (string, bool) {
		return ": " + how + " " + shown(strings.TrimPrefix(string(line), "- ")), true
	}
	for _, line := range come {
		if nothing.Match(line) && !enables.Match(f.New) {
			return said("with", line)
		}
	}
	if f.Added || anew {
		return "", false
	}
	var lost, more [][]byte
	excused := func(text, line []byte) bool { return !bareKey.Match(line) && isExcused(text, line) }
	part := func(line []byte, of [][]byte) bool {
		return slices.ContainsFunc(of, func(other []byte) bool { return holds(other, line) })
	}
	for _, line := range come {
		switch {
		case excused(f.New, line):
			if !part(line, was) {
				more = append(more, line)
			}
		case !harmless.Match(line) && line[0] != '[' && !part(line, was) && !usual.Match(line):
			return "", false
		}
	}
	fewer := 0 // excuses
	for _, line := range gone {
		switch {
		case excused(f.Old, line):
			if !part(line, more) {
				fewer++
			}
		case harmless.Match(line) || usual.Match(line) || line[0] == '[' || listed.Match(line) || part(line, come):
		case !bytes.Contains(f.New, key(line)) || slices.ContainsFunc(come, func(other []byte) bool { return bytes.Equal(key(line), key(other)) && holds(line, other) }):
			lost = append(lost, line)
		}
	}
	switch {
	case len(more) > fewer:
		return said("with", more[0])
	case len(lost) > 0 && judges.MatchString(c.what) && !strict.Match(f.New):
		return said("without", lost[0])
	}
	return "", false
}

// key returns what a line of configuration gives a value to.
func key(line []byte) []byte {
	if at := bytes.IndexAny(line, "=:"); at > 0 {
		line = line[:at]
	}
	return bytes.Trim(line, "- \t\"'")
}

// isExcused reports whether a line excuses something, by itself or by what it stands under.
func isExcused(text, line []byte) bool {
	if enforced.Match(line) || usual.Match(line) {
		return false
	}
	if excuses.Match(line) || demoted.Match(line) {
		return true
	}
	all := bytes.Split(text, []byte("\n"))
	indent := func(i int) int { return len(all[i]) - len(bytes.TrimLeft(all[i], " \t-")) }
	at := slices.IndexFunc(all, func(other []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(other), line) })
	for i := at - 1; i >= 0; i-- {
		if len(bytes.TrimSpace(all[i])) == 0 || indent(i) >= indent(at) {
			continue
		}
		if at = i; excuses.Match(all[i]) {
			return true
		}
	}
	return false
}

// replaced reports whether another file of the change that is added or deleted, or,
// with any, one that is changed, configures the like.
func (k *look) replaced(c *configuration, f File, any bool) bool {
	return slices.ContainsFunc(k.files, func(other File) bool {
		o := configurationOf(other.Path)
		if o == nil || other.Path == f.Path || any && other.Deleted || !any && !other.Added && !other.Deleted || bytes.Equal(other.Old, other.New) {
			return false
		}
		return slices.ContainsFunc(strings.Fields(c.what), func(word string) bool {
			word = strings.Trim(word, ",")
			return (word == "CI" || len(word) > 4) && strings.Contains(o.what, word)
		})
	})
}

// holds reports whether a line has all words that another one has. Signs and
// numbers do not count.
func holds(line, other []byte) bool {
	words := func(line []byte) []string {
		list := strings.FieldsFunc(strings.ToLower(string(line)), func(r rune) bool { return strings.ContainsRune(" \t\"'`,;:@[]{}()<>$-", r) })
		return slices.DeleteFunc(list, func(word string) bool { return strings.Trim(word, "0123456789.%") == "" })
	}
	there := words(line)
	return !slices.ContainsFunc(words(other), func(word string) bool { return !slices.Contains(there, word) })
}

var (
	// checkCommand finds lines that start checks.
	checkCommand = re(`(?i)\b(?:\w*tests?|lint\w*|check\w*|vet|verify|tsc|mypy|ruff|flake8|pylint|eslint|jest|vitest|mocha|py\.test|tox|clippy|golangci\S*|golint|staticcheck|rspec|rubocop|phpunit|phpstan|psalm|expresso|nosetests|detox|nox)\b`)
	// everywhere finds what of a command says that all packages are checked.
	everywhere = re(`(?:^|\s)\./\.\.\.`)
	// housekeeping finds lines that start no check although they name one: they
	// install it, show what it found, or say where it is.
	housekeeping = re(`(?i)\b(?:install(?:er)?|checkout|release|apt|apt-get|brew|choco|curl|wget|gem|get|cache|upload|deploy|publish|image|npm ci|module|checksum|createdb|create database|prune|echo|coveralls|codecov)\b|\btest[-_]?(?:results?|reports?)\b|(?:^|[;&|] *|\bif )test [-!"$\[]|^(?:- )?(?:sudo )?(?:cmd: )?(?:cat|cp|mv|rm|ls|mkdir|cd|set|export|source|docker)\b|^(?:- )?(?:name|uses|if|needs|path|key|group|branches|with|env|on|os|id)\b|^(?:- )?["']?[\w.-]+["']?:$|^- \w+(?:-\w+)+$|^(?:- )?~/|^\W*$|^(?:- )?\w+=`)
	// keyed finds values of YAML that are no commands.
	keyed = re(`^(?:- )?["']?[\w.-]+["']?:\s`)
	// commandKey finds those that are.
	commandKey = re(`^(?:- )?(?:run|command|script|sh|bash|bat|ps|cmd|\w*_script):`)
)

// checks returns the words of lines that start checks, and for each a line it stands in.
func checks(lines [][]byte) map[string][]byte {
	out := map[string][]byte{}
	for _, line := range lines {
		if housekeeping.Match(line) || keyed.Match(line) && !commandKey.Match(line) {
			continue
		}
		for _, word := range slices.Concat(checkCommand.FindAll(line, -1), everywhere.FindAll(line, -1)) {
			out[string(bytes.ToLower(bytes.TrimSpace(word)))] = line
		}
	}
	return out
}

// fewerChecks reports whether a script, a target or a CI starts a check no more, and no
// new line of the change starts another one, and by which line.
func (k *look) fewerChecks(c *configuration, f File) (line string, less bool) {
	if k.started == nil {
		k.started = map[string][]byte{}
		for _, f := range k.files {
			if c := configurationOf(f.Path); c != nil && c.commands != nil {
				had := c.commands(f.Path, f.Old)
				for goal, lines := range c.commands(f.Path, f.New) {
					maps.Copy(k.started, checks(missing(lines, had[goal])))
				}
			} else if f.Added && isScript(f.Path, f.New) {
				maps.Copy(k.started, checks(linesOf(f.New)))
			}
		}
	}
	was, is := c.commands(cmp.Or(f.From, f.Path), f.Old), c.commands(f.Path, f.New)
	for _, goal := range sorted(was) {
		had, has := checks(was[goal]), checks(is[goal])
		if slices.ContainsFunc(sorted(k.started), func(word string) bool { return had[word] == nil }) {
			continue // another check took the place of one
		}
		for _, word := range sorted(had) {
			if has[word] == nil && k.started[word] == nil {
				return ": without " + shown(strings.TrimPrefix(string(had[word]), "- ")), true
			}
		}
	}
	return "", false
}

// checkNames finds names of scripts and targets that are checks.
var checkNames = re(`(?i)test|lint|check|verify|validate|^ci(?:[:-]|$)|cover|types|tsc|e2e|spec|qa|audit|analy|vet`)

// steps returns the lines of a CI.
func steps(_ string, text []byte) map[string][][]byte {
	return map[string][][]byte{"": slices.DeleteFunc(linesOf(text), func(line []byte) bool { return comment.Match(line) })}
}

// scripted returns the scripts of a package.json or composer.json that are checks by
// their names.
func scripted(_ string, text []byte) map[string][][]byte {
	out := map[string][][]byte{}
	for name, script := range scripts(text) {
		if checkNames.MatchString(name) {
			out[name] = [][]byte{[]byte(script)}
		}
	}
	return out
}

// targets returns the targets of a Makefile and its kin that are checks by their names.
func targets(name string, text []byte) map[string][][]byte {
	out := map[string][][]byte{}
	for goal, target := range blocks(path.Base(name), text) {
		if checkNames.MatchString(goal) {
			_, recipe, _ := strings.Cut(strings.ReplaceAll(target.text, "\\\n", " "), "\n")
			out[goal] = linesOf([]byte(recipe))
		}
	}
	return out
}

// sections keeps of an INI or TOML file the sections whose heading matches.
func sections(heading *lazyregexp.Regexp) func(string, []byte) [][]byte {
	return func(_ string, text []byte) [][]byte {
		var kept [][]byte
		in := false
		for _, line := range linesOf(text) {
			if line[0] == '[' && bytes.HasSuffix(bytes.TrimSpace(bytes.SplitN(line, []byte("#"), 2)[0]), []byte("]")) && bytes.IndexByte(line, '=') < 0 {
				in = heading.Match(line)
			}
			if in && !comment.Match(line) {
				kept = append(kept, line)
			}
		}
		return kept
	}
}

// lines keeps the lines that match.
func lines(re *lazyregexp.Regexp) func(string, []byte) [][]byte {
	return func(_ string, text []byte) [][]byte {
		return slices.DeleteFunc(linesOf(text), func(line []byte) bool { return comment.Match(line) || !re.Match(line) })
	}
}

// interposer is a kind of file that puts something in front of the programs that
// checks start (another shell, a runner, modules that are loaded first) or of those
// who look at the work, and the lines that do.
type interposer struct {
	path, line *lazyregexp.Regexp
	kind       ralph.FindingKind
	text       string
}

const startsChecks = "it decides what runs when a check is started"

var interposers = []interposer{
	{re(`(?:^|/)(?:\.npmrc|\.yarnrc|\.yarnrc\.yml|pnpm-workspace\.yaml)$`), re(`(?i)^["']?(?:script-?shell|shell-?emulator|node-?options|onload-?script|yarn-?path|global-?pnpmfile|pnpmfile|plugins)["']?\s*[:=]`), ralph.FindingChecks, startsChecks},
	{re(`(?:^|/)\.cargo/config(?:\.toml)?$`), re(`^(?:\w+\.)*(?:runner|linker|rustc|rustc-wrapper|rustc-workspace-wrapper|rustdoc)\b|^(?:\w+\.)*rustflags\b.*(?:-A|cap-lints)|^(?:b|build|c|check|clippy|d|doc|fmt|r|run|t|test)\s*=`), ralph.FindingChecks, startsChecks},
	{re(`(?:^|/)\.?mise\.toml$`), re(`^(?:run|_\.(?:path|source|file)|PATH)\b`), ralph.FindingChecks, startsChecks},
	{re(`(?:^|/)(?:\.bazelrc|sitecustomize\.py|usercustomize\.py|\.pnpmfile\.cjs|go\.work|[^/]*\.pth|tools/bazel|\.mvn/(?:maven\.config|jvm\.config|extensions\.xml)|\.bundle/config)$`), anyLine, ralph.FindingChecks, startsChecks},
	{re(`(?i)(?:^|/)\.gitattributes$`), re(`^[^#]\S*\s.*(?:\bfilter=|-diff\b|\bdiff=|\bmerge=|\blinguist-(?:generated|vendored)\b)|^(?:[^#]*/)?\*?(?:\*|\.(?:c|cc|cpp|cs|go|h|java|js|jsx|kt|php|py|rb|rs|sh|ts|tsx|ya?ml))\s.*\bbinary\b`), ralph.FindingChecks, "it decides what of a change is shown, how it is merged or which filter git runs; look at it before it is merged"},
	{re(`(?i)(?:^|/)\.env$`), re(`(?i)^(?:export\s+)?(?:(?:openai|anthropic|claude|gemini|google|codex|openrouter|mistral)_\w+|(?:https?|all)_proxy|node_options|node_extra_ca_certs|ld_(?:preload|library_path)|path)\s*=`), ralph.FindingAgentConfig, "agents read it, and it says where their keys are sent or what they start; read it before it is merged"},
}

// builtIn finds attributes that come with git or Git LFS and hide nothing.
var builtIn = re(`\b(?:filter|diff|merge)=(?:lfs|union|text|binary|astextplain|ada|bash|bibtex|cpp|csharp|css|dts|elixir|fortran|fountain|golang|html|java|kotlin|markdown|matlab|objc|pascal|perl|php|python|ruby|rust|scheme|tex)\b`)

var digits = re(`\d+`)

// anyLine finds a line that is no comment.
var anyLine = re(`^(?:[^#/;*\s-]|-+\w)`)

// interposed tells what a file newly puts in front of the programs that checks start.
func (k *look) interposed(f File) {
	for _, in := range interposers {
		lines := func(name string, text []byte) [][]byte {
			if !in.path.MatchString(name) {
				return nil
			}
			return slices.DeleteFunc(linesOf(text), func(line []byte) bool { return !in.line.Match(builtIn.ReplaceAll(line, nil)) })
		}
		had := lines(cmp.Or(f.From, f.Path), f.Old)
		more := slices.DeleteFunc(missing(lines(f.Path, f.New), had), func(line []byte) bool { // another version of the same
			return slices.ContainsFunc(had, func(other []byte) bool {
				return bytes.Equal(digits.ReplaceAll(other, nil), digits.ReplaceAll(line, nil))
			})
		})
		if len(more) == 0 {
			continue
		}
		key := "" // values may be secret
		if in.line != anyLine {
			key = ": " + shown(string(more[0][:max(0, bytes.IndexAny(more[0], "=: "))]))
		}
		k.add(rankSilenced, in.kind, f.Path, 0, base(f.Path), in.text+key)
	}
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
