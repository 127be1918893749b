package repo

import (
	"context"

	"github.com/org/ralph-action/internal/repo/remote"
)

// Contact is a server that is being asked for its branches while other things
// are done. Open takes it with Options.Contact.
type Contact struct {
	opt    Options
	remote *remote.Server
	base   *remote.Server // nil: the base is at remote
	cancel context.CancelFunc
	asked  []*remote.Question
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
	c.asked = append(c.asked, c.remote.Ask(ctx, remote.UploadPack))
	if opt.Push {
		c.asked = append(c.asked, c.remote.Ask(ctx, remote.ReceivePack))
	}
	if c.base != nil {
		c.asked = append(c.asked, c.base.Ask(ctx, remote.UploadPack))
	}
	return c, nil
}

// Close ends the questions that were not answered yet.
func (c *Contact) Close() {
	if c.cancel != nil {
		c.cancel()
	}
	for _, a := range c.asked {
		<-a.Done
	}
}

// remotes are the server of the branch and, where it is another one, that of the
// base; nil when Options.Remote is empty.
func remotes(opt Options) (branch, base *remote.Server, err error) {
	if opt.Remote == "" {
		return nil, nil, nil
	}
	if branch, err = remote.New(opt.Remote, opt.Token, opt.Transport, opt.RetryDelay); err != nil {
		return nil, nil, err
	}
	branch.Push = opt.PushToken
	if opt.BaseRemote != "" && opt.BaseRemote != opt.Remote {
		base, err = remote.New(opt.BaseRemote, opt.BaseToken, opt.Transport, opt.RetryDelay)
	}
	return branch, base, err
}

// reaches reports whether the contact is with the servers of opt, by the same
// tokens.
func (c *Contact) reaches(opt Options) bool {
	return c != nil && c.opt.Remote == opt.Remote && c.opt.BaseRemote == opt.BaseRemote &&
		c.opt.Token.Reveal() == opt.Token.Reveal() && c.opt.PushToken.Reveal() == opt.PushToken.Reveal() && c.opt.BaseToken.Reveal() == opt.BaseToken.Reveal()
}
