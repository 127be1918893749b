package confine

// Unprotected returns why a child with this policy that speaks (see Notifier.Speaks)
// is not protected from the programs that it starts; empty if it is. A protected
// child is not traced, signalled or rescheduled by them, its memory, its program and
// its standard input and output are not theirs to write, and they neither reach its
// servers nor pass for a server that it asks. It takes a few milliseconds.
func Unprotected(w *Policy) (reason string) {
	if w == nil {
		return "isolation is off"
	}
	if abi, why := Available(); abi == 0 {
		return why
	}
	if w.Network == nil {
		return "the network is open"
	}
	_, reason = NetworkAvailable()
	return reason
}
