//go:build !linux

package main

// The scripts that need one of these run on Linux only.
func withoutLandlockMain() {}

func withoutNotificationsMain() {}
