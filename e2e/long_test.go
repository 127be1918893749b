//go:build e2e && long

package e2e

const long = true
