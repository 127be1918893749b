// Package confine says what a child may touch: which user it is, which files and
// addresses it reaches, which environment it sees. It also hides the owner's own
// environment and memory from children of the same user. It decides and applies;
// starting and ending processes is proc's work.
//
// The file walls are Landlock's. The network wall is a seccomp filter that leaves
// TCP, unix streams and the list of interfaces, and asks the Gate for every
// socket and every connect. The gate makes the connection itself: what it has
// judged is what is connected to, whatever the child writes meanwhile.
package confine
