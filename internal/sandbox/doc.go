// Package sandbox says what a child may touch: which user it is, which files and
// addresses it reaches, which environment it sees. It also hides the owner's own environment
// and memory from children of the same user. It decides and applies; starting
// and ending processes is proc's work.
package sandbox
