package proc

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// shown is what people see of a guardrail; each write takes its time.
type shown struct {
	bytes.Buffer
	slow   time.Duration
	closed bool
}

func (s *shown) Write(p []byte) (int, error) {
	time.Sleep(s.slow)
	return s.Buffer.Write(p)
}

func (s *shown) Close() error {
	s.closed = true
	return nil
}

func TestHoldWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	w, live := &shown{}, make(chan struct{})
	h := Hold(t.Context(), w, live, t.TempDir())
	long := bytes.Repeat([]byte("0123456789abcde\n"), 1<<17) // more than memory takes
	if n, err := h.Write(long); n != len(long) || err != nil {
		t.Fatalf("Write() = %d, %v", n, err)
	}
	if w.Len() > 0 {
		t.Fatal("it was shown before its turn")
	}
	close(live)
	if err := h.Close(); err != nil || !w.closed || !bytes.Equal(w.Bytes(), long) {
		t.Errorf("Close() = %v, closed %v, %d bytes shown of %d", err, w.closed, w.Len(), len(long))
	}
}

// A run that is cancelled saves its work; what people would still have to read is in
// the log.
func TestHoldEndsWithTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w, live := &shown{slow: time.Second}, make(chan struct{})
		h := Hold(ctx, w, live, t.TempDir())
		if _, err := h.Write(make([]byte, 16<<20)); err != nil {
			t.Fatal(err)
		}
		close(live)
		cancel()
		began := time.Now()
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > deliverGrace+2*w.slow {
			t.Errorf("Close() took %s after the run was cancelled", took)
		}
	})
}

// A disk that is full keeps no guardrail from going on.
func TestHoldWithoutAFile(t *testing.T) {
	t.Parallel()
	w, live := &shown{}, make(chan struct{})
	h := Hold(t.Context(), w, live, filepath.Join(t.TempDir(), "missing"))
	if n, err := h.Write(make([]byte, 4<<20)); n != 4<<20 || err != nil {
		t.Fatalf("Write() = %d, %v", n, err)
	}
	close(live)
	if err := h.Close(); err != nil || !w.closed {
		t.Errorf("Close() = %v, closed %v", err, w.closed)
	}
}
