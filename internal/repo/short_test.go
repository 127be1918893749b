//go:build !long

package repo_test

// long asks for the big crowds, the huge files and every cell of the matrices, for
// git's own HTTP server, and for a look at each repository after each push. It is
// a build tag that `make nightly` gives.
const long = false
