package run

import (
	"context"
	"sync"
	"time"
)

// commentUpdater keeps a comment up to date while the run goes on, without holding it
// up: what is said while the forge is slow is replaced by what is said later.
type commentUpdater struct {
	post   func(ctx context.Context, text string) error
	failed func(error) // told of the first failure only
	latest chan string // holds at most one text
	quit   chan struct{}
	once   sync.Once
	stop   context.CancelFunc
	ended  chan struct{}
}

// tellingPause lies between two updates: forges limit how fast content is made,
// and people do not read faster.
const updatePause = 20 * time.Second

// tellingPatience is how long an update that is under way may go on at the end.
const updatePatience = 3 * time.Second

// tell starts to keep a comment up to date.
func newCommentUpdater(ctx context.Context, post func(ctx context.Context, text string) error, failed func(error)) *commentUpdater {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	t := &commentUpdater{post: post, failed: failed, latest: make(chan string, 1), quit: make(chan struct{}), stop: stop, ended: make(chan struct{})}
	go t.loop(ctx)
	return t
}

// say replaces what has not been posted yet.
func (t *commentUpdater) update(text string) {
	for {
		select {
		case t.latest <- text:
			return
		default:
		}
		select {
		case <-t.latest:
		default:
		}
	}
}

// end stops the updates: when it returns none is under way. What was not posted
// by then never is. One that is under way may end by itself for a moment, as long
// as ctx lasts: cut off, it might arrive later.
func (t *commentUpdater) end(ctx context.Context) {
	t.once.Do(func() { close(t.quit) })
	patience := time.NewTimer(updatePatience)
	defer patience.Stop()
	select {
	case <-t.ended:
	case <-patience.C:
	case <-ctx.Done():
	}
	t.cut()
}

// cut is end without any patience.
func (t *commentUpdater) cut() {
	t.once.Do(func() { close(t.quit) })
	t.stop()
	<-t.ended
}

func (t *commentUpdater) loop(ctx context.Context) {
	defer close(t.ended)
	said := false
	for {
		select {
		case <-t.quit:
			return
		case text := <-t.latest:
			if err := t.post(ctx, text); err != nil && ctx.Err() == nil && !said {
				said = true
				t.failed(err)
			}
		}
		pause := time.NewTimer(updatePause)
		select {
		case <-t.quit:
			pause.Stop()
			return
		case <-pause.C:
		}
	}
}
