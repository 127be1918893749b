// Package actionrun runs the action for tests, as a runner starts it: in a fresh
// checkout of a repository of the tests' GitHub, alone, many at once, or killed
// at each of its writes and run again. Only tests import it.
package actionrun
