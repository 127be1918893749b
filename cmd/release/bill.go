package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// bill is a software bill of materials. It is written by us because Go binaries,
// dpkg and npm each keep an exact list of their own, which a scanner would only read
// again.
type bill struct {
	Name     string
	Digest   string // sha256 of what it describes
	Created  time.Time
	Packages []component
}

// component is a package: Type is that of a package URL.
type component struct{ Type, Name, Version, Qualifier string }

// purl is the component's package URL, https://github.com/package-url/purl-spec.
func (c component) purl() string {
	parts := strings.Split(c.Name, "/")
	for i, p := range parts {
		parts[i] = strings.ReplaceAll(url.PathEscape(p), "@", "%40")
	}
	s := "pkg:" + c.Type + "/" + strings.Join(parts, "/") + "@" + url.PathEscape(c.Version)
	if c.Qualifier != "" {
		s += "?" + c.Qualifier
	}
	return s
}

// modules are what a Go binary says it was built from.
func modules(info *debug.BuildInfo) []component {
	list := []component{{Type: "golang", Name: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		list = append(list, component{Type: "golang", Name: m.Path, Version: m.Version})
	}
	return list
}

// noID is what SPDX does not allow in an identifier.
var noID = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// spdx writes the bill as SPDX 2.3, https://spdx.github.io/spdx-spec/v2.3/.
func (b bill) spdx() ([]byte, error) {
	type object = map[string]any
	none := "NOASSERTION"
	whole := object{
		"SPDXID": "SPDXRef-Release", "name": b.Name, "downloadLocation": none, "filesAnalyzed": false, "supplier": none,
		"licenseConcluded": none, "licenseDeclared": none, "copyrightText": none,
		"checksums": []object{{"algorithm": "SHA256", "checksumValue": b.Digest}},
	}
	packages := []object{whole}
	relations := []object{{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-Release"}}
	list := slices.Clone(b.Packages)
	slices.SortFunc(list, func(x, y component) int { return strings.Compare(x.purl(), y.purl()) })
	for i, c := range slices.Compact(list) {
		id := fmt.Sprintf("SPDXRef-%d-%s", i+1, noID.ReplaceAllString(c.Type+"-"+c.Name, "-"))
		packages = append(packages, object{
			"SPDXID": id, "name": c.Name, "versionInfo": c.Version, "downloadLocation": none, "filesAnalyzed": false, "supplier": none,
			"licenseConcluded": none, "licenseDeclared": none, "copyrightText": none,
			"externalRefs": []object{{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": c.purl()}},
		})
		relations = append(relations, object{"spdxElementId": "SPDXRef-Release", "relationshipType": "CONTAINS", "relatedSpdxElement": id})
	}
	text, err := json.MarshalIndent(object{
		"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": b.Name,
		"documentNamespace": "https://github.com/org/ralph-action/spdx/" + b.Name + "/" + b.Digest,
		"creationInfo":      object{"created": b.Created.Format(time.RFC3339), "creators": []string{"Tool: ralph-action-release"}},
		"packages":          packages, "relationships": relations,
	}, "", "  ")
	return append(text, '\n'), err
}
