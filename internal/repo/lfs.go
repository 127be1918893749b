package repo

import "context"

// uploadLarge brings what Git LFS keeps outside of the commits to the server.
func (r *Repo) uploadLarge(context.Context) error { return nil }
