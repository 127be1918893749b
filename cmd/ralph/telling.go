package main

import (
	"context"
	"time"
)

// telling keeps a comment up to date while the run goes on, without holding it
// up: what is said while the forge is slow is replaced by what is said later.
type telling struct {
	post   func(ctx context.Context, text string) error
	failed func(error) // told of the first failure only
	latest chan string // holds at most one text
	stop   context.CancelFunc
	ended  chan struct{}
}

// tellingPause lies between two updates: forges limit how fast content is made,
// and people do not read faster.
const tellingPause = 20 * time.Second

// tell starts to keep a comment up to date.
func tell(ctx context.Context, post func(ctx context.Context, text string) error, failed func(error)) *telling {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	t := &telling{post: post, failed: failed, latest: make(chan string, 1), stop: stop, ended: make(chan struct{})}
	go t.loop(ctx)
	return t
}

// say replaces what has not been posted yet.
func (t *telling) say(text string) {
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
// by then never is.
func (t *telling) end() {
	t.stop()
	<-t.ended
}

func (t *telling) loop(ctx context.Context) {
	defer close(t.ended)
	said := false
	for {
		select {
		case <-ctx.Done():
			return
		case text := <-t.latest:
			if err := t.post(ctx, text); err != nil && ctx.Err() == nil && !said {
				said = true
				t.failed(err)
			}
		}
		pause := time.NewTimer(tellingPause)
		select {
		case <-ctx.Done():
			pause.Stop()
			return
		case <-pause.C:
		}
	}
}
