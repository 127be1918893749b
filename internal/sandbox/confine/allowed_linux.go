package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// allowed are a Network at the moment a child starts.
type allowed struct {
	proxies map[netip.AddrPort]bool
	ports   map[uint16]bool // opened by name
	folders []folder
	open    bool // the network is: only unix sockets are judged
}

// folder is one of Network.Sockets. What it holds is looked up below the opened
// root, so that no link leads out of it.
type folder struct {
	names []string // absolute: as it was given, and without links
	root  *os.Root
}

func openAllowed(n Network) (*allowed, error) {
	d := &allowed{proxies: map[netip.AddrPort]bool{}, ports: map[uint16]bool{}}
	for _, p := range n.Proxies {
		d.proxies[netip.AddrPortFrom(p.Addr().Unmap(), p.Port())] = true
	}
	for _, p := range n.Ports {
		d.ports[p] = true
	}
	for _, path := range n.Sockets {
		if err := d.openFolder(path); err != nil {
			d.close()
			return nil, err
		}
	}
	return d, nil
}

func (d *allowed) openFolder(path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("folder for sockets %q is not absolute", path)
	}
	root, err := os.OpenRoot(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.ENOTDIR) {
		return nil // the child reaches no socket there either
	}
	if err != nil {
		return fmt.Errorf("folder for sockets: %w", err)
	}
	f := folder{names: []string{filepath.Clean(path)}, root: root}
	if real, err := filepath.EvalSymlinks(path); err == nil && real != f.names[0] {
		f.names = append(f.names, real)
	}
	d.folders = append(d.folders, f)
	return nil
}

func (d *allowed) close() {
	for _, f := range d.folders {
		_ = f.root.Close()
	}
}

// closed is why the address is out of reach; "" when it is not. It depends on who
// listens there where named is false.
func (d *allowed) closed(to netip.AddrPort) (reason string, named bool) {
	switch port := to.Port(); {
	case d.proxies[to]:
		return "", true
	case !to.Addr().IsLoopback():
		return "not through the proxy", true
	case port == nameService:
		return "name service", true
	default:
		return "", d.ports[port]
	}
}

// maxLinks bounds the links to a socket that are followed, one to the next.
const maxLinks = 8

// socket opens what lies at the absolute path; a link leads nowhere but to
// another path in the folders. inside is false when the path is in none of them.
func (d *allowed) socket(path string) (f *os.File, inside bool, err error) {
	for range maxLinks {
		folder, below := d.folder(filepath.Clean(path))
		if folder == nil {
			return nil, false, nil
		}
		target, err := folder.root.Readlink(below)
		if err != nil { // no link, or none we may follow
			f, err := folder.root.OpenFile(below, unix.O_PATH, 0)
			return f, true, err
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = target
	}
	return nil, true, unix.ELOOP
}

func (d *allowed) folder(path string) (f *folder, below string) {
	for i, folder := range d.folders {
		for _, name := range folder.names {
			if below, ok := strings.CutPrefix(path, strings.TrimSuffix(name, "/")+"/"); ok {
				return &d.folders[i], below
			}
		}
	}
	return nil, ""
}
