package config

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/config/input"
	"github.com/org/ralph-action/internal/lib/lazyregexp"
)

// unlessNone is one of the input's values, "" for none.
func (l *loader) unlessNone(v value) string {
	if c := l.choice(v); c != "none" {
		return c
	}
	return ""
}

// pathspecs are checked by git itself later; here only that they can be handed
// over.
func (l *loader) pathspecs(v value) []string {
	if v.Node == nil {
		v.Text = outsideParentheses(v.Text)
	}
	list := l.names(v)
	for i, p := range list {
		list[i] = strings.ReplaceAll(p, "\x1f", ",")
	}
	for _, p := range list {
		if bad := input.FirstControl(p); bad != "" {
			l.Report(v.Where, "pathspec %s is not allowed: it holds %s", l.Quote(p), bad)
		}
	}
	return list
}

// outsideParentheses hides the commas that do not separate pathspecs but the words
// of one's magic, as in :(exclude,glob)docs/**.
func outsideParentheses(s string) string {
	inside := false
	return strings.Map(func(r rune) rune {
		switch {
		case r == '(':
			inside = true
		case r == ')', r == '\n':
			inside = false
		case r == ',' && inside:
			return '\x1f'
		case r == '\x1f':
			return utf8.RuneError // is no part of a name, and refused as one
		}
		return r
	}, s)
}

// A login is what GitHub takes for one, and Gitea: letters, digits, hyphens,
// underscores and dots. Apps have "[bot]" behind theirs.
var loginPattern = lazyregexp.New(`^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9_])?(?:\[bot\])?$`)

// logins are names of accounts. A leading @ is what people paste.
func (l *loader) logins(v value) []string {
	list := l.names(v)
	for i, n := range list {
		list[i] = strings.TrimPrefix(n, "@")
		if !loginPattern.MatchString(list[i]) {
			l.Report(v.Where, "%s is no name of an account: give logins, separated by commas", l.Quote(n))
		}
	}
	return list
}

var teamPattern = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}$`)

// teams are slugs; the organization before one is dropped.
func (l *loader) teams(v value) []string {
	list := l.names(v)
	for i, n := range list {
		slug := strings.TrimPrefix(n, "@")
		if _, after, ok := strings.Cut(slug, "/"); ok {
			slug = after
		}
		if !teamPattern.MatchString(slug) {
			l.Report(v.Where, "%s is no slug of a team: give it as the team's address has it, such as backend or octo-org/backend", l.Quote(n))
		}
		list[i] = slug
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// bodyFile is the text of a file, which beats the body.
func (l *loader) bodyFile(v value) string {
	v.in.Max = maxBody
	return l.fileText(v, v.Text)
}

// maxBody bounds the owner's part of the pull request's body, in bytes.
const maxBody = 20_000

// patterns are those of a .gitignore.
func (l *loader) patterns(v value) []string {
	list := l.names(v)
	for _, p := range list {
		switch bad := input.FirstControl(p); {
		case bad != "":
			l.Report(v.Where, "pattern %s is not allowed: it holds %s", l.Quote(p), bad)
		case strings.Trim(p, "!/ ") == "":
			l.Report(v.Where, "pattern %s names nothing: give a path such as .github/ or *.pem", l.Quote(p))
		case len(p) > 1000:
			l.Report(v.Where, "pattern %s… is too long: at most 1000 bytes", l.Quote(p[:60]))
		}
	}
	return list
}
