package credentials

import (
	"encoding/base64"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
	"github.com/org/ralph-action/internal/lib/secret"
)

// A checkout leaves its token as a header in the repository's configuration, or in
// a file that is included there (actions/checkout v4 to v6).
var (
	tokenHeader  = lazyregexp.New(`(?i)extraheader\s*=\s*"?authorization:\s*(?:basic|bearer|token)\s+([A-Za-z0-9+/=_.~-]+)`)
	includedFile = lazyregexp.New(`(?im)^\s*path\s*=\s*"?([^"\r\n]+)`)
)

// LeftByCheckout are the tokens that a checkout left beside the workspace: they
// may be others than the one we work with.
func LeftByCheckout(workspace string) []secret.String {
	git := filepath.Join(workspace, ".git", "config")
	text := beginning(git)
	for i, m := range includedFile.FindAllStringSubmatch(text, 16) {
		if path := strings.TrimSpace(m[1]); filepath.IsAbs(path) && i < 16 {
			text += "\n" + beginning(path)
		}
	}
	var values []secret.String
	for _, m := range tokenHeader.FindAllStringSubmatch(text, 64) {
		values = append(values, secret.New(m[1]))
		if plain, err := base64.StdEncoding.DecodeString(m[1]); err == nil {
			if _, password, ok := strings.Cut(string(plain), ":"); ok && len(password) >= minSecret {
				values = append(values, secret.New(password))
			}
		}
	}
	return values
}

// beginning is the first megabyte of a plain file; empty when there is none.
func beginning(path string) string {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, _ := io.ReadAll(io.LimitReader(f, 1<<20)) // what can be read has to be hidden
	return string(data)
}
