//go:build long

package main

import "testing"

// TestLongScripts runs the scripts that would make the first answer of the tests
// come late: cases of publishing beside those in testdata/script.
func TestLongScripts(t *testing.T) { scripts(t, "testdata/long") }
