package redteam

func wordAttacks() []Attack { return nil }
func loopAttacks() []Attack { return nil }
