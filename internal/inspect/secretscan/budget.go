package secretscan

import "sync/atomic"

// budget is what the contents of a scanner share, so that many small files that
// are made to be slow take no longer than one. Ordinary code needs a hundredth
// of it. Once it is spent, contents that need more are rejected: FloodRule.
type budget struct {
	work     atomic.Int64 // bytes that may still be given to expressions, beyond each content's own share
	unpacked atomic.Int64 // bytes that may still come out of archives, or be decoded once more
}

const (
	budgetWork     = 32 << 20  // half a minute at the most
	budgetUnpacked = 512 << 20 // ten seconds or so
)

func newBudget() *budget {
	b := &budget{}
	b.renew()
	return b
}

func (b *budget) renew() {
	b.work.Store(budgetWork)
	b.unpacked.Store(budgetUnpacked)
}

// Renew gives the contents that are searched from now on the whole budget.
// Without it, a scanner that is used for a night rejects what many files
// of many iterations needed in the end.
func (s *Scanner) Renew() {
	if s != nil {
		s.budget.renew()
	}
}

// take reports whether there was as much as is wanted.
func take(from *atomic.Int64, n int) bool {
	if from.Add(-int64(n)) >= 0 {
		return true
	}
	from.Add(int64(n))
	return false
}

// share is how much work one content may take: what is its own, and then of what all
// contents share.
type share struct {
	own, most int
	from      *atomic.Int64
}

// use reports whether there is still enough for so many bytes more.
func (s *share) use(n int) bool {
	own := min(s.own, n)
	s.own -= own
	s.most -= n
	return s.most >= 0 && take(s.from, n-own)
}
