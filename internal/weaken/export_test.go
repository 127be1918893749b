package weaken

import "github.com/org/ralph-action/internal/ralph"

// LookPlain is Look without filters: each pattern is tried everywhere.
func LookPlain(files []File, o Options) []ralph.Finding {
	k := newLook(o)
	k.plain = true
	return k.look(files)
}

// Patterns are those that are looked for in the sources of a language, and their
// filter.
type Patterns struct {
	All    []*pattern
	filter *filter
}

// AllPatterns are those of each language.
func AllPatterns() map[string]Patterns {
	k := newLook(Options{})
	all := map[string]Patterns{}
	for _, ext := range []string{".go", ".js", ".py", ".java", ".cs", ".rs", ".rb", ".php", ".exs", ".swift", ".cc", ".sh"} {
		l := k.languages.of("a" + ext)
		all[l.name] = Patterns{k.patternsOf(l), k.filter(l)}
	}
	return all
}

// Filtered says that a filter leaves lines out for a pattern.
func (f Patterns) Filtered(p *pattern) bool {
	_, ok := f.filter.index[p]
	return ok && p.reach >= 0
}

// Source is a text in which all patterns are looked for.
func (f Patterns) Source(text []byte) *source {
	s := lex(text, lexis{})
	s.filter = f.filter
	return s
}

// Find is where a pattern matches in a part of a source.
func (s *source) Find(p *pattern, from, to int) [][]int {
	return s.matches(p, inCode, from, to, p.FindAllSubmatchIndex)
}

// FindPlain is Find without filters.
func (s *source) FindPlain(p *pattern, from, to int) [][]int {
	all := p.FindAllSubmatchIndex(s.text[from:to], maxCases)
	for _, m := range all {
		for i := range m {
			if m[i] >= 0 {
				m[i] += from
			}
		}
	}
	return all
}
