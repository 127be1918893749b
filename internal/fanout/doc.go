// Package fanout works a task list off in many jobs beside each other: which job works on
// which stories, what a job hands over, and what becomes of it. It is pure.
//
// A wave is one plan: lanes that work beside each other, and one integration of what they
// made. Everything is named by the plan and the lane, so that a job that is run again goes
// on where it was.
package fanout
