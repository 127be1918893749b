//go:build linux && !amd64

package proc_test

func int80() string { return "ENOSYS" } // there is no such interface
