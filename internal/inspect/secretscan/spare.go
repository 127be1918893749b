package secretscan

import "sync/atomic"

// spare is what the contents of a scanner share, so that many small files that
// are made to be slow take no longer than one. Ordinary code needs a hundredth
// of it. What finds nothing left is not published: FloodRule.
type spare struct {
	work     atomic.Int64 // bytes that may still be given to expressions, beyond each content's own share
	unpacked atomic.Int64 // bytes that may still come out of archives, or be decoded once more
}

const (
	spareWork     = 32 << 20  // half a minute at the most
	spareUnpacked = 512 << 20 // ten seconds or so
)

func newSpare() *spare {
	s := &spare{}
	s.renew()
	return s
}

func (s *spare) renew() {
	s.work.Store(spareWork)
	s.unpacked.Store(spareUnpacked)
}

// Renew gives the contents that are searched from now on the whole of what they
// share. Without it, a scanner that is used for a night refuses what many files
// of many iterations needed in the end.
func (s *Scanner) Renew() {
	if s != nil {
		s.spare.renew()
	}
}

// take says that there was as much as is wanted.
func take(from *atomic.Int64, n int) bool {
	if from.Add(-int64(n)) >= 0 {
		return true
	}
	from.Add(int64(n))
	return false
}

// share is what one content may take of a spare: what is its own, and then
// pieces of what all share.
type share struct {
	own   int // never asked for
	most  int // with what is taken
	taken int
	used  int
	from  *atomic.Int64
}

// piece is how much is taken at once.
const piece = 64 << 10

// use says that there is still enough for so many bytes more.
func (s *share) use(n int) bool {
	s.used += n
	for s.used > s.own+s.taken {
		if s.own+s.taken+piece > s.most || !take(s.from, piece) {
			return false
		}
		s.taken += piece
	}
	return true
}

// end gives back what was taken and not used.
func (s *share) end() {
	s.from.Add(int64(min(s.taken, max(0, s.own+s.taken-s.used))))
}
