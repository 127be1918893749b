// Package confine says what a child may touch: which user it is, which files and
// addresses it reaches, which environment it sees. It also hides ralph's own
// environment and memory from children of the same user. It decides and applies;
// starting and ending processes is proc's work.
//
// The restrictions on files are Landlock's, that on the network is a seccomp filter that leaves
// TCP, unix streams and the list of interfaces, and asks the Notifier for every
// socket and every connect. The notifier makes the connection itself: what it has
// judged is what is connected to, whatever the child writes meanwhile.
package confine
