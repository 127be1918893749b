// Command shop asks its own server.
package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"

	"example.com/shop"
)

func main() {
	s := httptest.NewServer(shop.Handler())
	defer s.Close()
	res, err := http.Get(s.URL + "/main")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	defer res.Body.Close()
	_, _ = io.Copy(os.Stdout, res.Body)
}
