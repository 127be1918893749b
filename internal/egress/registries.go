package egress

import "os"

// Registries are the hosts of package registries and toolchains for the languages
// of a repository.
func Registries(root *os.Root) []string { return nil }

// Forge are the hosts of a forge's read side.
func Forge(serverURL string) []string { return nil }
