package testintegrity

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
	"github.com/org/ralph-action/internal/ralph"
)

// isScript reports whether a file is a program for a shell, or a list of commands.
func isScript(name string, text []byte) bool {
	switch path.Ext(name) {
	case ".sh", ".bash", ".zsh", ".mk":
		return true
	}
	first, _, _ := bytes.Cut(text[:min(len(text), 200)], []byte("\n"))
	return bytes.HasPrefix(first, []byte("#!")) && bytes.HasSuffix(bytes.TrimSpace(first), []byte("sh"))
}

// softener is what lets a check pass that found something.
type softener struct {
	rule, text string
	tool       bool // only on a line that starts a tool for checks
	line       *lazyregexp.Regexp
	files      *lazyregexp.Regexp // the names it is for; nil: all
}

const pass = "a check cannot fail here any more"

// extends finds rules of a linter that come by the set: of some of them nobody wants to
// hear.
var extends = re(`\bextends\b|recommended|\bplugins?\b|\bNewCops:\s*enable|inherit_|^"?strict"?\s*[:=]\s*[tT]rue`)

var (
	// manifest finds files that say which linters there are, linter lines that do.
	manifest = re(`(?:^|/)(?:(?:package|composer)\.json|pyproject\.toml|setup\.(?:cfg|py)|tox\.ini|noxfile\.py|Pipfile|Gemfile|go\.mod|build\.gradle(?:\.kts)?|libs\.versions\.toml|requirements/[^/]*)$|requirements[^/]*\.(?:txt|in|pip)$|(?:\.gemspec|proj|\.props)$`)
	linter   = re(`(?i)` + linters + `[\w./-]*["']?(?:\s*[,:=<>~!@]|\s)\W*v?\d+\.\d|^(?:deps\s*=|[-"'\s])*` + linters + `[\w-]*["',]*$|Include="[^"]*(?:Analyzer|StyleCop)`)
)

const linters = `\b(?:[\w@/-]*(?:flake8|pylint|ruff|eslint|stylelint|biome|oxlint|rubocop|mypy|pyright|golangci-lint|phpstan|psalm|php_codesniffer|coding-standard|revive|staticcheck|checkstyle|detekt)|xo\b)`

// linterCame reports whether the change adds a linter or a plugin of one, or another
// version: what is excused then was not asked for before.
func (k *look) linterCame() bool {
	return slices.ContainsFunc(k.files, func(f File) bool {
		return manifest.MatchString(f.Path) && slices.ContainsFunc(missing(linesOf(f.New), linesOf(f.Old)), linter.Match)
	})
}

var softeners = []softener{
	{"|| true", pass, true, re(`\|\|\s*(?:true|:|exit 0|echo\b|/bin/true)`), nil},
	{"; true", pass, true, re(`;\s*(?:true|:|exit 0)\s*["']?,?\s*$`), nil},
	{"- before a command", pass, true, re(`^-\s*@?(?:npm|yarn|pnpm|go|cargo|pytest|python|mvn|\./|golangci|eslint|ruff|tox|make|\$\()`), re(`(?i)^(?:gnu)?makefile$|\.mk$`)},
	{"continue-on-error", "a step may fail without anybody hearing of it", false, re(`\bcontinue-on-error:\s*(?:true|["']?\$\{\{)|\ballow_failure:\s*true|\bcontinueOnError:\s*true|\bcatchError\b`), nil},
	{"switched off", "a step is switched off", false, re(`^-?\s*if:\s*(?:\$\{\{\s*)?false\b|\bwhen:\s*never\b`), nil},
	{"passWithNoTests", "a run without a single test or file passes", false, re(`--no-error-on-unmatched|--?pass-?[wW]ith-?[nN]o-?[tT]ests\b|\bpassWithNoTests["']?\s*[:=]\s*true|--no-tests=pass`), nil},
	{"ignore failures", "failures of tests or checks are ignored", false, re(`(?i)testFailureIgnore>\s*true|<skipTests>\s*true|\bignoreFailures\s*=\s*true|\bfailOnError\s*[=:]\s*false|failOnViolation>\s*false|haltOnFailure\s*=\s*false|\babortOnError\s*=?\s*false|--exit-zero\b|--exit-code[= ]0\b|--issues-exit-code[= ]0\b|\bset \+e\b|--no-verify\b|--continue-on-collection-errors|--suppress-no-test-exit-code|\bfailFast:\s*false.*\|\||--passthru-exit|--force-exit\b`), nil},
	{"tests left out", "tests are left out", true, re(`--deselect\b|--ignore(?:-glob)?[= ]\S*tests?|\btestPathIgnorePatterns\b.*\[\s*["'](?:[^n]|n[^o])|--testPathIgnorePatterns\b|--skip\s+\w|-k\s+["']?not\b|-m\s+["']not\b|--exclude-tag\w*\b|-skip[= ]\S|\b(?:verify|test|check)\b.*(?:-DskipTests\b|-Dmaven\.test\.skip|-x test\b|--skip[- ]tests?\b)`), nil},
	{"strictness", "the type checker is told to say less", false, re(`"(?:strict\w*|noImplicit\w+|noUnused\w+|noUnchecked\w+|noFallthrough\w+|exactOptionalPropertyTypes|checkJs)"\s*:\s*false|^(?:strict|disallow_\w+|check_untyped_defs|warn_\w+)\s*=\s*(?i:false)\b|^ignore_errors\s*=\s*(?i:true)\b|"typeCheckingMode"\s*:\s*"(?:off|basic)"`), re(`^[tj]sconfig|mypy|pyproject|setup\.cfg|pyright`)},
	{"rule switched off", "a rule of the linter is switched off or is a warning only", false, re(`^["']?@?[\w/@-]+["']?\s*:\s*\[?\s*["'](?:off|warn)["']|^["']?[a-z@][\w/@-]*["']?\s*:\s*\[?\s*0\s*[,\]]?$|^Enabled:\s*false\b|"(?:enabled|recommended)"\s*:\s*false`), re(`eslint|biome|oxlint|stylelint|rubocop|package\.json|tslint`)},
}

// ruleName finds the name of a rule behind that of its plugin.
var ruleName = re(`^["']?(?:[\w@-]+/)*([\w-]+)["']?\s*:`)

// started are the names of the checks that lines start.
func started(lines [][]byte) map[string]bool {
	names := map[string]bool{}
	for _, line := range lines {
		for _, name := range checkCommand.FindAll(line, -1) {
			names[strings.ToLower(string(name))] = true
		}
	}
	return names
}

// option is what a line says from a place on that a pattern found, to the end of a quotation.
func option(found, line []byte) []byte {
	rest := line[bytes.Index(line, found):]
	if end := bytes.IndexAny(rest[len(found):], `"'`); end >= 0 {
		rest = rest[:len(found)+end]
	}
	return rest
}

func overlap(a, b map[string]bool) bool {
	for name := range a {
		if b[name] {
			return true
		}
	}
	return false
}

// ignoring finds the heads of blocks of Gradle in which failures are ignored.
var ignoring = re(`([^\n{}]*)\{[^{}]*\bignoreFailures\s*=\s*true`)

// cops returns those of RuboCop that were configured before: off ones by "-" and their names, too.
func (k *look) cops() map[string]bool {
	known, cop := map[string]bool{}, ""
	for _, f := range k.files {
		for line := range bytes.Lines(f.Old) {
			switch trimmed := bytes.TrimSpace(line); {
			case !strings.Contains(f.Path, "rubocop"):
			case isWord(line[0]):
				cop = string(trimmed)
				known[cop] = true
			case bytes.HasPrefix(trimmed, []byte("Enabled: false")):
				known["-"+cop] = true
			}
		}
	}
	return known
}

// onlyReports reports whether all that ignores failures in a build is new in it.
func onlyReports(f File) bool {
	if !bytes.Contains(f.New, []byte("ignoreFailures")) {
		return false
	}
	heads := ignoring.FindAllStringSubmatch(string(f.New), maxCases)
	return len(heads) > 0 && !slices.ContainsFunc(heads, func(m []string) bool {
		head := strings.TrimSpace(m[1])
		return head == "test" || strings.ContainsAny(head, " .(") || bytes.Contains(f.Old, []byte(head))
	})
}

// nameOf is the name of the rule that a line sets, without its plugin.
func nameOf(line []byte) string {
	if m := ruleName.FindStringSubmatch(string(line)); m != nil {
		return m[1]
	}
	return ""
}

// demanded are the rules that lines switch on.
func demanded(lines [][]byte) map[string]bool {
	names := map[string]bool{}
	for _, line := range lines {
		if _, value, sets := bytes.Cut(line, []byte(":")); !sets || !bytes.Contains(value, []byte("error")) {
			continue
		}
		if name := nameOf(line); name != "" {
			names[name] = true
		}
	}
	return names
}

// softened tells what lets a check pass that found something, and thresholds
// that were lowered; told reports whether there was something. c is nil for scripts.
func (k *look) softened(f File, c *configuration) (told bool) {
	if f.Deleted {
		return false
	}
	first := f.Added && (path.Dir(f.Path) == "." || c != nil && k.replaced(c, f)) // nothing was checked before, or by others
	n := 0
	before := map[string]int{} // lines that had it already and were changed
	gone := missing(linesOf(f.Old), linesOf(f.New))
	ran := started(gone)
	for _, other := range k.files {
		if other.Deleted && configurationOf(other.Path) != nil {
			gone = append(gone, linesOf(other.Old)...)
		}
	}
	for _, line := range gone {
		for _, s := range softeners {
			if s.line.Match(line) {
				before[s.rule]++
			}
		}
	}
	come := missing(linesOf(f.New), linesOf(f.Old))
	extended := sync.OnceValue(func() bool { return slices.ContainsFunc(come, extends.Match) || k.linters() })
	wanted, reports := demanded(come), onlyReports(f)
	cop, cops := "", sync.OnceValue(k.cops)
	others := slices.ContainsFunc(come, func(line []byte) bool { return string(line) == "Enabled: true" })
	had := map[string]int{}
	for _, line := range linesOf(f.Old) {
		had[string(bytes.TrimRight(line, ","))]++
	}
	for line := range bytes.Lines(f.New) {
		n++
		if isWord(line[0]) {
			cop = string(bytes.TrimSpace(line))
		}
		line = bytes.TrimSpace(line)
		id := string(bytes.TrimRight(line, ","))
		if had[id]--; had[id] >= 0 || len(line) > 4000 || comment.Match(line) {
			continue
		}
		for _, s := range softeners {
			if s.files != nil && (first || f.Added && s.rule == "strictness" || !s.files.MatchString(path.Base(f.Path))) || !s.line.Match(line) || (s.tool || c == nil) && (!checkCommand.Match(line) || housekeeping.Match(line)) {
				continue
			}
			before[s.rule]--
			switch {
			case before[s.rule] >= 0:
			case s.rule == "tests left out" && slices.ContainsFunc(gone, func(old []byte) bool { return bytes.Contains(old, option(s.line.Find(line), line)) }): // on more lines
			case s.rule == "ignore failures" && bytes.Contains(f.Old, s.line.Find(line)) && checkCommand.Match(line) && !overlap(started([][]byte{line}), ran): // as others beside it
			case s.files != nil && extended():
			case s.tool && (c == nil || c.commands != nil || c.what == "the CI") && !overlap(started([][]byte{line}), ran): // nothing did it before
			case bytes.HasPrefix(line, []byte("Enabled:")) && (cops()["-"+cop] || others && !cops()[cop]):
			case s.rule == "rule switched off" && wanted[nameOf(line)]: // it has that name in another plugin
			case s.rule == "ignore failures" && (reports || f.Added && project.MatchString(f.Path)):
			default:
				told = true
				k.add(rankSilenced, ralph.FindingChecks, f.Path, n, s.rule, s.text)
			}
			break
		}
	}
	return k.lowered(f) || told
}

var (
	// measured finds configuration of what is measured and has to reach a number.
	measured = re(`(?i)cover|nyc|\bc8|istanbul|fail.?under|threshold|phpstan|\bcov\b`)
	least    = re(`(?i)["']?\b(fail[_-]under|fail-?under|branches|functions|lines|statements|regions|minimum(?:_coverage)?|minimumCoverage|coverage[_-]?threshold\w*|threshold\w*|target|min_coverage|covered-?ratio|min-?coverage|cov-fail-under|fail-under-\w+|check-coverage|total|package|file|level)\b["']?\s*(?:[:=]>?\s*|\s+|>\s*)["']?(\d{1,3}(?:\.\d+)?)\b`)
	most     = re(`(?i)\b(max[_-]?(?:complexity|lines[\w-]*|statements|params|args|depth|branches|returns|warnings|nested[\w-]*))["']?\s*[:= ]\s*(?:\[\s*["']?\w+["']?,\s*)?(\d{1,4})\b`)
)

// lowered tells the numbers that had to be reached and are lower now, and those
// of linters that must not be passed and are higher.
func (k *look) lowered(f File) (told bool) {
	if f.Added || f.Deleted {
		return false
	}
	if measured.MatchString(f.Path) || measured.Match(f.Old) {
		told = k.numbers(f, least, "lowered", func(was, is float64) bool { return is < was })
	}
	return k.numbers(f, most, "raised", func(was, is float64) bool { return was > 0 && is > was }) || told
}

// numbers tells those that a pattern finds by their names and that say less now.
func (k *look) numbers(f File, of *lazyregexp.Regexp, how string, less func(was, is float64) bool) (told bool) {
	find := func(text []byte) map[string][]float64 {
		out := map[string][]float64{}
		for _, m := range of.FindAllStringSubmatch(string(text), maxCases) {
			n, _ := strconv.ParseFloat(m[2], 64) // of digits
			key := strings.ToLower(m[1])
			out[key] = append(out[key], n)
		}
		return out
	}
	was, is := find(f.Old), find(f.New)
	for _, key := range sorted(was) {
		for i, n := range was[key] {
			if len(is[key]) == len(was[key]) && less(n, is[key][i]) {
				told = true
				k.add(rankThreshold, ralph.FindingChecks, f.Path, 0, "threshold "+how, fmt.Sprintf("the threshold %s was %s from %g to %g", shown(key), how, n, is[key][i]))
			}
		}
	}
	return told
}
