package proc

import (
	"bytes"
	"crypto/sha256"
	"math/rand/v2"
	"sync"
	"testing"
)

func testPool() *sync.Pool { return &sync.Pool{New: func() any { return new(chunk) }} }

// TestSpool moves random pieces through in order, whatever the two sides' pace.
func TestSpool(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		dir  string
		size int
		late bool // nothing is taken before all has been put
	}{
		"memory":             {t.TempDir(), 2 << 20, true},
		"file":               {t.TempDir(), 32 << 20, true},
		"as it comes":        {t.TempDir(), 64 << 20, false},
		"no place for files": {"/nonexistent", 32 << 20, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpool(tc.dir, testPool())
			put, taken := sha256.New(), sha256.New()
			var wg sync.WaitGroup
			wg.Go(func() {
				defer s.close()
				rnd := rand.NewChaCha8([32]byte{1})
				sizes := rand.New(rnd)
				for left := tc.size; left > 0; {
					buf := s.space()
					n := min(left, 1+sizes.IntN(len(buf)))
					_, _ = rnd.Read(buf[:n])
					put.Write(buf[:n])
					s.commit(n)
					left -= n
				}
			})
			if tc.late {
				wg.Wait()
			}
			total := 0
			for data := s.next(); data != nil; data = s.next() {
				taken.Write(data)
				total += len(data)
				s.release(len(data))
			}
			wg.Wait()
			if total != tc.size || !bytes.Equal(put.Sum(nil), taken.Sum(nil)) {
				t.Errorf("took %d bytes, want the %d that were put, unchanged", total, tc.size)
			}
			if err := s.recycle(); err != nil {
				t.Errorf("recycle() = %v", err)
			}
		})
	}
}

func TestSpoolDropped(t *testing.T) {
	t.Parallel()
	s := newSpool("/nonexistent", testPool())
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 100 {
			s.commit(len(s.space()))
		}
		s.close()
	})
	if data := s.next(); len(data) == 0 {
		t.Error("next() is empty, want data")
	}
	s.drop() // and the putting side is free
	wg.Wait()
	if data := s.next(); data != nil {
		t.Errorf("next() after drop = %d bytes, want none", len(data))
	}
}
