package ralph

// History is what the branch holds of earlier runs, read back from the
// trailers of their checkpoints. Whoever can push to the branch can write
// trailers: it is a memory, never a permission.
type History struct {
	Runs []Past // oldest first
	// Cut says that the branch holds more than was read; the sums are lower
	// bounds then.
	Cut bool
}

// Past is an earlier run on the branch.
type Past struct {
	Run        string // its Ralph-Run
	Iterations int    // how many it counted up to its last checkpoint
	Commits    int    // its checkpoints
	Cost       Cost   // of what its checkpoints tell; Unknown when one of them tells none
	Outcome    Outcome
	LeftOut    []Missing // changes that its last checkpoint lacks
	Said       Said      // what it said of the change as a whole
	Did        []string  // the subjects of its checkpoints that say what was done; foreign text
}

// Missing is a change that was left out of what was published.
type Missing struct {
	Path string // foreign text
	ID   string // of the object that was published there instead; empty: nothing was
}

// Iterations is how many iterations the earlier runs counted.
func (h History) Iterations() int {
	n := 0
	for _, p := range h.Runs {
		n += p.Iterations
	}
	return n
}

// Cost sums what the earlier runs spent, as far as their checkpoints tell.
func (h History) Cost() Cost {
	c := Cost{Unknown: h.Cut}
	for _, p := range h.Runs {
		c = c.Add(p.Cost)
	}
	return c
}
