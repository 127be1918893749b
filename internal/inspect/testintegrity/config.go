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
	// excused returns the lines among which excuses are looked for; nil: there are none.
	excused func(text []byte) [][]byte
	// commands returns the lines that may start checks, by script or target; nil for
	// files that have neither.
	commands func(name string, text []byte) map[string][][]byte
}

var configurations = []configuration{
	{re(`(?:^|/)pyproject\.toml$`), "coverage, linters and type checkers", sections(re(`^\[+\s*tool\.(?:ruff|mypy|coverage|pylint|flake8|pyright|basedpyright|bandit|ty)\b`)), nil},
	{re(`(?:^|/)(?:setup\.cfg|tox\.ini)$`), "coverage, linters and type checkers", sections(re(`^\[\s*(?:flake8|mypy|coverage|pylint|pycodestyle|pydocstyle|bandit)\b`)), nil},
	{re(`(?:^|/)Cargo\.toml$`), "linters", sections(re(`^\[+\s*(?:workspace\.)?lints\b`)), nil},
	{re(`(?:^|/)(?:package|composer|deno)\.jsonc?$`), "tests and linters", nil, scripted},
	{re(`(?:^|/)(?:GNUm|[Mm])akefile$|(?:^|/)[Jj]ustfile$`), "tests and checks", nil, targets},
	{re(`(?:^|/)(?:\.gitlab-ci|\.?azure-pipelines|\.drone|\.woodpecker)\.ya?ml$|^(?:\.travis|\.?appveyor|bitbucket-pipelines|\.cirrus)\.ya?ml$|(?:^|/)Jenkinsfile$|^\.(?:(?:github|gitea|forgejo)/(?:workflows|actions)|circleci|buildkite)/.*\.\w+$`), "the CI", nil, nil},
	{re(`(?:^|/)(?:pom\.xml|build\.gradle(?:\.kts)?)$`), "tests and linters", lines(re(`\bexclude\b.*(?:Tests?\b|Spec\b)`)), nil},
	{re(`\.(?:cs|fs|vb)proj$|(?:^|/)Directory\.Build\.(?:props|targets)$`), "the compiler", silenced, nil},
	{re(`(?:^|/)[jt]sconfig[^/]*\.json$`), "the type checker", nil, nil},
	{re(`(?:^|/)conftest\.py$`), "tests", lines(re(`\bpytest_(?:collection_modifyitems|ignore_collect|runtest_makereport|sessionfinish|pyfunc_call|runtest_protocol)\b|exitstatus|\.outcome\b`)), nil},
	{re(`(?:^|/)(?:jest|vite|vitest|playwright|cypress|ava|wdio|karma|mocha)\.(?:config|conf|workspace|setup)\b[^/]*\.(?:[cm]?[jt]s|json)$|(?:^|/)\.mocharc\b`), "tests", nil, nil},
	{re(`(?:^|/)(?:\.rspec|phpunit\.xml(?:\.dist)?|\.?pytest\.ini|xunit\.runner\.json|nextest\.toml|testng\.xml|[^/]*\.runsettings)$`), "tests", nil, nil},
	{re(`(?:^|/)(?:\.nycrc(?:\.json)?|\.c8rc\.json|\.coveragerc(?:\.toml)?|\.simplecov|\.?tarpaulin\.toml|\.?codecov\.ya?ml)$`), "coverage", nil, nil},
	{re(`(?:^|/)(?:\.?mypy\.ini|pyrightconfig\.json|psalm\.xml(?:\.dist)?|phpstan\.neon(?:\.dist)?|\.flowconfig)$`), "type checkers", settings, nil},
	{re(`(?:^|/)(?:\.eslintrc[^/]*|eslint\.config\.[^/]*|\.golangci\.\w+|\.flake8|\.?pylintrc|\.?ruff\.toml|\.rubocop\.yml|biome\.jsonc?|\.oxlintrc\.json|tslint\.json|\.stylelintrc[^/]*|\.?clippy\.toml|\.swiftlint\.yml|\.clang-tidy|detekt\.yml|checkstyle\.xml|\.?phpcs\.xml(?:\.dist)?|\.shellcheckrc|staticcheck\.conf|revive\.toml|\.bandit)$`), "linters", settings, nil},
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

// config tells configuration of tests and linters that is gone or excuses more than
// before, and counts what changed.
func (k *look) config() {
	for _, f := range k.files {
		was := cmp.Or(f.From, f.Path)
		if fixture.MatchString(f.Path) {
			continue
		}
		k.interposed(f)
		c := configurationOf(was)
		if c == nil {
			c = configurationOf(f.Path)
		}
		told := (c != nil || isScript(f.Path, f.New)) && k.softened(f, c)
		if c == nil {
			continue
		}
		if c.differs(was, f) {
			k.counts.Configurations++
		}
		how := ""
		switch {
		case told:
		case f.Deleted || configurationOf(f.Path) == nil:
			if !project.MatchString(was) && len(settings(f.Old)) > 0 && !k.replaced(c, f) && !k.unused(was) && !k.abandoned(was) {
				how = " "
			}
		case c.commands != nil:
			how = c.startsNothing(was, f)
		case c.excused != nil:
			how = k.excuses(c, f)
		}
		if how != "" {
			k.add(rankConfig, ralph.FindingChecks, f.Path, 0, base(was), strings.TrimSpace("the configuration of "+c.what+" was "+verb(f)+how))
		}
	}
}

// differs reports whether what a file says of checks changed.
func (c *configuration) differs(was string, f File) bool {
	if c.commands != nil {
		return !maps.EqualFunc(c.commands(was, f.Old), c.commands(f.Path, f.New), func(a, b [][]byte) bool { return slices.EqualFunc(a, b, bytes.Equal) })
	}
	read := settings
	if project.MatchString(was) && c.excused != nil {
		read = c.excused
	}
	return !slices.EqualFunc(read(f.Old), read(f.New), bytes.Equal)
}

var (
	// excuse finds in configuration what makes a check say less, by itself or for what
	// stands below it.
	excuse = re(`(?i)\b(?:exclude\w*|ignor\w*|skip\w*|disabl\w*|omit\w*|allow[_-][\w-]+|baseline|nowarn|suppress\w*|exitstatus|outcome|pytest_\w+)\b`)
	// demoted finds a rule of a linter that fails no check.
	demoted = re(`[:=]\s*\[?\s*["']?(?:off|allow)\b`)
	// usual finds what is no excuse, or one that nobody asks about: rules that fail a check,
	// modules without types, warnings of others, places that hold nothing of one's own,
	// and code that no test runs.
	usual = re(`^enable|:\s*\[?\s*["']?error\b|^ignore_missing_imports\b|import/ignore|exclude_(?:lines|also)|^["']*(?:ignore|default|once):|\b(?:node_modules|site-packages|vendor|third_party|generated|build|dist|tmp|fixtures?|test_?data|snapshots?)\b|\.(?:tox|venv|git|eggs|nox|cache)\b|\.(?:json|snap|svg|txt)["',\s]*$|TYPE_CHECKING|^disable_warnings|pragma|__main__|NotImplemented|abstractmethod|__repr__`)
	// nothing finds configuration of a linter that finds nothing.
	nothing = re(`(?i)\b(?:default|select|rules|checks)["']?\s*[:=]\s*(?:none\b|\[\s*\]|\{\s*\})|\bdisable-all:\s*true|<(?:TreatWarningsAsErrors|IsTestProject|RunAnalyzers\w*|EnforceCodeStyleInBuild)>\s*false`)
	// enables finds what is looked for all the same.
	enables = re(`(?i)\benable|\bextends\b`)
	// project finds files that configure much else: they go with what they configure.
	project = re(`(?:proj|\.props|xunit\.runner\.json|\.targets|pom\.xml|\.gradle(?:\.kts)?|\.toml|package\.json|composer\.json|deno\.jsonc?|config[^/]*\.json|setup\.cfg|tox\.ini|akefile|ustfile|codecov\.ya?ml|conftest\.py)$`)
	// comment finds lines that configure nothing.
	comment = re(`^(?:#|//|;|/\*|\*(?:[\s/]|$)|--\s|<[!?]|["'](?:-//|https?:)|[\[\](){},\s]*$)`)
	// bareKey finds lines that are told by those below them, and headings.
	bareKey = re(`^[-\s]*["']?[\w/-]+["']?\s*[:=]\s*[\[{]?$|^\[`)
)

// excuses says by which line a file excuses more than before; it returns nothing about
// files of which much changed, and where something is wanted that was not, or linters
// are other ones.
func (k *look) excuses(c *configuration, f File) string {
	was, is := c.excused(f.Old), c.excused(f.New)
	gone, come := missing(was, is), missing(is, was)
	wanted := demanded(come)
	with := func(line []byte) string { return ": with " + shown(strings.TrimPrefix(string(line), "- ")) }
	began := f.Added && strings.HasSuffix(f.Path, "proj")
	for _, line := range come {
		if nothing.Match(line) && !enables.Match(f.New) && !began {
			return with(line)
		}
	}
	const many = 20
	before, now := linesOf(f.Old), linesOf(f.New)
	if f.Added || k.linters() || len(missing(before, now))+len(missing(now, before)) > many {
		return ""
	}
	var more [][]byte
	for _, line := range come {
		switch known := slices.ContainsFunc(was, func(old []byte) bool { return bytes.Equal(old, line) }); {
		case known || bareKey.Match(line) || usual.Match(line) || wanted[nameOf(line)]:
		case !isExcused(f.New, line):
			return ""
		case !slices.ContainsFunc(was, func(old []byte) bool { return holds(old, line) }):
			more = append(more, line)
		}
	}
	if slices.ContainsFunc(gone, func(line []byte) bool { return string(line) == "tests: false" }) { // tests are looked at now
		if at := func(line []byte) bool { return bytes.Contains(line, []byte("path:")) }; slices.ContainsFunc(more, at) {
			more = slices.DeleteFunc(more, func(line []byte) bool { return !at(line) || bytes.Contains(line, []byte("_test")) })
		}
	}
	fewer := 0
	for _, line := range gone {
		if isExcused(f.Old, line) && !slices.ContainsFunc(more, func(other []byte) bool { return holds(other, line) }) {
			fewer++
		}
	}
	if len(more) > fewer {
		return with(more[0])
	}
	return ""
}

// isExcused reports whether a line excuses something, by itself or by what it stands under.
func isExcused(text, line []byte) bool {
	if usual.Match(line) {
		return false
	}
	if excuse.Match(line) || demoted.Match(line) {
		return true
	}
	all := bytes.Split(text, []byte("\n"))
	indent := func(i int) int { return len(all[i]) - len(bytes.TrimLeft(all[i], " \t-")) }
	at := slices.IndexFunc(all, func(other []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(other), line) })
	for i := at - 1; i >= 0; i-- {
		if len(bytes.TrimSpace(all[i])) == 0 || indent(i) >= indent(at) {
			continue
		}
		at = i
		if usual.Match(all[i]) {
			return false
		}
		if excuse.Match(all[i]) {
			return true
		}
	}
	return false
}

// abandoned reports whether the change deletes the package that a file stands in.
func (k *look) abandoned(name string) bool {
	dir := path.Dir(name)
	return dir != "." && slices.ContainsFunc(k.files, func(f File) bool {
		return f.Deleted && path.Dir(f.Path) == dir && manifest.MatchString(f.Path)
	})
}

// unused reports whether a file configures TSLint, which is in no package.json above it.
func (k *look) unused(name string) bool {
	if path.Base(name) != "tslint.json" || k.options.Base == nil {
		return false
	}
	manifests := slices.Concat(k.options.Base(path.Join(path.Dir(name), "package.json")), k.options.Base("package.json"))
	return len(manifests) > 0 && !bytes.Contains(manifests, []byte("tslint"))
}

// replaced reports whether another file of the change configures the like.
func (k *look) replaced(c *configuration, f File) bool {
	return slices.ContainsFunc(k.files, func(other File) bool {
		o := configurationOf(other.Path)
		if o == nil || other.Path == f.Path || other.Deleted || bytes.Equal(other.Old, other.New) {
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
	// housekeeping finds lines that start no check although they name one: they
	// install it, complete its arguments, or say where it is.
	housekeeping = re(`(?i)\b(?:install(?:er)?|checkout|release|apt|apt-get|brew|choco|curl|wget|gem|get|cache|upload|deploy|publish|push|image|npm ci|module|checksum|createdb|create database|prune|echo|compgen|complete|local)\b|(?:^|[;&|] *|\bif )test [-!"$\[]|^(?:- )?(?:name|uses|if|needs|path|key|group|branches|with|env|on|os|id)\b|^(?:- )?["']?[\w.-]+["']?:$|^- \w+(?:-\w+)+$|^(?:- )?~/|^\W*$|^(?:- )?\w+=["']`)
	// idle finds commands that check nothing.
	idle = re(`^[@-]*(?:true|:|exit 0|echo\b[^;&|]*|printf\b[^;&|]*|(?:ifn?def|ifn?eq|else|endif)\b.*|)$`)
	// checkNames finds names of scripts and targets that are checks.
	checkNames = re(`(?i)test|lint|check|verify|validate|^ci(?:[:-]|$)|cover|types|tsc|e2e|spec|qa|audit|analy|vet`)
)

// startsNothing says which script or target that started something starts nothing any
// more.
func (c *configuration) startsNothing(was string, f File) string {
	before, now := c.commands(was, f.Old), c.commands(f.Path, f.New)
	starts := func(line []byte) bool { return !idle.Match(line) }
	for _, goal := range sorted(before) {
		if lines, stays := now[goal]; stays && !slices.ContainsFunc(lines, starts) && slices.ContainsFunc(before[goal], starts) {
			return ": " + shown(goal) + " starts nothing any more"
		}
	}
	return ""
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
			head, recipe, _ := strings.Cut(strings.ReplaceAll(target.text, "\\\n", " "), "\n")
			_, needs, _ := strings.Cut(head, ":")
			out[goal] = linesOf([]byte(needs + "\n" + recipe))
		}
	}
	return out
}

// settings returns the lines of a file that are no comments, without comments at their
// ends.
func settings(text []byte) [][]byte {
	list := slices.DeleteFunc(linesOf(text), func(line []byte) bool { return comment.Match(line) })
	for i, line := range list {
		if at := bytes.Index(line, []byte(" #")); at > 0 {
			list[i] = bytes.TrimSpace(line[:at])
		}
	}
	return list
}

// sections returns a function that keeps of an INI or TOML file the sections whose
// heading matches.
func sections(heading *lazyregexp.Regexp) func([]byte) [][]byte {
	return func(text []byte) [][]byte {
		in := false
		return slices.DeleteFunc(settings(text), func(line []byte) bool {
			if line[0] == '[' && line[len(line)-1] == ']' && bytes.IndexByte(line, '=') < 0 {
				in = heading.Match(line)
			}
			return !in
		})
	}
}

// lines returns a function that keeps the lines that match.
func lines(re *lazyregexp.Regexp) func([]byte) [][]byte {
	return func(text []byte) [][]byte {
		return slices.DeleteFunc(settings(text), func(line []byte) bool { return !re.Match(line) })
	}
}

var (
	switches = re(`<(?:TreatWarningsAsErrors|IsTestProject|RunAnalyzers\w*|EnforceCodeStyleInBuild)\b`)
	noWarn   = re(`(?i)<NoWarn\b`)
	// warning finds those of the compiler and well-known analyzers, but not of what has no
	// comment.
	warning     = re(`\b(?:CA|CS|SA|SX|IDE|S|RCS|RS|MA|VSTHRD|xUnit|NUnit)\d+\b`)
	uncommented = re(`CS(?:1573|1591|170\d)`)
)

// silenced returns the settings of a compiler, and a line for each warning that it does
// not give.
func silenced(text []byte) [][]byte {
	var out [][]byte
	for _, line := range settings(text) {
		if switches.Match(line) {
			out = append(out, line)
		}
		if noWarn.Match(line) {
			for _, code := range warning.FindAll(line, -1) {
				if !uncommented.Match(code) {
					out = append(out, append([]byte("NoWarn "), code...))
				}
			}
		}
	}
	return out
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
	{re(`(?:^|/)(?:\.npmrc|\.yarnrc|\.yarnrc\.yml|pnpm-workspace\.yaml)$`), re(`(?i)^["']?(?:script-?shell|node-?options|onload-?script|yarn-?path|global-?pnpmfile|pnpmfile|plugins)["']?\s*[:=]`), ralph.FindingChecks, startsChecks},
	{re(`(?:^|/)\.cargo/config(?:\.toml)?$`), re(`^(?:\w+\.)*(?:runner|linker|rustc|rustc-wrapper|rustc-workspace-wrapper|rustdoc)\b|^(?:\w+\.)*rustflags\b.*(?:-A|cap-lints)|^(?:b|build|c|check|clippy|d|doc|fmt|r|run|t|test)\s*=`), ralph.FindingChecks, startsChecks},
	{re(`(?:^|/)\.?mise\.toml$`), re(`^(?:run|_\.(?:path|source|file)|PATH)\b`), ralph.FindingChecks, startsChecks},
	{re(`(?:^|/)(?:\.bazelrc|sitecustomize\.py|usercustomize\.py|\.pnpmfile\.cjs|go\.work|[^/]*\.pth|tools/bazel|\.mvn/(?:maven\.config|jvm\.config|extensions\.xml))$`), anyLine, ralph.FindingChecks, startsChecks},
	{re(`(?:^|/)\.bundle/config$`), re(`^BUNDLE_(?:GEMFILE|LOCAL)`), ralph.FindingChecks, startsChecks},
	{re(`(?i)(?:^|/)\.gitattributes$`), re(`^[^#]\S*\s.*(?:\bfilter=|-diff\b|\bdiff=|\bmerge=)|^(?:[^#]*/)?\*?(?:\*|\.(?:c|cc|cpp|cs|go|h|java|js|jsx|kt|php|py|rb|rs|sh|ts|tsx|ya?ml))\s.*\b(?:binary|linguist-generated)\b`), ralph.FindingChecks, "it decides what of a change is shown, how it is merged or which filter git runs; look at it before it is merged"},
	{re(`(?i)(?:^|/)\.env$`), re(`(?i)^(?:export\s+)?(?:(?:openai|anthropic|claude|gemini|google|codex|openrouter|mistral)_\w+|(?:https?|all)_proxy|node_options|node_extra_ca_certs|ld_(?:preload|library_path)|path)\s*=`), ralph.FindingAgentConfig, "agents read it, and it says where their keys are sent or what they start; read it before it is merged"},
}

// builtIn finds attributes that come with git or Git LFS and hide nothing.
var builtIn = re(`\b(?:filter|diff|merge)=(?:lfs|union|text|binary|astextplain|ada|bash|bibtex|cpp|csharp|css|dts|elixir|fortran|fountain|golang|html|java|kotlin|markdown|matlab|objc|pascal|perl|php|python|ruby|rust|scheme|tex)\b|\blinguist-\w+=false\b`)

var example = re(`(?:^|/)examples?/`)

var digits = re(`\d+`)

// anyLine finds a line that is no comment.
var anyLine = re(`^(?:[^#/;*\s-]|-+\w)`)

// interposed tells what a file newly puts in front of the programs that checks start.
func (k *look) interposed(f File) {
	if example.MatchString(f.Path) {
		return
	}
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
