package confine

import "fmt"

// Describe says in one line for the log what is in force for a child with this
// policy; nil restricts nothing. It tries the network restriction if the policy has one.
func Describe(id Identity, w *Policy, ownUID int) string {
	who := fmt.Sprintf("uid %d", id.UID)
	if id.IsZero() {
		who = fmt.Sprintf("uid %d (ralph's own)", ownUID)
	}
	if w == nil {
		return "no file restrictions, " + who
	}
	return describeFiles(w, who) + describeNetwork(w.Network)
}

func describeFiles(w *Policy, who string) string {
	abi, _ := Available()
	switch files, reason := FilesAvailable(); {
	case files && abi == 0:
		return fmt.Sprintf("Seatbelt (experimental: not run by us), %s, %d paths writable", who, len(w.ReadWrite))
	case abi == 0:
		return fmt.Sprintf("no file restrictions (%s), %s", reason, who)
	case abi < 6:
		if ok, reason := NetworkAvailable(); !ok { // else the notifier keeps signals inside, whatever the network
			return fmt.Sprintf("Landlock ABI %d, signals to its user's other processes open (%s), %s, %d paths writable", abi, reason, who, len(w.ReadWrite))
		}
	}
	return fmt.Sprintf("Landlock ABI %d, %s, %d paths writable", abi, who, len(w.ReadWrite))
}

// describeNetwork is empty when the network is open because nobody restricts
// it: who leaves it open says so in words of its own.
func describeNetwork(n *Network) string {
	if n == nil {
		return ""
	}
	switch ok, reason := NetworkAvailable(); {
	case !ok:
		return fmt.Sprintf(", network open (%s)", reason)
	case len(n.Proxies) == 0:
		return ", no network"
	}
	return ", network through the proxy only"
}
