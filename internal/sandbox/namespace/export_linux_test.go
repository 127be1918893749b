package namespace

var (
	Lock      = lock
	LockedNew = lockedNew
	RemoveAll = removeAll
)

func Leaves(dir string) []string { return cgroup(dir).leaves() }
