//go:build !linux

package starter_test

// asNobody has nothing to take from a user who is not root, as people are here.
func asNobody() (back func()) { return func() {} }
