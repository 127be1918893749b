package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// found is a whole installation that is there already, made safe to start.
// Nothing has to be written for one that is root's or ours: the root may be
// somebody else's, or read-only.
func (o Options) found(p Package) (in Installed, ok bool, err error) {
	if in, ok, err = Find(o.Root, p); err != nil || !ok {
		return in, ok, err
	}
	if os.Geteuid() == 0 {
		if err := o.ownRoot(); err != nil {
			return Installed{}, false, err
		}
		if in, ok, err = Find(o.Root, p); err != nil || !ok { // it was perhaps not ours when we looked
			return in, ok, err
		}
	}
	o.tidy()
	in, err = o.trusted(in)
	return in, err == nil, err
}

// trusted makes an installation that was found safe to start, as far as we can,
// and says what we cannot.
func (o Options) trusted(in Installed) (Installed, error) {
	note, err := secure(in.Dir)
	if err != nil {
		return Installed{}, fmt.Errorf("make %s ours: %w", in.Dir, err)
	}
	if note != "" {
		o.say(note)
	}
	return in, nil
}

// secure takes a tree out of other users' hands. Root owns all of it afterwards,
// and nobody else can write in it; that goes from the top down, so that whatever
// is looked at can no longer be exchanged. Somebody else takes away the rights of
// others from their own files; note says what others can still change.
func secure(dir string) (note string, err error) {
	root, uid := os.Geteuid() == 0, os.Geteuid()
	loose, example := 0, ""
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if root {
			if err := own(path); !errors.Is(err, syscall.EROFS) {
				return err
			}
			if loose++; example == "" { // for whoever else has this file system, and can write it
				example = path
			}
			return nil
		}
		info, err := os.Lstat(path)
		if err != nil || info.Mode()&fs.ModeSymlink != 0 {
			return err
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		theirs := ok && int(st.Uid) != uid && st.Uid != 0
		if info.Mode()&0o022 != 0 && !theirs {
			theirs = os.Chmod(path, info.Mode().Perm()&^0o022) != nil // #nosec G122 -- whoever could exchange it is who we are
		}
		if theirs {
			if loose++; example == "" {
				example = path
			}
		}
		return nil
	})
	if loose > 0 {
		note = fmt.Sprintf("Others than we could change %d files of the installed agent, among them %s. Whoever can write there decides what the agent does.", loose, example)
	}
	return note, err
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
