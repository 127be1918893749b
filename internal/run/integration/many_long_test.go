//go:build long

package integration_test

import (
	"testing"

	"github.com/org/ralph-action/internal/testing/lanes"
)

// Ten thousand bundles into one repository, in forty waves: of a hundred stories five conflict
// and one lies.
func TestTenThousandBundles(t *testing.T) {
	t.Parallel()
	w, err := lanes.New(t.TempDir(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	stories, lies := 0, 0
	for range 40 {
		wave, got := integrated(t, w, lanes.Shape{Stories: 250, Conflict: 20, Lie: 100, Fail: 125})
		stories, lies = stories+len(got.Stories), lies+len(wave.Lies)
		if t.Failed() {
			break
		}
	}
	if stories != 10_000 || lies < 100 {
		t.Errorf("%d stories were decided about, %d lies were told", stories, lies)
	}
}
