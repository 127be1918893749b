// Package redteam attacks the product as an agent would that was talked into
// anything. The attacks are data (attacks_*_test.go): each is run for real in
// the container, started as a runner starts it, in the sandbox that is the
// default, and once more where the defense is missing, to show that it is an
// attack at all. `make redteam` runs them and prints the table; docs/internals/redteam.md
// tells how to read it and how to add one. What needs the container carries the
// build tag e2e.
package redteam
