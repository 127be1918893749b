//go:build e2e && !long

package e2e

// long asks for the whole crowd and for every moment to be killed at. It is a
// build tag that `make e2e E2E_TAGS=e2e,long` gives, every night.
const long = false
