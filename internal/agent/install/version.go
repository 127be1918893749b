package install

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// checkEngines compares node with what the package asks for. A program that is
// no script does not need it once it is installed.
func (s *stage) checkEngines(ctx context.Context, m metadata) error {
	want := m.Engines["node"]
	if want == "" {
		return nil
	}
	a, err := s.run(ctx, s.tree, versionTime, "node", "--version")
	if err == nil {
		err = a.failed(s.pkg, "node --version")
	}
	if err != nil {
		return err
	}
	have := strings.TrimPrefix(strings.TrimSpace(a.stdout), "v")
	if !exactForm.MatchString(have) || satisfies(have, want) {
		return nil
	}
	file, ok := m.Bin.of(s.pkg)
	switch filepath.Ext(file) {
	case ".js", ".cjs", ".mjs", "":
		if ok {
			return fmt.Errorf("%s needs node %.100q, and the node on PATH is %s: install a newer Node.js (in a workflow with actions/setup-node), or ask for an older version", s.pkg, want, have)
		}
	}
	s.o.say(fmt.Sprintf("%s asks for node %.100q, and the node on PATH is %s. It is tried all the same.", s.pkg, want, have))
	return nil
}

// compare orders two exact versions; what is none is as old as can be.
func compare(a, b string) int {
	p, err := semver.StrictNewVersion(a)
	if err != nil {
		p = &semver.Version{}
	}
	q, err := semver.StrictNewVersion(b)
	if err != nil {
		q = &semver.Version{}
	}
	return p.Compare(q)
}

// satisfies reports whether a version lies in a range as npm writes them:
// ">=20", "^20.19.0 || >=22.12.0", "18.x", "16 - 20". What cannot be read is
// taken for satisfied: npm itself only warns.
func satisfies(version, ranges string) bool {
	have, err := semver.StrictNewVersion(version)
	if err != nil || len(ranges) > 1000 {
		return true
	}
	want, err := semver.NewConstraint(ranges)
	if err != nil {
		return true
	}
	want.IncludePrerelease = true
	return want.Check(have)
}
