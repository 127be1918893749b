package words

import (
	"testing"
	"time"
)

func TestNumbers(t *testing.T) {
	t.Parallel()
	for in, want := range map[int64]string{
		0: "0", 7: "7", 999: "999", 1000: "1K", 1234: "1.2K", 9949: "9.9K", 9999: "10K", 45_000: "45K", 850_000: "850K", 999_499: "999K", 999_999: "1M",
		1_200_000: "1.2M", 12_345_678: "12.3M", 123_456_789: "123M", 1_500_000_000: "1.5G", -1500: "-1.5K",
	} {
		if got := Count(in); got != want {
			t.Errorf("count(%d) = %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"0s": "0s", "-5s": "0s", "300us": "1ms", "320ms": "320ms", "955.6ms": "956ms", "999.7ms": "1s", "1s": "1s", "4.24s": "4.2s", "9.96s": "10s", "41.4s": "41s", "59.9s": "1m0s", "6m7s": "6m7s", "59m59.9s": "1h0m", "90m": "1h30m", "26h": "26h0m",
	} {
		d := parse(t, in)
		if got := Span(d); got != want {
			t.Errorf("span(%s) = %q, want %q", in, got, want)
		}
	}
}

func parse(t *testing.T, s string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
