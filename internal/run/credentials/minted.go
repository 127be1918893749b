package credentials

import (
	"crypto/rand"
	"slices"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/lib/secret"
)

// OfRun are the secrets of one run that are neither configured nor in the
// environment.
type OfRun struct {
	Left         []secret.String  // tokens that a checkout left
	Password     secret.String    // of the egress proxy; new in each run
	Placeholders [3]secret.String // of the keys of those who work, take over and review; new in each run
}

// New makes what a run needs. left are the tokens that a checkout left.
func New(left []secret.String) *OfRun {
	o := &OfRun{Left: left, Password: secret.New(rand.Text())}
	for i := range o.Placeholders {
		o.Placeholders[i] = secret.New("ralph-" + rand.Text())
	}
	return o
}

// Redactor masks all that is known, and what was made for the run: other users of
// the machine read logs, and reach its servers while it lasts.
func (o *OfRun) Redactor(cfg config.Config, environ []string) *secret.Redactor {
	return secret.NewRedactor(slices.Concat(Known(cfg, environ, o.Left), []secret.String{o.Password}, o.Placeholders[:])...)
}
