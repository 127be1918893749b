package redteam

// Attack is one row of the table.
type Attack struct {
	ID      string // unique; in every packet, file and process of the attack
	Tries   string // what it tries
	Defense string // what should hold
	In      string // the scenario it belongs to

	// Plant is a script of sh that prepares the attack in iteration 1; it has to
	// succeed. Script is the attack: 0 when it got what it wanted, 77 when the
	// machine cannot show it. It runs in iteration 1, or, behind a Plant, in
	// iteration 2. Both run in the workspace, as the agent.
	Plant, Script string
	Undo          string // at the start of the next iteration, in scenarios with one for each attack
	Seconds       int    // longest time of a script; 0: 8

	// Mortal is an attack that may be ended together with the agent.
	Mortal bool

	// Seen are what success would leave outside; any of them is a hole.
	Seen []sign

	// Probe shows, in the same run and in the same sandbox, that the trick works
	// where the defense has no part: 0 when it did. It takes the place of the control.
	Probe string
	// Always says why no run can be without the defense: then the attack counts as
	// held without a control that succeeded.
	Always string
	// Known says why an attack is not held off, as docs/security.md does, too: then
	// it is not covered, and no failure. KnownIn are the columns where; none: all.
	Known   string
	KnownIn []column
	// Container marks an attack on the container alone, which is not tried on a machine.
	Container bool
	// Engine says what else refuses the attack where the control cannot do it
	// either: then it is not shown.
	Engine string
}

// column is where an attack is run: in the container, or on a look-alike of a runner
// whose user may become root by sudo, so that there are namespaces, or may not.
type column int

const (
	inContainer column = iota
	withNamespaces
	withoutNamespaces
)

var columns = [...]string{"container", "namespaces", "no namespaces"}

// machineGroups are the scenarios on machines of the attacks that have one there.
var machineGroups = map[string]string{
	"machine": "machine", "inside": "machine", "open": "machine", "joined": "machine",
	"keyproxy": "machine-keyproxy", "git": "machine-git",
}

// columns are where an attack is run.
func (a Attack) columns() []column {
	switch {
	case a.In == "machine":
		return []column{withNamespaces, withoutNamespaces}
	case machineGroups[a.In] != "" && !a.Container:
		return []column{inContainer, withNamespaces, withoutNamespaces}
	}
	return []column{inContainer}
}

// sign looks for one trace of success after the run; empty: there is none.
type sign func(w *world, a Attack) string

// Result is what became of an attack.
type Result string

// The results.
const (
	Held     Result = "held"
	Open     Result = "OPEN"      // a hole: the test fails
	NoProof  Result = "no proof"  // it failed without the defense, too: the attack is broken
	NotShown Result = "not shown" // this kernel or engine cannot show it
	Missing  Result = "not covered"
)

// row is a line of the table.
type row struct {
	Attack
	Where  column
	Result Result
	Why    string // evidence, reason, or how it was shown to be an attack
}

// attacks are all of them, in the order of the table.
func attacks() []Attack {
	var all []Attack
	for _, list := range [][]Attack{
		processAttacks(), privilegeAttacks(), fileAttacks(), runnerFileAttacks(), logAttacks(), linkAttacks(), leaverAttacks(), limitAttacks(),
		networkAttacks(), proxyAttacks(), keyProxyAttacks(), gitAttacks(), contentAttacks(), leakAttacks(), wordAttacks(), pageAttacks(), saidAttacks(), nameAttacks(), loopAttacks(), machineAttacks(),
	} {
		all = append(all, list...)
	}
	return all
}
