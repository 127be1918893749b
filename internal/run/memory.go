package run

import (
	"context"
	"runtime/debug"

	"github.com/org/ralph-action/internal/ralph"
)

// lean is an agent whose turns take less of our memory and a little more time
// of the garbage collector: there is much output and little that lives on.
type lean struct{ ralph.Agent }

func (l lean) Run(ctx context.Context, p ralph.Prompt, emit func(ralph.Event)) (ralph.Turn, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	return l.Agent.Run(ctx, p, emit)
}
