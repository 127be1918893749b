// Package namespace has supervisors of a run live in namespaces of their own, on a
// machine where the run's user may use sudo. It alone runs as root for a plain user.
//
// One helper a run, the hidden command sandbox-root, is started by sudo with fixed
// arguments and nothing of the environment; it is asked over its standard input, and
// executes nothing but this binary as sandbox-init, as the user that asks. What it mounts
// is in a mount namespace of its own: the machine is the same when it has ended, which
// it does when the run does, however that ends.
package namespace

// Options are decided once for a run.
type Options struct {
	// Hide are folders, absolute and existing, of which children see only the paths
	// that they open. The runner's own folder is one without being named, and so is /run.
	Hide []string
	// Caches are folders, absolute and existing, whose changes are thrown away at the end.
	Caches []string
	// Sudo is what makes root of us; empty: /usr/bin/sudo. Only tests have another.
	Sudo string
}

// Private returns the folders that children have as their own, empty, however many of them
// there are.
func Private() []string { return []string{"/tmp", "/var/tmp"} }

// Child is one supervisor.
type Child struct {
	Env    []string
	Read   []string // paths that it sees below hidden folders, too; what is missing is skipped
	Write  []string // the same; all others are read-only
	Memory int64    // bytes that it and its children may have together; 0: no limit. The cgroup's is a quarter above it
	Procs  uint64   // processes and threads it and its children may have; 0: no limit
}
