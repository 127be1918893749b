package weaken

import (
	"bytes"
	"slices"

	"github.com/org/ralph-action/internal/ralph"
)

// suppression is a way to silence a tool at a place in the code.
type suppression struct {
	rule  string
	what  string // that it silences
	langs string // " go js "; empty: all
	code  bool   // it stands in code; else in comments
	re    *pattern
}

func suppressions() []suppression {
	// A directive begins a comment, or stands behind another #; in a sentence it is
	// prose. Code is blank here.
	directive := func(s string) *pattern {
		return re(`(?m)(?:^ *(?://+|/\*+|\*+|<!--)[/*!{ \t]*|#[# \t]*)(?:` + s + `)`)
	}
	return []suppression{
		{"eslint-disable", "the linter", " js ", false, directive(`eslint-disable\b|tslint:disable\b|oxlint-disable\b|biome-ignore\b|deno-lint-ignore\b|stylelint-disable\b|prettier-ignore\b`)},
		{"@ts-ignore", "the type checker", " js ", false, directive(`@ts-(?:ignore|nocheck|expect-error)\b`)},
		{"istanbul ignore", "the measuring of coverage", " js ", false, directive(`(?:istanbul|c8|v8|node:coverage) (?:ignore|disable)\b`)},
		{"nolint", "the linter", " go cpp ", false, directive(`nolint\b|lint:(?:file-)?ignore\b|nosec\b|NOLINT(?:NEXTLINE|BEGIN)?\b|cppcheck-suppress\b`)},
		{"noqa", "the linter", " python ", false, directive(`(?:flake8[:=]|ruff:)?\s*noqa\b|pylint:\s*disable\b|nosec\b|ruff:\s*(?:disable|ignore)\b`)},
		{"type: ignore", "the type checker", " python ", false, directive(`(?:type:\s*ignore|pyright:\s*(?:ignore|basic|off)|mypy:\s*(?:ignore-errors|disable-error-code)|pytype:\s*(?:disable|skip-file)|ty:\s*ignore)`)},
		{"no cover", "the measuring of coverage", " python ruby php cpp ", false, directive(`pragma:?\s*no\s*(?:cover|branch)\b|:nocov:|@codeCoverageIgnore|(?:LCOV|GCOVR)_EXCL_`)},
		{"@SuppressWarnings", "the compiler or linter", " java ", true, re(`@(?:file:)?Suppress(?:Warnings|FBWarnings|Lint)?\s*\(`)},
		{"CHECKSTYLE:OFF", "the linter", " java ", false, directive(`CHECKSTYLE[:.]\s?OFF\b|@checkstyle:off|ktlint-disable\b|noinspection\b`)},
		{"NOSONAR", "the linter", "", false, directive(`NOSONAR\b|nosemgrep\b`)},
		{"#pragma warning disable", "the compiler", " csharp ", true, re(`#pragma\s+warning\s+disable|\[(?:assembly:\s*)?SuppressMessage\b|#nullable\s+disable`)},
		{"#pragma diagnostic ignored", "the compiler", " cpp ", true, re(`#pragma\s+(?:GCC|clang)\s+diagnostic\s+ignored|#pragma\s+warning\s*\(\s*disable`)},
		{"#[allow]", "the compiler or linter", " rust ", true, re(`#!?\[\s*(?:allow|expect|cfg_attr\([^\]\n]*\ballow)\s*\(`)},
		{"rubocop:disable", "the linter", " ruby ", false, directive(`(?:rubocop|standard|steep|reek):disable\b|steep:ignore\b`)},
		{"@phpstan-ignore", "the linter", " php ", false, directive(`@phpstan-ignore|@psalm-suppress|phpcs:(?:ignore|disable)`)},
		{"credo:disable", "the linter", " elixir ", false, directive(`credo:disable|sobelow_skip\b`)},
		{"@dialyzer", "the type checker", " elixir ", true, re(`@dialyzer\b`)},
		{"swiftlint:disable", "the linter", " swift ", false, directive(`swiftlint:disable\b|swiftformat:disable\b`)},
		{"shellcheck disable", "the linter", " shell ", false, directive(`shellcheck\s+disable=`)},
	}
}

// suppressions are compiled when first needed.
func (k *look) suppressions() []suppression {
	if k.silencers == nil {
		k.silencers = suppressions()
	}
	return k.silencers
}

// suppressed tells what silences a tool in the code and did not before. What
// only moved between the files of the change is nothing new.
func (k *look) suppressed() {
	if !slices.ContainsFunc(k.files, func(f File) bool { return k.languages.of(f.Path) != nil }) {
		return
	}
	list, fine := k.suppressions(), k.pattern(usual)
	type place struct {
		path string
		line int
		more int
	}
	sums, places := make([]int, len(list)), make([][]place, len(list))
	for _, f := range k.files {
		was := f.Path
		if f.From != "" {
			was = f.From
		}
		oldLang, lang := k.languages.of(was), k.languages.of(f.Path)
		if lang == nil && oldLang == nil || bytes.Equal(f.Old, f.New) || k.match(testPlace, f.Path) {
			continue
		}
		var old, now *source
		if !f.Added && oldLang != nil {
			old = k.source(f.Old, oldLang)
		}
		if !f.Deleted && lang != nil {
			now = k.source(f.New, lang)
		}
		if lang == nil {
			lang = oldLang
		}
		for i, s := range list {
			if s.langs != "" && !contains(s.langs, lang.name) {
				continue
			}
			n, m := s.places(old, fine), s.places(now, fine)
			more := len(m) - len(n)
			sums[i] += more
			if more <= 0 {
				continue
			}
			lines := map[string]int{}
			for _, at := range n {
				lines[key(old, at)]++
			}
			p := place{path: f.Path, more: more}
			for _, at := range m {
				if line := key(now, at); lines[line] > 0 {
					lines[line]--
				} else if p.line == 0 {
					p.line = now.lineOf(at[0])
				}
			}
			places[i] = append(places[i], p)
		}
	}
	for i, s := range list {
		if sums[i] <= 0 {
			continue
		}
		for _, p := range places[i] {
			k.add(rankSuppressed, ralph.FindingChecks, p.path, p.line, s.rule, s.what+" is silenced at "+plural(p.more, "new place"))
		}
	}
}

func (s suppression) places(in *source, usual *pattern) [][]int {
	if in == nil {
		return nil
	}
	layer := inComments
	if s.code {
		layer = inCode
	}
	return slices.DeleteFunc(in.find(s.re, layer), func(m []int) bool {
		return usual.Match(in.text[m[0]:in.end(in.lineOf(max(m[0], m[1]-1))-1)])
	})
}

// testPlace finds files and folders of tests, also where no test runner looks.
const testPlace = `(?i)(?:^|[/._-])(?:\w*tests?|specs?)(?:[/._-]|$)|Tests?(?:Case)?\.\w+$`

// usual are warnings that sound code silences, too: casts that a compiler cannot
// see through, what is old and has to be called, what a module passes on.
const usual = `(?i)unchecked|rawtypes|deprecat|\b(?:CS)?0?61[28]\b|CS1591\b|\bF401\b|\bE402\b`

func contains(list, name string) bool {
	for i := 0; i+len(name)+2 <= len(list); i++ {
		if list[i:i+len(name)+2] == " "+name+" " {
			return true
		}
	}
	return false
}
