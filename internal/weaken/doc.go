// Package weaken finds what of a change makes tests and checks say less: tests
// deleted, skipped or emptied, configuration of tests and linters, warnings
// silenced, the files that define guardrails, and what agents read of a
// repository. Pure: it gets the files of the change and gives findings.
//
// It is an aid for whoever reviews, not a wall: it reads a dozen languages by
// their surface, and says what to look at. It prefers to be silent where a
// change looks like a refactoring (a test that goes on under another name or in
// another file, cases that became rows of a table).
package weaken
