//go:build long

package repo_test

const long = true
