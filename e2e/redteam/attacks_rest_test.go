package redteam

func linkAttacks() []Attack    { return nil }
func gitAttacks() []Attack     { return nil }
func contentAttacks() []Attack { return nil }
func leakAttacks() []Attack    { return nil }
func wordAttacks() []Attack    { return nil }
func loopAttacks() []Attack    { return nil }
