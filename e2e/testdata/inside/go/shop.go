// Package shop is a program whose tests start servers.
package shop

import (
	"fmt"
	"net/http"
)

// Handler greets.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "hello from %s", r.URL.Path)
	})
}
