// Package memory is what a run writes where the next one on the branch reads it:
// commit messages with their trailers, and what a pull request is about, with its
// title and a line in its body. What is read back was written by whoever can push
// or edit: it is a memory, never a permission.
package memory
