package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// found is an installation that is there already and can be trusted. Nothing has to
// be written for one that is root's or ours: the root may be somebody else's, or
// read-only. One that is not trusted is named, and made anew by the caller.
func (o Options) found(p Package) (in Installed, ok bool, err error) {
	if _, err := os.Lstat(o.Root); err != nil {
		return Installed{}, false, nil //nolint:nilerr // openRoot says what is wrong with it
	}
	if os.Geteuid() == 0 { // from here on nobody else changes what is in it
		if err := o.ownRoot(); err != nil {
			return Installed{}, false, err
		}
	}
	if !exactForm.MatchString(p.Version) {
		if in, ok, err = Find(o.Root, p); err != nil || !ok {
			return Installed{}, false, err
		}
		p.Version = in.Version
	}
	in, err = unchanged(o.Root, p)
	if err != nil {
		if !errors.Is(err, errNone) {
			o.say(fmt.Sprintf("The %s that is in %s is not used, but unpacked and checked anew: %v", p, o.Root, err))
		}
		return Installed{}, false, nil
	}
	o.tidy()
	return in, true, nil
}

// secure takes a tree out of other users' hands. Root owns all of it afterwards,
// and nobody else can write in it; that goes from the top down, so that whatever
// is looked at can no longer be exchanged. Somebody else takes away the rights of
// others.
func secure(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case os.Geteuid() == 0:
			return own(path)
		case d.Type()&fs.ModeSymlink != 0:
			return nil
		}
		info, err := d.Info()
		if err == nil && info.Mode()&0o022 != 0 {
			err = os.Chmod(path, info.Mode().Perm()&^0o022) // #nosec G122 -- whoever could exchange it is who we are
		}
		return err
	})
}

// own makes one file root's, readable for all and writable for nobody else.
// Links are changed themselves, never followed. What is so already is left alone.
func own(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Uid != 0 || st.Gid != 0 {
		if err := os.Lchown(path, 0, 0); err != nil {
			return err
		}
		if info, err = os.Lstat(path); err != nil { // the bits for set-uid are gone
			return err
		}
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return nil
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return errors.New(path + " is neither a file nor a folder nor a link")
	}
	mine := info.Mode().Perm() & 0o700
	if info.IsDir() {
		mine = 0o700
	}
	mine |= (mine>>3 | mine>>6) &^ 0o022
	if info.Mode()&(fs.ModePerm|fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) == mine {
		return nil
	}
	return os.Chmod(path, mine)
}
