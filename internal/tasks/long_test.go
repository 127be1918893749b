//go:build long

package tasks_test

// everySequence has TestNoWayAroundReview run all its sequences.
const everySequence = true
