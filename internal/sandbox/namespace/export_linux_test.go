package namespace

var (
	Lock      = lock
	LockedNew = lockedNew
)

func Leaves(dir string) []string { return cgroup(dir).leaves() }
