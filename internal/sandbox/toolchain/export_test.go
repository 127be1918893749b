package toolchain

import "strings"

// Words are what the documentation has to name.
func Words() []string {
	words := append(CacheNames(), variables...)
	for _, h := range homes {
		words = append(words, strings.TrimSuffix(h.on, "/"))
	}
	for _, c := range caches {
		words = append(words, "~/"+c.usual)
		if c.from != "" {
			words = append(words, c.from)
		}
	}
	return words
}

// Target is the real path of a file, found with folders that are remembered.
func Target() func(path string) (string, error) { return folders{}.target }
