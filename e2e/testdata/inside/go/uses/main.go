// Command uses prints what a module says.
package main

import (
	"fmt"

	"example.com/greeting"
)

func main() { fmt.Println(greeting.Text) }
