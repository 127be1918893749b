//go:build !linux

package namespace

import (
	"context"
	"errors"
)

// Namespaces are a run's.
type Namespaces struct{}

// Start reports that there are none.
func Start(context.Context, Options) (*Namespaces, error) {
	return nil, errors.New("they are Linux's")
}

// String is empty.
func (n *Namespaces) String() string { return "" }

// Caches returns nil.
func (n *Namespaces) Caches() []string { return nil }

// Close does nothing.
func (n *Namespaces) Close() error { return nil }

// RunnerFolder returns nothing.
func RunnerFolder() string { return "" }
