package bundle

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/store"
)

const (
	// MaxBytes bounds a bundle.
	MaxBytes = 512 << 20

	maxHead    = 4096    // bytes of what stands before the pack
	maxObjects = 200_000 // of a pack
)

// Want is what a bundle of somebody else's has to be.
type Want struct {
	Base    string   // the commit that it stands on, its one prerequisite; the store has it
	Name    string   // of its one reference, without refs/heads/
	Digest  string   // SHA-256 of the file, in hex
	Commits []string // that it brings, the oldest first, each on top of the one before
	// Says judges the message of such a commit, by its place among them.
	Says func(i int, message string) error
}

var headLine = lazyregexp.New(`^(-?)([0-9a-f]{40})(?: (.*))?$`)

// Read takes a bundle into a store. The error says where it is not what it has to be; then
// nothing that it brought may be used, though the store can hold it. That commits and trees
// are whole is for who uses them to see.
func Read(f io.Reader, s *store.Store, want Want) error {
	sum := sha256.New()
	limited := &io.LimitedReader{R: f, N: MaxBytes + 1}
	in := bufio.NewReaderSize(io.TeeReader(limited, sum), maxHead)
	if err := readHead(in, want); err != nil {
		return err
	}
	start, err := in.Peek(12)
	if err != nil {
		return errors.New("its pack is cut short")
	}
	if n := uint64(start[8])<<24 | uint64(start[9])<<16 | uint64(start[10])<<8 | uint64(start[11]); n > maxObjects {
		return fmt.Errorf("its pack claims %d objects: %d are the most", n, maxObjects)
	}
	pack, err := s.Spool()
	if err != nil {
		return err
	}
	defer store.Discard(pack)
	if _, err := io.Copy(pack, in); err != nil {
		return err
	}
	if limited.N <= 0 {
		return fmt.Errorf("it has more than %d MiB", MaxBytes>>20)
	}
	if hex.EncodeToString(sum.Sum(nil)) != want.Digest {
		return errors.New("it is not the file whose digest the lane gave")
	}
	if _, err := importPack(s, pack); err != nil {
		return err
	}
	return line(s, want)
}

// importPack takes the pack; what go-git's reader makes of a crafted one is an error, whatever it is.
func importPack(s *store.Store, pack *os.File) (n int, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("pack: %v", p)
		}
	}()
	return s.ImportPack(pack, true)
}

// readHead reads what stands before the pack (gitformat-bundle, versions 2 and 3).
func readHead(in *bufio.Reader, want Want) error {
	head := 0
	next := func() (string, error) {
		line, err := in.ReadSlice('\n')
		if head += len(line); err != nil || head > maxHead {
			return "", errors.New("it is no git bundle: its head does not end")
		}
		return strings.TrimSuffix(string(line), "\n"), nil
	}
	signature, err := next()
	if err != nil {
		return err
	}
	if signature != "# v2 git bundle" && signature != "# v3 git bundle" {
		return errors.New("it is no git bundle of version 2 or 3")
	}
	bases, refs := 0, 0
	for {
		text, err := next()
		if err != nil {
			return err
		}
		if text == "" {
			break
		}
		if capability, is := strings.CutPrefix(text, "@"); is {
			if signature != "# v3 git bundle" || capability != "object-format=sha1" {
				return fmt.Errorf("it asks for %q, which is not known here", printable.Line(capability, 60))
			}
			continue
		}
		m := headLine.FindStringSubmatch(text)
		switch {
		case m == nil:
			return fmt.Errorf("its head holds %q", printable.Line(text, 100))
		case m[1] == "-":
			if bases++; m[2] != want.Base {
				return fmt.Errorf("it stands on %.12s, not on %.12s", m[2], want.Base)
			}
		default:
			refs++
			if m[3] != "refs/heads/"+want.Name {
				return fmt.Errorf("it brings the reference %q, not refs/heads/%s", printable.Line(m[3], 100), want.Name)
			}
			if len(want.Commits) == 0 || m[2] != want.Commits[len(want.Commits)-1] {
				return fmt.Errorf("its reference is %.12s, which is not the last story's commit", m[2])
			}
		}
	}
	if bases != 1 || refs != 1 {
		return fmt.Errorf("it has %d prerequisites and %d references: one of each is right", bases, refs)
	}
	return nil
}

// line wants the commits to stand on the base, each on the one before.
func line(s *store.Store, want Want) error {
	below := plumbing.NewHash(want.Base)
	for i, id := range want.Commits {
		h := plumbing.NewHash(id)
		if !s.Has(h) {
			return fmt.Errorf("it does not bring the commit %.12s", id)
		}
		if !s.Sound(h) {
			return fmt.Errorf("the commit %.12s is damaged", id)
		}
		c, err := s.Commit(h)
		if err != nil {
			return fmt.Errorf("the commit %.12s is damaged", id)
		}
		if len(c.ParentHashes) != 1 || c.ParentHashes[0] != below {
			return fmt.Errorf("the commit %.12s does not stand on %.12s alone", id, below.String())
		}
		if err := want.Says(i, c.Message); err != nil {
			return fmt.Errorf("the commit %.12s: %w", id, err)
		}
		below = h
	}
	return nil
}
