package secretscan

import (
	"bytes"
	"cmp"
	"iter"
	"slices"
)

// finding is a hit before it is put into words: offsets in the content.
type finding struct {
	from, to   int
	rule, text string
	// key tells findings of the same thing apart from others. It holds the
	// secret and stays in here.
	key string
}

// File searches a file that is about to be published: its path and its new
// content. old is its content in the base, nil when there was none: what stands
// there already is published. A format counts when old does not hold the same
// secret, a known value when new holds it more often than old. elsewhere are other
// contents that are published, those of files that the same work deletes for instance:
// a format they hold was moved and does not count. They are asked for when something
// was found. Hits are in order of their lines, at most one for each rule and line, at
// most 100.
func (s *Scanner) File(path string, old, new []byte, elsewhere ...iter.Seq[[]byte]) []Hit {
	if s == nil {
		return nil
	}
	var named []finding
	if old == nil {
		named = s.search("", []byte(path), false)
		for i := range named {
			named[i].from, named[i].to, named[i].text = -1, -1, join(named[i].text, "in the name")
		}
	}
	formats := s.formats != nil && (s.allow == nil || !s.allow(path))
	found := s.search(path, new, formats)
	if formats && old == nil {
		for _, r := range s.formats().byPath {
			if r.path().MatchString(path) {
				named = append(named, finding{from: -1, to: -1, rule: r.ID, text: "a file of this kind holds keys"})
			}
		}
	}
	if len(found) > 0 && len(old) > 0 {
		found = without(found, s.search(path, old, formats))
	}
	for _, contents := range elsewhere {
		found = s.withoutMoved(path, found, contents)
	}
	return hits(new, append(named, found...))
}

// withoutMoved takes out the formats that one of the contents holds.
func (s *Scanner) withoutMoved(path string, found []finding, contents iter.Seq[[]byte]) []finding {
	movable := func(f finding) bool { return f.rule != KnownRule && f.rule != FloodRule && f.rule != UnsearchedRule }
	if !slices.ContainsFunc(found, movable) {
		return found
	}
	for content := range contents {
		had := map[string]bool{}
		for _, f := range s.search(path, content, true) {
			had[f.rule+"\x00"+f.key] = true
		}
		found = slices.DeleteFunc(found, func(f finding) bool { return movable(f) && had[f.rule+"\x00"+f.key] })
		if !slices.ContainsFunc(found, movable) {
			break
		}
	}
	return found
}

// Text searches a text of ours or the agent's: a commit message, the name of a
// file or a branch, the body of a pull request.
func (s *Scanner) Text(text string) []Hit {
	if s == nil {
		return nil
	}
	return hits([]byte(text), s.search("", []byte(text), s.formats != nil))
}

// Skipped counts the known values that are not looked for: they are too short,
// or so common ("postgres") that ordinary files hold them.
func (s *Scanner) Skipped() int {
	if s == nil {
		return 0
	}
	return s.known.skipped
}

// search gives all findings in a content, in order of their beginning.
func (s *Scanner) search(path string, content []byte, formats bool) []finding {
	if len(content) == 0 || s.known.empty() && !formats {
		return nil
	}
	found := s.layer(path, &layer{data: content}, formats)
	u := unpack(content, s.budget, func(l *layer) {
		if len(found) < maxMatches {
			found = append(found, s.layer(path, l, formats)...)
		}
	})
	switch all := (finding{to: len(content)}); {
	case u.flood:
		all.rule, all.text = FloodRule, "too much is packed or encoded in it, or in all files together, to be searched"
		found = append(found, all)
	case u.unseen && len(path) > 0:
		all.rule, all.text = UnsearchedRule, "more is packed or encoded in it than is searched for secrets"
		found = append(found, all)
	}
	slices.SortStableFunc(found, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to))
	})
	return found
}

// layer searches a content, or what was decoded out of one.
func (s *Scanner) layer(path string, l *layer, formats bool) []finding {
	var found []finding
	add := func(from, to int, f finding) {
		f.from, f.to = from, to
		if l.marks != nil {
			f.from, _ = l.origin(from)
			_, f.to = l.origin(to - 1)
			f.text = join(f.text, l.how)
		}
		found = append(found, f)
	}
	for _, at := range s.known.find(l.data) {
		add(at.from, at.to, finding{rule: KnownRule, text: join("a secret of this run", at.how), key: string(rune(at.value))})
	}
	if formats {
		f := s.formats()
		data := narrow(l.data)
		work := share{most: maxWork + len(data)/2, from: &s.budget.work}
		if l.marks == nil {
			work.own = ownWork + len(data)/4
		}
		matches, all := f.find(path, data, &work)
		if !all {
			add(0, len(l.data), finding{rule: FloodRule, text: "too much in it, or in all files together, looks like the beginning of a secret to be searched to the end"})
		}
		for _, m := range matches {
			from, to := m.from, m.to
			if len(data) != len(l.data) { // offsets of UTF-16 are twice as large
				from, to = 2*from, min(2*to, len(l.data))
			}
			add(from, to, finding{rule: m.rule.ID, text: "the format of a secret", key: string(data[m.from:m.to])})
		}
	}
	return found
}

// narrow is the ASCII in UTF-16, which half of the bytes of a content say that
// it is; else the content itself.
func narrow(content []byte) []byte {
	head := content[:min(len(content), 512)]
	if len(head) < 4 || bytes.Count(head, []byte{0})*5 < len(head)*2 {
		return content
	}
	at := 0 // of the byte that holds the letter
	if head[0] == 0xFE || head[0] == 0 {
		at = 1
	}
	out := make([]byte, 0, len(content)/2)
	for i := at; i < len(content); i += 2 {
		out = append(out, content[i])
	}
	return out
}

// without takes out what the base has already: each format with its secret, and
// known values that are there no less often.
func without(found, old []finding) []finding {
	count := func(all []finding) map[string]int {
		n := map[string]int{}
		for _, f := range all {
			n[f.rule+"\x00"+f.key]++
		}
		return n
	}
	now, before := count(found), count(old)
	return slices.DeleteFunc(found, func(f finding) bool {
		id := f.rule + "\x00" + f.key
		switch f.rule {
		case KnownRule:
			return now[id] <= before[id]
		case FloodRule: // nobody knows what it holds
			return false
		}
		return before[id] > 0
	})
}

// maxHits bounds what one content is said to hold.
const maxHits = 100

// hits puts findings into lines, one for each rule and line.
func hits(content []byte, found []finding) []Hit {
	var all []Hit
	line, at := 1, 0
	seen := map[Hit]bool{}
	for _, f := range found {
		h := Hit{Rule: f.rule, Text: f.text}
		if f.from >= 0 {
			line += bytes.Count(content[at:f.from], []byte{'\n'})
			at = f.from
			h.Line = line
		}
		if id := (Hit{Line: h.Line, Rule: h.Rule}); !seen[id] && len(all) < maxHits {
			seen[id] = true
			all = append(all, h)
		}
	}
	return all
}
