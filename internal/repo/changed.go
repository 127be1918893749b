package repo

import (
	"fmt"
)

// Seen identifies what would be published as it was seen last: by the last
// snapshot, or when the run began.
func (r *Repo) Seen() string {
	if r.line.public.IsZero() {
		return r.line.tipTree.String()
	}
	return r.line.public.String()
}

// Changed lists the paths that differ between what Seen said then and what it
// would say now, from the top of the work tree. They are foreign text.
func (r *Repo) Changed(then string) ([]string, error) {
	h, err := parseHash(then)
	if err != nil {
		return nil, err
	}
	now, err := parseHash(r.Seen())
	if err != nil {
		return nil, err
	}
	changes, err := r.store.diff(h, now, nil)
	if err != nil {
		return nil, fmt.Errorf("compare trees: %w", err)
	}
	paths := make([]string, len(changes))
	for i, c := range changes {
		paths[i] = c.path
	}
	return paths, nil
}
