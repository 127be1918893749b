// Package testintegrity finds what of a change makes tests and checks say less: tests
// deleted, skipped, focused or emptied, configuration of tests and linters that
// excuses more, and the files that define guardrails. Pure: it gets the files of the
// change and gives findings.
//
// It is an aid for whoever reviews, not a barrier: it reads the main languages by
// their surface, and says what to look at. It prefers to be silent where a change
// looks like a refactoring: a test that goes on under another name or in another
// file, cases that became rows of a table, a linter that took the place of another.
package testintegrity
