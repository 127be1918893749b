//go:build e2e && linux

package main

import (
	"bytes"
	"fmt"
	"net"
	"time"
)

// settledWord is what a knock of the canary's own begins with.
const settledWord = "RT-SETTLED "

// answerSettled writes "ok" to whoever connects, as soon as all that arrived before
// is written down: the canary knocks at each of its places itself, where whoever
// came first is served first, and waits for its own word and for the end of all
// connections. Their other ends are gone when a run is over.
func (w *watcher) answerSettled(l net.Listener) {
	for i := 0; ; i++ {
		c, err := l.Accept()
		if err != nil {
			return
		}
		answer := "ok\n"
		if err := w.settle(i); err != nil {
			answer = err.Error() + "\n"
		}
		_, _ = c.Write([]byte(answer))
		_ = c.Close()
	}
}

func (w *watcher) settle(round int) error {
	for i, knock := range w.knocks {
		word := fmt.Sprintf("%s%d-%d;", settledWord, round, i)
		seen := make(chan struct{})
		w.mu.Lock()
		w.seen[word] = seen
		w.mu.Unlock()
		if err := knock(word); err != nil {
			return fmt.Errorf("canary: a knock of its own: %w", err)
		}
		select {
		case <-seen:
		case <-time.After(10 * time.Second):
			return fmt.Errorf("canary: its own knock %q did not arrive", word)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.active > 0 {
		w.idle.Wait()
	}
	return nil
}

// place has settle knock at an address. It is called before anybody is served.
func (w *watcher) place(network, address string) {
	w.knocks = append(w.knocks, func(word string) error {
		c, err := net.DialTimeout(network, address, 10*time.Second)
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.Write([]byte(word))
		return err
	})
}

// knocked says that data is a knock of settle's, and tells it.
func (w *watcher) knocked(data []byte) bool {
	if !bytes.HasPrefix(data, []byte(settledWord)) {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if seen, ok := w.seen[string(data)]; ok {
		close(seen)
		delete(w.seen, string(data))
	}
	return true
}

// busy counts the connections that are served.
func (w *watcher) busy(change int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.active += change; w.active == 0 {
		w.idle.Broadcast()
	}
}
