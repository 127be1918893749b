package remote

import (
	"context"
	"fmt"
	"net/url"
)

// Question is a question for an advertisement that is under way.
type Question struct {
	Done chan struct{} // closed when the answer is there
	adv  Advertisement
	url  *url.URL // where the server answered
	err  error
}

// Ask begins to ask for the advertisement of a service: the next call of refs
// takes the answer. The question ends with ctx.
func (r *Server) Ask(ctx context.Context, service string) *Question {
	alone, at := *r, *r.URL
	alone.URL, alone.asked = &at, nil
	a := &Question{Done: make(chan struct{})}
	go func() {
		defer close(a.Done)
		a.adv, a.err = alone.Refs(ctx, service)
		a.url = alone.URL
	}()
	if r.asked == nil {
		r.asked = map[string]*Question{}
	}
	r.asked[service] = a
	return a
}

// answer waits for the answer to an earlier question; ok is false when there was
// no question.
func (r *Server) answer(ctx context.Context, service string) (adv Advertisement, ok bool, err error) {
	a := r.asked[service]
	if a == nil {
		return Advertisement{}, false, nil
	}
	delete(r.asked, service)
	select {
	case <-a.Done:
	case <-ctx.Done():
		return Advertisement{}, true, fmt.Errorf("%s: %w", r.URL.Host, context.Cause(ctx))
	}
	if a.err == nil {
		r.URL = a.url
	}
	return a.adv, true, a.err
}
