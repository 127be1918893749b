package repo

import (
	"context"
	"fmt"
	"net/url"
)

// Contact is a server that is being asked for its branches while other things
// are done. Open takes it with Options.Contact.
type Contact struct {
	opt    Options
	remote *remote
	base   *remote // nil: the base is at remote
	cancel context.CancelFunc
	asked  []*asked
}

// Dial begins to ask the servers of Options.Remote and Options.BaseRemote for
// their branches, and whether Options.Token may push. It only fails when the
// options are wrong: what the servers answer comes with CanPush and Begin. Close
// the Contact when it is not needed any more.
func Dial(ctx context.Context, opt Options) (*Contact, error) {
	c := &Contact{opt: opt}
	var err error
	if c.remote, c.base, err = remotes(opt); err != nil || c.remote == nil {
		return c, err
	}
	ctx, c.cancel = context.WithCancel(ctx)
	c.asked = append(c.asked, c.remote.ask(ctx, uploadPack))
	if opt.Push {
		c.asked = append(c.asked, c.remote.ask(ctx, receivePack))
	}
	if c.base != nil {
		c.asked = append(c.asked, c.base.ask(ctx, uploadPack))
	}
	return c, nil
}

// Close ends the questions that were not answered yet.
func (c *Contact) Close() {
	if c.cancel != nil {
		c.cancel()
	}
	for _, a := range c.asked {
		<-a.done
	}
}

// remotes are the server of the branch and, where it is another one, that of the
// base; nil when Options.Remote is empty.
func remotes(opt Options) (branch, base *remote, err error) {
	if opt.Remote == "" {
		return nil, nil, nil
	}
	if branch, err = newRemote(opt.Remote, opt.Token, opt.Transport, opt.RetryDelay); err != nil {
		return nil, nil, err
	}
	branch.push = opt.PushToken
	if opt.BaseRemote != "" && opt.BaseRemote != opt.Remote {
		base, err = newRemote(opt.BaseRemote, opt.BaseToken, opt.Transport, opt.RetryDelay)
	}
	return branch, base, err
}

// reaches reports whether the contact is with the servers of opt, by the same
// tokens.
func (c *Contact) reaches(opt Options) bool {
	return c != nil && c.opt.Remote == opt.Remote && c.opt.BaseRemote == opt.BaseRemote &&
		c.opt.Token.Reveal() == opt.Token.Reveal() && c.opt.PushToken.Reveal() == opt.PushToken.Reveal() && c.opt.BaseToken.Reveal() == opt.BaseToken.Reveal()
}

// asked is a question for an advertisement that is under way.
type asked struct {
	done chan struct{} // closed when the answer is there
	adv  advertisement
	url  *url.URL // where the server answered
	err  error
}

// ask begins to ask for the advertisement of a service: the next call of refs
// takes the answer. The question ends with ctx.
func (r *remote) ask(ctx context.Context, service string) *asked {
	alone, at := *r, *r.url
	alone.url, alone.asked = &at, nil
	a := &asked{done: make(chan struct{})}
	go func() {
		defer close(a.done)
		a.adv, a.err = alone.refs(ctx, service)
		a.url = alone.url
	}()
	if r.asked == nil {
		r.asked = map[string]*asked{}
	}
	r.asked[service] = a
	return a
}

// answer waits for the answer to an earlier question; ok is false when there was
// no question.
func (r *remote) answer(ctx context.Context, service string) (adv advertisement, ok bool, err error) {
	a := r.asked[service]
	if a == nil {
		return advertisement{}, false, nil
	}
	delete(r.asked, service)
	select {
	case <-a.done:
	case <-ctx.Done():
		return advertisement{}, true, fmt.Errorf("%s: %w", r.url.Host, context.Cause(ctx))
	}
	if a.err == nil {
		r.url = a.url
	}
	return a.adv, true, a.err
}
