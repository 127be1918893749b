//go:build long

package main

import "testing"

// long says that the whole set of cases runs where the ordinary tests have one of each
// kind.
const long = true

// TestLongScripts runs the scripts that would make the first answer of the tests
// come late: cases beside those in testdata/script, and recoveries from what is rare.
func TestLongScripts(t *testing.T) { scripts(t, "testdata/long") }
