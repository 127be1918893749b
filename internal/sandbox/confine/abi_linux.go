//go:build linux && !landlock4

package confine

import "math"

// newestABI is the newest Landlock that is made use of: any. Built with the tag
// landlock4, as tests are, it is that of Linux 6.8.
const newestABI = math.MaxInt32
