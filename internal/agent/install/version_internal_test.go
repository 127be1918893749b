package install

import "testing"

func TestSatisfies(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		version, want string
		ok            bool
	}{
		{"20.20.2", ">=20", true}, {"20.20.2", ">=22.0.0", false}, {"22.0.0", ">= 22.0.0", true}, {"18.19.0", ">=18 <20", true}, {"20.0.0", ">=18 <20", false},
		{"20.19.0", "^20.19.0 || >=22.12.0", true}, {"22.11.0", "^20.19.0 || >=22.12.0", false}, {"21.0.0", "^20.19.0 || >=22.12.0", false}, {"24.1.0", "^20.19.0 || >=22.12.0", true},
		{"18.3.0", "18.x", true}, {"19.0.0", "18.x", false}, {"18.3.0", "18", true}, {"18.3.0", "~18.3", true}, {"18.4.0", "~18.3.0", false}, {"18.4.0", "~18", true},
		{"16.0.0", "16 - 20", true}, {"20.9.0", "16 - 20", true}, {"21.0.0", "16 - 20", false}, {"20.1.0", ">20", false}, {"21.0.0", ">20", true}, {"1.2.4", ">1.2.3", true}, {"1.2.3", ">1.2.3", false},
		{"0.2.9", "^0.2.3", true}, {"0.3.0", "^0.2.3", false}, {"5.0.0", "*", true}, {"5.0.0", "", true}, {"5.0.0", "lts/*", true}, {"nightly", ">=1", true}, {"1.0.0", "=2.0.0", false},
		{"99.0.0", "^", true},
	} {
		if got := satisfies(test.version, test.want); got != test.ok {
			t.Errorf("satisfies(%s, %q) = %v, want %v", test.version, test.want, got, test.ok)
		}
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	inOrder := []string{"1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.2.9", "1.10.0"}
	for i, a := range inOrder {
		for j, b := range inOrder {
			if got := compare(a, b); got < 0 != (i < j) || got > 0 != (i > j) {
				t.Errorf("compare(%s, %s) = %d", a, b, got)
			}
		}
	}
}

func FuzzSatisfies(f *testing.F) {
	for _, seed := range []string{">=20", "^20.19.0 || >=22.12.0", "16 - 20", "<", "~>1.x", ">999999999", "^0.0.0", "*", " || "} {
		f.Add("20.1.0", seed)
	}
	f.Fuzz(func(_ *testing.T, version, ranges string) {
		_ = satisfies(version, ranges)
		_ = compare(version, ranges)
	})
}
