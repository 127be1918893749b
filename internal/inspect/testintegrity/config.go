package testintegrity

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
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
	// part gives the lines that count; nil: all that are no comments.
	part func(name string, text []byte) [][]byte
	// commands means that the lines start checks.
	commands bool
}

var configurations = []configuration{
	{re(`(?:^|/)pyproject\.toml$`), "tests, coverage, linters and type checkers", sections(re(`^\[+\s*tool\.(?:pytest|ruff|mypy|coverage|pylint|flake8|pyright|basedpyright|tox|bandit|ty)\b`)), false},
	{re(`(?:^|/)(?:setup\.cfg|tox\.ini)$`), "tests, coverage, linters and type checkers", sections(re(`^\[\s*(?:tool:pytest|pytest|flake8|mypy|coverage|pylint|pycodestyle|pydocstyle|bandit)\b`)), false},
	{re(`(?:^|/)Cargo\.toml$`), "linters and tests", sections(re(`^\[+\s*(?:workspace\.)?(?:lints|test|profile\.test)\b`)), false},
	{re(`(?:^|/)(?:package|composer|deno)\.jsonc?$`), "tests and linters", scripted, true},
	{re(`(?:^|/)(?:GNUm|[Mm])akefile$|(?:^|/)[Jj]ustfile$`), "tests and checks", targets, true},
	{re(`(?:^|/)(?:\.gitlab-ci|\.?azure-pipelines|\.drone|\.woodpecker)\.ya?ml$|^(?:\.travis|\.?appveyor|bitbucket-pipelines|\.cirrus)\.ya?ml$|(?:^|/)Jenkinsfile$|(?:^|/)\.(?:github|gitea|forgejo)/(?:workflows|actions)/|(?:^|/)\.(?:circleci|buildkite)/`), "the CI", lines(checkCommand), true},
	{re(`(?:^|/)(?:pom\.xml|build\.gradle(?:\.kts)?|gradle\.properties)$`), "tests and linters", lines(re(`(?i)\bexclude.*(?:test|spec)|minimum|allWarningsAsErrors|Werror`)), false},
	{re(`\.(?:cs|fs|vb)proj$|(?:^|/)Directory\.Build\.(?:props|targets)$`), "the compiler and tests", lines(re(`(?i)TreatWarningsAsErrors|<NoWarn|WarningLevel|Nullable|AnalysisLevel|AnalysisMode|EnforceCodeStyle|RunAnalyzers|IsTestProject|Threshold|WarningsNotAsErrors|Compile Remove.*test`)), false},
	{re(`(?:^|/)[jt]sconfig[^/]*\.json$`), "the type checker", lines(re(`"(?:strict\w*|alwaysStrict|checkJs|exactOptionalPropertyTypes|useUnknownInCatchVariables|no(?:Implicit|Unused|Unchecked|Fallthrough|PropertyAccess)\w+)"\s*:`)), false},
	{re(`(?:^|/)conftest\.py$`), "tests", lines(re(`\bpytest_(?:collect|ignore|runtest|session|report|pyfunc|exception|assert|unconfigure)\w*|exitstatus|\.outcome\b`)), false},
	{re(`(?:^|/)(?:jest|vite|vitest|playwright|cypress|ava|wdio|karma|mocha)\.(?:config|conf|workspace|setup)\b[^/]*\.(?:[cm]?[jt]s|json)$|(?:^|/)\.mocharc\b`), "tests", lines(re(`(?i)test(?:match|regex|name|pathignore)|exclude|ignore|threshold|coverage|retr(?:y|ies)|forbidOnly|\bgrep\b|\bbranches\b`)), false},
	{re(`(?:^|/)(?:\.rspec|phpunit\.xml(?:\.dist)?|\.?pytest\.ini|xunit\.runner\.json|nextest\.toml|testng\.xml|[^/]*\.runsettings)$`), "tests", nil, false},
	{re(`(?:^|/)(?:\.nycrc(?:\.json)?|\.c8rc\.json|\.coveragerc|\.simplecov|\.?tarpaulin\.toml)$`), "coverage", nil, false},
	{re(`(?:^|/)\.?codecov\.ya?ml$`), "coverage", lines(re(`target|threshold|status|patch|project|informational|ignore`)), false},
	{re(`(?:^|/)(?:\.?mypy\.ini|pyrightconfig\.json|psalm\.xml(?:\.dist)?|phpstan\.neon(?:\.dist)?|phpstan-baseline\.neon|\.flowconfig)$`), "type checkers", nil, false},
	{re(`(?:^|/)(?:\.eslintrc|eslint\.config\.)[^/]*$`), "linters", lines(re(`["']?[@\w/-]+["']?\s*:\s*\[?\s*(?:["']?(?:error|warn|off)\b|[012]\b)|\bextends\b|\bignore|recommended`)), false},
	{re(`(?:^|/)(?:\.golangci\.\w+|\.flake8|\.?pylintrc|\.?ruff\.toml|\.rubocop\.yml|\.rubocop_todo\.yml|biome\.jsonc?|\.oxlintrc\.json|tslint\.json|\.eslintignore|\.stylelintrc[^/]*|\.?clippy\.toml|\.swiftlint\.yml|\.clang-tidy|detekt\.yml|checkstyle\.xml|\.?phpcs\.xml(?:\.dist)?|\.shellcheckrc|staticcheck\.conf|revive\.toml|\.bandit|\.gitleaksignore|\.trivyignore)$`), "linters", nil, false},
	{re(`(?:^|/)(?:\.pre-commit-config\.yaml|lefthook\.ya?ml|\.lintstagedrc(?:\.json)?)$|(?:^|/)\.husky/`), "checks before a commit", nil, false},
}

// configurationOf is the kind of a file, nil of one that configures no check.
func configurationOf(name string) *configuration {
	for i := range configurations {
		if configurations[i].path.MatchString(name) {
			return &configurations[i]
		}
	}
	return nil
}

// lines are those of a text that count.
func (c *configuration) lines(name string, text []byte) [][]byte {
	if c.part != nil {
		return c.part(name, text)
	}
	return slices.DeleteFunc(linesOf(text), func(line []byte) bool { return comment.Match(line) })
}

// config tells changed configuration of tests and linters.
func (k *look) config() {
	for _, f := range k.files {
		was := cmp.Or(f.From, f.Path)
		k.interposed(f)
		c := configurationOf(was)
		if c == nil {
			c = configurationOf(f.Path)
		}
		if c == nil && !isScript(f.Path, f.New) || k.softened(f, c) || c == nil {
			continue
		}
		if line, less := k.configuresLess(c, f); less {
			text := "the configuration of " + c.what + " was " + verb(f)
			if line != "" {
				text += ": " + line
			}
			k.add(rankConfig, ralph.FindingChecks, f.Path, 0, base(was), text)
		}
	}
}

var (
	// excuses finds in configuration what makes a check say less.
	excuses = re(`(?i)\b(?:exclude\w*|ignor\w*|skip\w*|disabl\w*|omit\w*|allow[_-]\w+|norecursedirs.*test|baseline|nowarn|compile remove|suppress\w*|deselect\w*|onlyIf|retr(?:y|ies)|test_?match|test_?regex|testNamePattern|grep|exitstatus|outcome|pytest_\w+)\b|[:=]\s*\[?\s*["']?(?:off|warn)\b`)
	// enforced finds a rule of a linter that fails a check, whatever it allows, and a
	// type checker that is told of modules without types.
	enforced = re(`^ignore_missing_imports\b|:\s*\[?\s*["']?error\b`)
	// nothing finds configuration of a linter that finds nothing.
	nothing = re(`(?i)\b(?:default|select|rules|checks)["']?\s*[:=]\s*(?:none\b|\[\s*\]|\{\s*\})|\bdisable-all:\s*true`)
	// enables finds what is looked for all the same.
	enables = re(`(?i)\benable`)
	// harmless finds lines of which one less means no check less, linters that are
	// part of others today among them.
	harmless = re(`(?i)^[-\s"']*(?:version|timeout|deadline|run|output|formats?|colou?rs?|concurrency|cache\w*|plugins?|parser\w*|env|root|sort-\w*|print-\w*|tests|go|addopts|minversion|testpaths|norecursedirs|source|paths?|AllCops|TargetRubyVersion|NewCops)\b["']?\s*[:=]?|\bfalse\b|^[-\s]*["']?[\w-]+["']?\s*[:=]\s*[\[{]?$|^- (?:deadcode|structcheck|varcheck|gosimple|stylecheck|scopelint|golint|interfacer|maligned|exportloopref|typecheck|megacheck|gas|gomnd|tenv|ifshort|nosnakecase)\b`)
	// project finds files that configure much else: they go with what they configure.
	project = re(`(?:proj|\.props|\.targets|pom\.xml|\.gradle(?:\.kts)?|Cargo\.toml|package\.json|composer\.json|deno\.jsonc?|config\.json)$`)
	// bareKey finds lines that are told by those below them.
	bareKey = re(`^[-\s]*["']?[\w-]+["']?:$`)
	// comment finds lines that configure nothing.
	comment = re(`^(?:#|//|;|/\*|\*(?:[\s/]|$)|<[!?]|["'](?:-//|https?:)|[\[\](){},\s]*$)`)
	// checkCommand finds lines that start checks.
	checkCommand = re(`(?i)\b(?:\w*tests?|lint\w*|check\w*|vet|verify|tsc|mypy|ruff|flake8|pylint|eslint|jest|vitest|mocha|py\.test|tox|clippy|golangci\S*|golint|staticcheck|rspec|rubocop|phpunit|phpstan|psalm|expresso|nosetests|detox|nox)\b|\bmake(?: ci| all| \S*cov\w*)?["']?\s*$`)
	// strict finds what switches all strict rules of a type checker on.
	strict = re(`^"?strict"?\s*[:=]\s*[tT]rue`)
	// skips finds flags with which a build runs no tests.
	skips = re(`-DskipTests\b|-Dmaven\.test\.skip|-x test\b|--skip[- ]tests?\b`)
	// cosmetic finds what of a command changes how a check is started, and what it shows.
	cosmetic = re(`\b(?:(?:pipenv|poetry|uv|hatch|pdm|rye) run|bundle exec|npx|python3? -m)\s|\s(?:--(?:bail|growl|verbose|quiet|boxed|forked|colou?rs?)\b(?:=\S+)?|--(?:reporter|slow|require)[ =]\S+|-[nI] ?\S+)`)
	// housekeeping finds lines that start no check although they name one: they
	// install it, or say where it is.
	housekeeping = re(`(?i)\b(?:install(?:er)?|checkout|release|apt|apt-get|brew|choco|curl|wget|gem|get|cache|upload|deploy|publish|image|npm ci|module|checksum|createdb|create database|prune|echo)\b|(?:^|[;&|] *|\bif )test [-!"$\[]|^(?:- )?(?:name|uses|if|needs|path|key|group|branches|with|env|on|os|id)\b|^(?:- )?["']?[\w.-]+["']?:$|^- \w+(?:-\w+)+$|^(?:- )?~/|^\W*$|^(?:- )?\w+=`)
	// keyed finds values of YAML that are no commands.
	keyed = re(`^(?:- )?["']?[\w.-]+["']?:\s`)
	// commandKey finds those that are.
	commandKey = re(`^(?:- )?(?:run|command|script|sh|bash|bat|ps|cmd|\w*_script):`)
)

// configuresLess reports whether what a file configures says less than before,
// and of which line that is to be told.
func (k *look) configuresLess(c *configuration, f File) (line string, ok bool) {
	was, is := c.lines(cmp.Or(f.From, f.Path), f.Old), c.lines(f.Path, f.New)
	if f.Deleted || configurationOf(f.Path) == nil {
		return "", len(was) > 0 && !project.MatchString(f.Path) && !k.replaced(c, f, false)
	}
	const many = 20 // lines of a file that was written anew: none of them is the one to tell
	if before, now := linesOf(f.Old), linesOf(f.New); len(missing(before, now))+len(missing(now, before)) > many && !slices.ContainsFunc(is, nothing.Match) {
		return "", false
	}
	if c.commands {
		return k.fewerCommands(slices.DeleteFunc(was, func(line []byte) bool {
			return slices.ContainsFunc(is, func(other []byte) bool { return bytes.Equal(line, other) })
		}))
	}
	gained := missing(is, was)
	var lost, less [][]byte // less: excuses
	for _, line := range missing(was, is) {
		if excused(f.Old, line) {
			less = append(less, line)
		} else if !harmless.Match(line) && line[0] != '[' && (!inSections.MatchString(f.Path) || bytes.IndexByte(line, '=') >= 0) && !k.configured(line) {
			lost = append(lost, line)
		}
	}
	if k.replaced(c, f, true) || slices.ContainsFunc(gained, strict.Match) {
		lost = nil
	}
	var more [][]byte      // excuses
	others, wanted := 0, 0 // what came in the place of others, and what is wanted besides
	for _, line := range gained {
		switch {
		case nothing.Match(line) && !enables.Match(f.New), !f.Added && !bareKey.Match(line) && excused(f.New, line):
			if !slices.ContainsFunc(was, func(old []byte) bool { return holds(old, line) }) { // in another form
				more = append(more, line)
			}
			continue
		case harmless.Match(line) || line[0] == '[':
			continue
		}
		if !slices.ContainsFunc(lost, func(old []byte) bool { return holds(old, line) || sameButNumbers(old, line) }) {
			others++
		}
		if !slices.ContainsFunc(was, func(old []byte) bool { return bytes.Equal(key(old), key(line)) }) {
			wanted++
		}
	}
	instead := 0 // excuses that others took the place of
	for _, line := range less {
		if !slices.ContainsFunc(more, func(other []byte) bool { return holds(other, line) }) {
			instead++
		}
	}
	said := func(line []byte) string { return shown(strings.TrimPrefix(string(line), "- ")) }
	switch {
	case len(lost) > others:
		return "without " + said(lost[0]), true
	case len(more) > 0 && len(more) >= wanted && len(more) > instead:
		return "with " + said(more[0]), true
	}
	return "", false
}

// inSections finds files where a line without a key is a part of a list, mostly of
// files and environments.
var inSections = re(`(?:pyproject\.toml|\.cfg|\.ini|\.coveragerc)$`)

// key is what a line of configuration gives a value to.
func key(line []byte) []byte {
	if at := bytes.IndexAny(line, "=:"); at > 0 {
		line = line[:at]
	}
	return bytes.TrimSpace(line)
}

// sameButNumbers reports whether two lines differ in numbers only.
func sameButNumbers(a, b []byte) bool {
	plain := func(line []byte) []byte {
		return bytes.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return -1
			}
			return r
		}, line)
	}
	return bytes.Equal(plain(a), plain(b))
}

// replaced reports whether another file of the change, perhaps one that is added,
// configures the like now.
func (k *look) replaced(c *configuration, f File, added bool) bool {
	return slices.ContainsFunc(k.files, func(other File) bool {
		o := configurationOf(other.Path)
		if o == nil || other.Deleted || added && !other.Added || other.Path == f.Path || bytes.Equal(other.Old, other.New) {
			return false
		}
		return slices.ContainsFunc(strings.Fields(c.what), func(word string) bool {
			word = strings.Trim(word, ",")
			return (word == "CI" || len(word) > 4) && strings.Contains(o.what, word)
		})
	})
}

// fewerCommands reports whether a command that starts checks is gone, and no other one
// came in its place.
func (k *look) fewerCommands(gone [][]byte) (line string, less bool) {
	k.newChecks()
	starts := func(line []byte) bool {
		if at := bytes.Index(line, []byte(`: "`)); at > 0 { // of a package.json
			line = line[at+len(`: "`):]
		}
		return checkCommand.Match(line) && !housekeeping.Match(line) && (!keyed.Match(line) || commandKey.Match(line))
	}
	var lost [][]byte
	for _, line := range gone {
		if starts(line) && !k.configured(line) && !k.respelled(line) {
			lost = append(lost, line)
		}
	}
	others := 0
	for line := range k.checks {
		if starts([]byte(line)) && !skips.MatchString(line) && !slices.ContainsFunc(lost, func(old []byte) bool { return holds(old, []byte(line)) || narrower(old, []byte(line)) }) {
			others++
		}
	}
	if len(lost) > 0 && others == 0 {
		return "without " + shown(strings.TrimPrefix(string(lost[0]), "- ")), true
	}
	return "", false
}

// respelled reports whether a new line of configuration, or a new script, has nearly
// all words of a command, and leaves no tests out.
func (k *look) respelled(line []byte) bool {
	for _, f := range k.files {
		if f.Added && isScript(f.Path, f.New) {
			words := map[string]bool{}
			tokens(f.New, words)
			if survives(line, words) {
				return true
			}
		}
	}
	for other := range k.checks {
		words := map[string]bool{}
		tokens([]byte(other), words)
		if survives(line, words) && !skips.MatchString(other) && !narrower(line, []byte(other)) {
			return true
		}
	}
	return false
}

// narrower reports whether a command does for a part what another one did for all.
func narrower(old, now []byte) bool {
	before, _, whole := strings.Cut(string(old), "./...")
	return whole && strings.Contains(string(now), strings.TrimSpace(before)) && !strings.Contains(string(now), "...")
}

// excused reports whether a line excuses something, by itself or by what it stands under.
func excused(text, line []byte) bool {
	if enforced.Match(line) {
		return false
	}
	if excuses.Match(line) {
		return true
	}
	all := bytes.Split(text, []byte("\n"))
	indent := func(i int) int { return len(all[i]) - len(bytes.TrimLeft(all[i], " \t-")) }
	at := slices.IndexFunc(all, func(other []byte) bool { return bytes.Equal(bytes.TrimSpace(other), line) })
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

// newChecks notes the lines of configuration that are new in the change.
func (k *look) newChecks() {
	if k.checks != nil {
		return
	}
	k.checks = map[string]bool{}
	for _, f := range k.files {
		if c := configurationOf(f.Path); c != nil {
			for _, line := range missing(c.lines(f.Path, f.New), c.lines(f.Path, f.Old)) {
				k.checks[string(line)] = true
			}
		}
	}
}

// configured reports whether a line of configuration goes on in a new one, of any file.
func (k *look) configured(line []byte) bool {
	k.newChecks()
	for other := range k.checks {
		if holds([]byte(other), line) && (!skips.MatchString(other) || skips.Match(line)) {
			return true
		}
	}
	return false
}

// holds reports whether a line has all that another one has. Signs around it,
// variables in front of it and versions do not count.
func holds(line, other []byte) bool {
	words := func(line []byte) []string {
		line = cosmetic.ReplaceAll(line, nil)
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
		more := missing(lines(f.Path, f.New), lines(cmp.Or(f.From, f.Path), f.Old))
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

// checkNames are parts of the names of scripts, targets and environments that are checks.
var checkNames = re(`(?i)test|lint|check|verify|validate|^ci(?:[:-]|$)|cover|types|tsc|e2e|spec|qa|audit|analy|vet`)

// scripted keeps of a package.json or composer.json the scripts that are checks by
// their name, and the configuration of tests and linters, a line for each key.
func scripted(_ string, text []byte) [][]byte {
	var doc map[string]any
	if json.Unmarshal(text, &doc) != nil {
		return nil
	}
	kept := map[string]any{}
	for _, key := range []string{"scripts", "tasks"} {
		list, _ := doc[key].(map[string]any)
		for name, v := range list {
			if checkNames.MatchString(name) {
				kept[name] = v
			}
		}
	}
	for _, key := range []string{"jest", "vitest", "mocha", "ava", "nyc", "c8", "eslintConfig", "eslintIgnore", "lint-staged", "husky", "pre-commit"} {
		inner, ok := doc[key].(map[string]any)
		if v := doc[key]; v != nil && !ok {
			kept[key] = v
		}
		for name, v := range inner {
			kept[key+" "+name] = v
		}
	}
	var out [][]byte
	for _, key := range sorted(kept) {
		value, _ := json.Marshal(kept[key])
		out = append(out, fmt.Appendf(nil, "%s: %s", key, value))
	}
	return out
}

// targets keeps of a Makefile and its kin the targets that are checks by their name.
func targets(name string, text []byte) [][]byte {
	var out [][]byte
	list := blocks(path.Base(name), text)
	for _, goal := range sorted(list) {
		if checkNames.MatchString(goal) {
			out = append(out, linesOf([]byte(strings.ReplaceAll(list[goal].text, "\\\n", " ")))...)
		}
	}
	return out
}
