package sandbox

import "fmt"

// Describe says in one line for the log what is in force for a child with these
// walls; nil are none.
func Describe(id Identity, w *Walls, ownUID int) string {
	who := fmt.Sprintf("uid %d", id.UID)
	if id.IsZero() {
		who = fmt.Sprintf("uid %d (our own)", ownUID)
	}
	if w == nil {
		return "no file walls, " + who
	}
	abi, reason := Available()
	switch {
	case abi == 0:
		return fmt.Sprintf("no file walls (%s), %s", reason, who)
	case abi < 6:
		return fmt.Sprintf("Landlock ABI %d without signal scope, %s, %d paths writable", abi, who, len(w.ReadWrite))
	}
	return fmt.Sprintf("Landlock ABI %d, %s, %d paths writable", abi, who, len(w.ReadWrite))
}
