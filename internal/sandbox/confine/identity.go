package confine

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Identity is the user and group a child runs as. Supplementary groups are
// never part of it: they are cleared. The zero value is the caller's own user.
type Identity struct{ UID, GID int }

// IsZero reports whether the child keeps the caller's user.
func (id Identity) IsZero() bool { return id == Identity{} }

func (id Identity) String() string { return fmt.Sprintf("uid %d, gid %d", id.UID, id.GID) }

// Place is what decides the identity of a run.
type Place struct {
	Workspace    string   // the checkout the agent works in
	Marker       string   // see HandOver; "" when none is used
	DockerSocket string   // its group is never given to the agent; "" or missing: no such group
	Fallback     Identity // the image's agent user, for a workspace that belongs to root
}

// ErrNoUser says that the workspace belongs to root and that there is no other
// user to run the agent as.
var ErrNoUser = errors.New("the workspace belongs to root and there is no other user to run the agent as")

// IdentityFor chooses who the agent is in a place. A plain user stays itself:
// the zero Identity. Root becomes the owner of the workspace, or the fallback
// when root owns it; handOver then says that the workspace must be handed over
// before anything starts, which is also the case when an earlier hand-over was
// never undone.
func IdentityFor(p Place) (id Identity, handOver bool, err error) {
	if os.Geteuid() != 0 {
		return Identity{}, false, nil
	}
	st, err := lstat(p.Workspace)
	if err != nil {
		return Identity{}, false, fmt.Errorf("owner of the workspace: %w", err)
	}
	if st.Mode&syscall.S_IFMT != syscall.S_IFDIR {
		return Identity{}, false, fmt.Errorf("workspace %s is not a directory", p.Workspace)
	}
	if st.Uid == 0 || interrupted(p.Workspace, p.Marker, p.Fallback) {
		if p.Fallback.UID <= 0 || p.Fallback.GID <= 0 {
			return Identity{}, false, ErrNoUser
		}
		return p.Fallback, true, nil
	}
	id = Identity{UID: int(st.Uid), GID: int(st.Gid)}
	if id.GID == 0 || isGroupOf(p.DockerSocket, id.GID) {
		id.GID = substituteGroup(p, id)
	}
	return id, false, nil
}

// substituteGroup replaces a group that gives away the machine: root's, or the
// docker socket's, which some runner images use as the runner's primary group.
func substituteGroup(p Place, id Identity) int {
	if g := p.Fallback.GID; g > 0 && !isGroupOf(p.DockerSocket, g) {
		return g
	}
	return id.UID
}

func isGroupOf(path string, gid int) bool {
	if path == "" {
		return false
	}
	var st syscall.Stat_t // follows links: the socket itself counts
	return syscall.Stat(path, &st) == nil && int(st.Gid) == gid
}

func lstat(path string) (syscall.Stat_t, error) {
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		return st, &os.PathError{Op: "lstat", Path: path, Err: err}
	}
	return st, nil
}
