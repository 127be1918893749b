package secretscan

import (
	"cmp"
	"slices"
)

// sightings turns what was found in the view into places of the content.
func (s *search) sightings(content []byte) []sighting {
	var all []sighting
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
		to := view{src: content, at: offset(f.to - 1)}
		to.read(make([]byte, 0, 1), s.known.class) // over the unit that shows the last character
		how := form.how
		if i >= inPieces {
			how = join(how, "in pieces")
		}
		all = append(all, sighting{from: offset(f.from), to: to.at, how: how, value: form.value})
	}
	slices.SortStableFunc(all, func(a, b sighting) int { return cmp.Compare(a.from, b.from) })
	return all
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + ", " + b
}
