//go:build long

package main

import "testing"

// long makes tests run every case; without it they run one of each kind.
const long = true

// TestLongScripts runs the scripts that would make the first answer of the tests
// come late: cases beside those in testdata/script, and recoveries from what is rare.
func TestLongScripts(t *testing.T) { scripts(t, "testdata/long") }
