package install

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"encoding/json"
	"io/fs"
	"path"
)

// locks holds the directory of the same name: a project of npm for each agent, as
// `npm install --package-lock-only` wrote it, with the tested version and all that it
// needs, by checksum. npm installs what it names, compares it, and asks the registry only
// for what it lacks.
//
//go:embed locks.zip
var locks []byte

// readLock reads a file of an agent's project.
func readLock(program, name string) ([]byte, error) {
	files, err := zip.NewReader(bytes.NewReader(locks), int64(len(locks)))
	if err != nil {
		return nil, err
	}
	return fs.ReadFile(files, path.Join(program, name))
}

// projectFiles are what npm reads of a project.
var projectFiles = []string{"package.json", "package-lock.json"}

// packageLock is the part of a package-lock.json that counts here. npm writes the
// checksum the registry promised beside each package that it fetched and compared:
//
//	"packages": {"node_modules/NAME": {"version": "1.2.3", "integrity": "sha512-..."}}
//
// Format: https://docs.npmjs.com/cli/v11/configuring-npm/package-lock-json
type packageLock struct {
	Packages map[string]locked `json:"packages"`
}

// locked is one package of it.
type locked struct {
	Version   string   `json:"version"`
	Integrity string   `json:"integrity"`
	InBundle  bool     `json:"inBundle"` // it came inside of another package, whose checksum holds for it
	Bin       programs `json:"bin"`
	Engines   engines  `json:"engines"`
}

// engines are the versions of node and others that a package asks for.
type engines map[string]string

// UnmarshalJSON takes the lists of old packages for none.
func (e *engines) UnmarshalJSON(data []byte) error {
	*e = nil
	many := map[string]string{}
	if json.Unmarshal(data, &many) == nil {
		*e = many
	}
	return nil
}

// pinned is the lock of a package in the version that was tested; ok is false for
// any other.
func pinned(p Package) (lock packageLock, ok bool) {
	data, err := readLock(p.Program, "package-lock.json")
	if err != nil || json.Unmarshal(data, &lock) != nil {
		return packageLock{}, false
	}
	return lock, lock.Packages["node_modules/"+p.Name].Version == p.Version
}

// metadata is what the lock says of the package itself.
func (l packageLock) metadata(p Package) metadata {
	top := l.Packages["node_modules/"+p.Name]
	return metadata{Version: top.Version, Engines: top.Engines, Integrity: top.Integrity, Bin: top.Bin}
}

// writeProject writes what npm installs from into an open tree, for the agent's user.
func (s *stage) writeProject() error {
	for _, name := range projectFiles {
		data, err := readLock(s.pkg.Program, name)
		if err == nil {
			err = s.root.WriteFile(name, data, 0o644)
		}
		if err == nil && s.o.isOther() {
			err = s.root.Lchown(name, s.o.Owner.UID, s.o.Owner.GID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
