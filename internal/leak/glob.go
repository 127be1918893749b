package leak

import (
	"fmt"
	"regexp"
	"strings"
)

// globs are the patterns of Options.Allow as one expression.
type globs struct{ re *regexp.Regexp }

func newGlobs(patterns []string) (*globs, error) {
	var all []string
	for _, p := range patterns {
		p = strings.TrimPrefix(strings.TrimSpace(p), "./")
		if p == "" {
			continue
		}
		if !strings.Contains(strings.TrimSuffix(p, "/"), "/") {
			p = "**/" + p
		}
		if strings.HasSuffix(p, "/") {
			p += "**"
		}
		all = append(all, globExpr(strings.TrimPrefix(p, "/")))
	}
	if len(all) == 0 {
		return nil, nil
	}
	re, err := regexp.Compile(`\A(?:` + strings.Join(all, "|") + `)\z`)
	if err != nil {
		return nil, fmt.Errorf("patterns of paths in which formats of secrets do not count: %w", err)
	}
	return &globs{re}, nil
}

// globExpr is a glob as a regular expression: **/ is any folders or none, **
// anything, * and ? stay within a name.
func globExpr(p string) string {
	var b strings.Builder
	for p != "" {
		switch {
		case strings.HasPrefix(p, "**/"):
			b.WriteString(`(?:.*/)?`)
			p = p[3:]
		case strings.HasPrefix(p, "**"):
			b.WriteString(`.*`)
			p = p[2:]
		case p[0] == '*':
			b.WriteString(`[^/]*`)
			p = p[1:]
		case p[0] == '?':
			b.WriteString(`[^/]`)
			p = p[1:]
		default:
			n := strings.IndexAny(p, "*?")
			if n < 0 {
				n = len(p)
			}
			b.WriteString(regexp.QuoteMeta(p[:n]))
			p = p[n:]
		}
	}
	return b.String()
}

func (g *globs) match(path string) bool { return g != nil && g.re.MatchString(path) }
