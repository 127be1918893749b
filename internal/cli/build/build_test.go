package build

import (
	"encoding/json"
	"runtime"
	"slices"
	"testing"
)

func TestRetired(t *testing.T) {
	t.Parallel()
	const list = "# VERSION REASON\n\nv1.2.3 it pushed twice.\nv1.3.0 it lost commits\n"
	for _, tt := range []struct {
		versions []string
		want     []string
	}{
		{[]string{"v1.2.4", ""}, nil},
		{[]string{"v1.2.3"}, []string{"ralph-action v1.2.3 was withdrawn: it pushed twice. Use a newer version."}},
		{[]string{"v1.4.0", "v1.3.0"}, []string{"ralph-action v1.3.0 was withdrawn: it lost commits. Use a newer version."}},
		{[]string{"#"}, nil},
	} {
		if got := retiredIn(list, tt.versions...); !slices.Equal(got, tt.want) {
			t.Errorf("retiredIn(%q) = %q, want %q", tt.versions, got, tt.want)
		}
	}
	if got := Retired("#", "VERSION", "dev"); got != nil {
		t.Errorf("the list in the binary says %q", got)
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	text, err := Info{Version: "v1.2.3", Commit: "abc", Time: "2026-01-02T03:04:05Z"}.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]string
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	for key, want := range map[string]string{"version": "v1.2.3", "commit": "abc", "commit-time": "2026-01-02T03:04:05Z", "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH} {
		if got[key] != want {
			t.Errorf("%s = %q, want %q", key, got[key], want)
		}
	}
}
