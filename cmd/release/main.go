// Command release makes what a release consists of: binaries, their archives,
// checksums and bills of materials, images in a registry, and the tree that users
// check out. The release workflow and `make release-dry` run the same commands.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"time"
)

// usage names the commands in the order of a release.
const usage = `usage: release COMMAND [FLAGS]

  version                                what the changelog calls the next release
  notes -version V                       its section of the changelog
  build -version V -out DIR              archives, bills of materials, checksums; everything built twice
  push -to REPOSITORY -name N FILE...    images of docker save as one index with bills of materials; prints its digest
  record -out DIR NAME=IMAGE@DIGEST...   notes the images beside the checksums
  tree -version V -out DIR               a commit like HEAD that names the image and itself; prints it
  tag -version V -out DIR                pushes that commit as the tag V, once
  move -version V                        brings v1 and v1.2 to V, forwards or back
  patch                                  a changelog section for a rebuild with newer packages
  verify -out DIR                        checks files, images and tree against the checksums
  dry -out DIR [FILE...]                 all of it, with a registry in this process
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to undo
	}
}

// release is what one call works on.
type release struct {
	root    string // of the repository
	version string // v1.2.3
	out     string // directory of the release's files
	gzip    string // command that compresses standard input
	stdout  io.Writer
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	if len(args) == 0 {
		return errors.New(strings.TrimSpace(usage))
	}
	r := &release{stdout: stdout}
	var to, name string
	flags := flag.NewFlagSet("release "+args[0], flag.ContinueOnError)
	flags.StringVar(&r.root, "root", ".", "the repository's `DIRECTORY`")
	flags.StringVar(&r.version, "version", "", "the release's `VERSION`, such as v1.2.3; default: the changelog's")
	flags.StringVar(&r.out, "out", "dist/release", "`DIRECTORY` of the release's files")
	flags.StringVar(&r.gzip, "gzip", "libdeflate-gzip -12", "`COMMAND` that compresses the layers of images")
	flags.StringVar(&to, "to", "", "`REPOSITORY` of the images, such as ghcr.io/org/ralph-action")
	flags.StringVar(&name, "name", "", "what the images are: claude, full or slim")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if err := r.complete(); err != nil {
		return err
	}
	switch args[0] {
	case "version":
		_, err := fmt.Fprintln(stdout, r.version)
		return err
	case "notes":
		text, err := r.notes()
		if err == nil {
			_, err = fmt.Fprintln(stdout, text)
		}
		return err
	case "build":
		return r.build(ctx)
	case "push":
		digest, err := r.push(ctx, to, name, flags.Args())
		if err == nil {
			_, err = fmt.Fprintln(stdout, to+"@"+digest)
		}
		return err
	case "record":
		return r.record(flags.Args())
	case "tree":
		commit, err := r.tree(ctx)
		if err == nil {
			_, err = fmt.Fprintln(stdout, commit)
		}
		return err
	case "tag":
		return r.tag(ctx)
	case "move":
		return r.move(ctx)
	case "patch":
		return r.patch(time.Now().UTC())
	case "verify":
		return r.verify(ctx)
	case "dry":
		return r.dry(ctx, flags.Args())
	}
	return fmt.Errorf("unknown command %q\n%s", args[0], usage)
}

// complete settles paths and version.
func (r *release) complete() error {
	for _, p := range []*string{&r.root, &r.out} {
		abs, err := filepath.Abs(*p)
		if err != nil {
			return err
		}
		*p = abs
	}
	if r.version == "" {
		v, err := changelogVersion(r.changelog())
		if err != nil {
			return err
		}
		r.version = v
	}
	if !versionForm.MatchString(r.version) {
		return fmt.Errorf("-version %q: want v1.2.3 or v1.2.3-rc.1", r.version)
	}
	return nil
}

func (r *release) say(format string, args ...any) { fmt.Fprintf(r.stdout, format+"\n", args...) }

// files returns the names of the release's files but checksums.txt, sorted.
func (r *release) files() ([]string, error) {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() && e.Name() != checksums && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	sort.Strings(names)
	return names, nil
}
