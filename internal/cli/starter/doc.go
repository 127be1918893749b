// Package starter proposes and writes what `ralph init` sets up: the settings
// of `ralph run`, and the configuration and prompts of `ralph plan` and `ralph
// build`. It alone reads a project's manifests. What it finds there is foreign:
// nothing is executed, reads are bounded, and a proposed command is one of a
// fixed list, never text from a file.
package starter
