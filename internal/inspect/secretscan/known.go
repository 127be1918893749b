package secretscan

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/lib/secret"
)

// gram is how many characters are looked up at once: eight letters and digits of
// a random value stand nowhere else by chance.
const gram = 8

// known finds the values of this run.
type known struct {
	exact   *secret.Redactor // every form that a tool prints, in the bytes as they are
	forms   []form
	grams   map[uint64][]gramAt
	filter  []uint64 // a bit for each hash of a gram: most positions end here
	shift   uint     // of the hash
	longest int      // characters of a form
	skipped int
	class   *[256]byte
}

// gramAt is where a gram stands.
type gramAt struct{ form, at int }

// match is a known value in a content: offsets of bytes, from inclusive to
// exclusive.
type match struct {
	from, to int
	how      string
	value    int
}

// newKnown is nil when there is nothing to look for, but may be something that
// was skipped.
func newKnown(values []secret.String) *known {
	k := &known{grams: map[uint64][]gramAt{}, class: classes()}
	seen := map[string]bool{}
	var exact []secret.String
	for _, v := range values {
		value := strings.TrimSpace(v.Reveal())
		if value == "" || seen[value] {
			continue
		}
		seen[value] = true
		if len(value) < minValue || guessable(value) {
			k.skipped++
			continue
		}
		exact = append(exact, v)
		k.forms = append(k.forms, formsOf(value, len(exact))...)
	}
	if len(exact) > 0 {
		k.exact = secret.NewFinder(exact...)
	}
	k.index()
	return k
}

func (k *known) empty() bool { return k == nil || k.exact == nil }

func (k *known) index() {
	for i, f := range k.forms {
		k.longest = max(k.longest, len(f.text))
		last := 0
		if f.need > 0 {
			last = len(f.text) - gram
		}
		for at := 0; at <= last; at++ {
			g := binary.LittleEndian.Uint64([]byte(f.text[at : at+gram]))
			k.grams[g] = append(k.grams[g], gramAt{i, at})
		}
	}
	size := max(1<<18, 1<<bits.Len(uint(16*len(k.grams))))
	k.filter = make([]uint64, size/64)
	k.shift = uint(64 - bits.Len(uint(size-1)))
	for g := range k.grams {
		h := k.hash(g)
		k.filter[h/64] |= 1 << (h % 64)
	}
}

// factor is Knuth's, of the golden ratio: the upper bits of a product with it are
// well mixed.
const factor = 0x9E3779B97F4A7C15

func (k *known) hash(g uint64) uint64 { return g * factor >> k.shift }

// find is where known values stand in a content, as they are and in its normalized form.
func (k *known) find(content []byte) []match {
	if k.empty() {
		return nil
	}
	var all []match
	for _, at := range k.exact.Find(content) {
		if len(all) < maxMatches {
			all = append(all, match{from: at[0], to: at[1]})
		}
	}
	s := search{known: k}
	s.run(content)
	return append(all, s.matches(content)...)
}

// search is one search through a normalized content.
type search struct {
	known  *known
	whole  []stretch
	pieces map[int]*pieces // by form
}

// stretch is a part of what the normalizer gives, with the form that was found there.
type stretch struct{ from, to, form int }

// pieces is how much of a form was seen.
type pieces struct {
	seen  []bool // by character of the form
	count int
	where []stretch
}

// window is how much of a normalized content is kept at once, in bytes.
const window = 32 << 10

func (s *search) run(content []byte) {
	k := s.known
	if len(k.forms) == 0 {
		return
	}
	n := normalizer{src: content}
	buf := make([]byte, 0, min(window, len(content))+k.longest)
	base := 0 // position in its normalized form where buf begins
	for {
		buf = n.read(buf, k.class)
		done := n.at == len(content)
		last := len(buf) - gram // where the last gram begins
		if !done {
			last = len(buf) - k.longest // and all of a form that begins there
		}
		i := 0
		if last >= 0 {
			// The gram at i, moved on by a byte each time.
			g, next := binary.LittleEndian.Uint64(buf)<<8, buf[gram-1:]
			filter, shift := k.filter, k.shift&63
			for ; i <= last && i < len(next); i++ {
				g = g>>8 | uint64(next[i])<<56
				h := g * factor >> shift
				if filter[h/64]&(1<<(h%64)) != 0 {
					s.look(g, buf, i, base)
				}
			}
		}
		if done {
			return
		}
		base += i
		buf = append(buf[:0], buf[i:]...)
	}
}

// look follows a gram that may be one of a form.
func (s *search) look(g uint64, buf []byte, i, base int) {
	for _, at := range s.known.grams[g] {
		f := s.known.forms[at.form]
		end := i + len(f.text)
		if at.at == 0 && end <= len(buf) && string(buf[i:end]) == f.text && len(s.whole) < maxMatches {
			s.whole = append(s.whole, stretch{base + i, base + end, at.form})
		}
		if f.need > 0 {
			s.piece(at, len(f.text), base+i)
		}
	}
}

func (s *search) piece(at gramAt, length, position int) {
	p := s.pieces[at.form]
	if p == nil {
		if s.pieces == nil {
			s.pieces = map[int]*pieces{}
		}
		p = &pieces{seen: make([]bool, length)}
		s.pieces[at.form] = p
	}
	for i := at.at; i < at.at+gram; i++ {
		if !p.seen[i] {
			p.seen[i] = true
			p.count++
		}
	}
	switch last := len(p.where) - 1; {
	case last >= 0 && position <= p.where[last].to:
		p.where[last].to = position + gram
	case len(p.where) < maxMatches:
		p.where = append(p.where, stretch{position, position + gram, at.form})
	}
}

// matches turns what was found into places of the content.
func (s *search) matches(content []byte) []match {
	var all []match
	found := slices.Clone(s.whole)
	inPieces := len(found)
	for i, p := range s.pieces {
		if p.count < s.known.forms[i].need {
			continue
		}
		for _, w := range p.where {
			// A piece within a whole says nothing new.
			if !slices.ContainsFunc(s.whole, func(o stretch) bool { return o.from <= w.from && w.to <= o.to }) {
				found = append(found, w)
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	// Both ends of all stretches, in one walk through the content.
	var positions []int
	for _, f := range found {
		positions = append(positions, f.from, f.to-1)
	}
	slices.Sort(positions)
	positions = slices.Compact(positions)
	at := offsets(content, positions)
	offset := func(position int) int {
		i, _ := slices.BinarySearch(positions, position)
		return at[i]
	}
	for i, f := range found {
		form := s.known.forms[f.form]
		last := normalizer{src: content, at: offset(f.to - 1)}
		last.read(make([]byte, 0, 1), s.known.class) // over the unit that shows the last character
		how := form.how
		if i >= inPieces {
			how = join(how, "in pieces")
		}
		all = append(all, match{from: offset(f.from), to: last.at, how: how, value: form.value})
	}
	slices.SortStableFunc(all, func(a, b match) int { return cmp.Compare(a.from, b.from) })
	return all
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + ", " + b
}
