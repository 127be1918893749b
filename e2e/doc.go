// Package e2e proves the product from outside: the real image, started as a
// runner starts a container action, against a real forge over HTTP, with the
// real agent CLI talking to a scripted model on loopback. `make e2e` installs
// what that needs and runs it; the tests carry the build tag e2e.
//
// Only the entrypoint's tests need no container and run with `make test`.
package e2e
