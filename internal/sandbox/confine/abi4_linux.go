//go:build linux && landlock4

package confine

const newestABI = 4
