package config_test

import (
	"strings"
	"testing"
)

func TestSizes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"0": 0, "500MB": 500_000_000, "2gb": 2_000_000_000, "1.5 GiB": 3 << 29, "64MB": 64_000_000, "70000KB": 70_000_000,
	} {
		c, err := load(t, with("max-memory", text))
		if err != nil || c.Limits.Memory != want {
			t.Errorf("max-memory %q = %d (%v), want %d", text, c.Limits.Memory, err, want)
		}
	}
	for text, want := range map[string]string{
		"500":    "say the unit: 500MB or 500GB",
		"lots":   "give a size such as 500MB or 2GB (0: no limit)",
		"1e3GB":  "give a size such as",
		"-1GB":   "give a size such as",
		"NaNGB":  "give a size such as",
		"1KB":    "give a size from 64MB to 100TB (0: no limit)",
		"1000TB": "give a size from 64MB to 100TB",
		"GB":     "give a size such as",
	} {
		_, err := load(t, with("max-memory", text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("max-memory %q: %v, want %q", text, err, want)
		}
	}
}
