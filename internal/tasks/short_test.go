//go:build !long

package tasks_test

const everySequence = false
