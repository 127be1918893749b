// Package install puts an agent's CLI from npm into a directory of its own:
// npm and the package's scripts run where the caller's sandbox lets them
// write in one directory only, never in the workspace. What they leave is checked,
// taken out of the agent's hands, stamped, and moved to its place in one step.
package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// Package is a CLI at the npm registry.
type Package struct {
	Name    string // as npm knows it, @scope/name included
	Program string // what it puts on PATH
	Version string // exact, or a tag of the registry such as latest
}

// Process runs a child; *proc.Supervisor does.
type Process interface {
	Run(ctx context.Context, c proc.Command) (proc.Exit, error)
}

// Owner is the user and group children run as; the zero value is our own.
type Owner struct{ UID, GID int }

// Options is how and where to install.
type Options struct {
	// Start makes what runs npm, node and the new program: as Owner, in a sandbox
	// in which nothing but dir can be written. End is called before anything in dir
	// is trusted, and must leave no process behind.
	Start func(ctx context.Context, dir string) (p Process, end func() error, err error)
	// Root holds all installations: an absolute path outside of the workspace,
	// which Owner can walk to. It is made when it is missing.
	Root  string
	Owner Owner
	// Workspace is where an agent can write: an npm or a node from there is refused,
	// and children see no PATH that leads there. Empty: there is none.
	Workspace string
	// Env is what children see, without secrets: PATH, proxies, trust stores, and
	// what Variables names. HOME, TMPDIR and npm's cache are replaced.
	Env  []string
	Say  func(string)                    // one line for people; nil: nothing is said
	Log  io.Writer                       // all that npm prints; foreign text, unmasked; nil: dropped
	Fold func(title string) (end func()) // opens what folds away what Log shows; nil: nothing does

	Time  time.Duration // of it all; 0: 10 minutes
	Pause time.Duration // before the second of three attempts, fourfold before the third; 0: 2 s
}

// Installed is a whole installation.
type Installed struct {
	Dir       string // of this package in this version alone
	Bin       string // the directory for PATH; nothing but Program is in it
	Program   string // the path of the program
	Version   string
	Integrity string // npm's checksum of the package, sha512-...
	Files     int    // below Dir, links included
	Bytes     int64  // of the files
	Fresh     bool   // it was installed just now

	tree string // see digest
}

const (
	timeLimit   = 10 * time.Minute
	versionTime = time.Minute // for PROGRAM --version: a cold binary of 400 MB on a slow disk
)

// The names npm allows for new packages, and the versions and tags that may
// become a part of a path.
var (
	nameForm    = lazyregexp.New(`^(@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~-][a-z0-9._~-]*$`)
	exactForm   = lazyregexp.New(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
	tagForm     = lazyregexp.New(`^[A-Za-z][A-Za-z0-9._-]*$`)
	programForm = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)
)

func (p Package) String() string { return p.Name + "@" + p.Version }

func (p Package) check() error {
	switch {
	case len(p.Name) > 214 || !nameForm.MatchString(p.Name):
		return fmt.Errorf("%q is no name of an npm package", p.Name)
	case len(p.Program) > 64 || !programForm.MatchString(p.Program):
		return fmt.Errorf("%q is no name of a program", p.Program)
	case len(p.Version) > 64 || !exactForm.MatchString(p.Version) && !tagForm.MatchString(p.Version):
		return fmt.Errorf("%q is no version of %s: give an exact one like 1.2.3, or latest", p.Version, p.Name)
	}
	return nil
}

// Install returns the installation of p, which it makes when there is no whole
// one. A tag is looked up at the registry each time; when that cannot be asked,
// the newest installed version is used, and that is said. Of several processes that
// want the same, one installs it and the others wait.
//
// The installation becomes root's, or ours without root, and unwritable for everybody
// else: an agent must not be able to change what the next run starts. One that
// somebody else could have changed, as a cache restores it, or whose files are not
// what they were, is made anew; npm compares the tarballs that were kept in it with
// their checksums, and fetches only what is missing.
//
// An error that npm reported is a *Failure.
func Install(ctx context.Context, o Options, p Package) (Installed, error) {
	if err := p.check(); err != nil {
		return Installed{}, err
	}
	if !filepath.IsAbs(o.Root) {
		return Installed{}, fmt.Errorf("the folder for installed agents, %q, has to be an absolute path", o.Root)
	}
	if o.Time == 0 {
		o.Time = timeLimit
	}
	tooLong := fmt.Errorf("install %s: not done within %v", p, o.Time)
	ctx, cancel := context.WithTimeoutCause(ctx, o.Time, tooLong)
	defer cancel()
	in, err := o.install(ctx, p)
	if err != nil && ctx.Err() != nil && !errors.Is(err, errHeld) {
		return Installed{}, context.Cause(ctx)
	}
	return in, err
}

func (o Options) install(ctx context.Context, p Package) (Installed, error) {
	for {
		in, err := o.attempt(ctx, p)
		if !errors.Is(err, errBusy) {
			return in, err
		}
		if err := o.await(ctx, p); err != nil {
			return Installed{}, err
		}
	}
}

func (o Options) attempt(ctx context.Context, p Package) (Installed, error) {
	exact := exactForm.MatchString(p.Version)
	if exact {
		if in, ok, err := o.found(p); err != nil || ok {
			return in, err
		}
	}
	s, meta, err := o.ask(ctx, p)
	if err != nil {
		if exact || ctx.Err() != nil || errors.Is(err, errBusy) {
			return Installed{}, err
		}
		newest, ok, findErr := o.found(p)
		if !ok || findErr != nil {
			return Installed{}, err
		}
		o.say(fmt.Sprintf("Which version of %s is %s could not be found out; the newest that is installed, %s, is used: %s", p.Name, p.Version, newest.Version, firstLine(err)))
		return newest, nil
	}
	defer s.remove()
	if !exact {
		o.say(fmt.Sprintf("%s of %s is %s.", p.Version, p.Name, meta.Version))
		s.pkg.Version = meta.Version
		if in, ok, err := o.found(s.pkg); err != nil || ok {
			return in, err
		}
	}
	return s.install(ctx, meta)
}

// ask makes a stage and asks the registry from there.
func (o Options) ask(ctx context.Context, p Package) (*stage, metadata, error) {
	if err := o.openRoot(ctx); err != nil {
		return nil, metadata{}, err
	}
	s, err := o.newStage(ctx, p)
	if err != nil {
		return nil, metadata{}, err
	}
	meta, err := s.prepare(ctx)
	if err != nil {
		s.remove()
		return nil, metadata{}, err
	}
	return s, meta, nil
}

// install fills the stage and moves it to its place.
func (s *stage) install(ctx context.Context, meta metadata) (Installed, error) {
	if err := s.checkEngines(ctx, meta); err != nil {
		return Installed{}, err
	}
	if err := s.npmInstall(ctx); err != nil {
		return Installed{}, err
	}
	if err := s.checkTree(); err != nil {
		return Installed{}, err
	}
	integrity, err := lockedIntegrity(s.root, s.pkg)
	if err == nil && meta.Integrity != "" && meta.Integrity != integrity {
		err = fmt.Errorf("%s: the registry names the checksum %s, and what was installed has %s", s.pkg, meta.Integrity, integrity)
	}
	if err == nil {
		err = linkProgram(s.root, s.pkg)
	}
	if err == nil {
		err = s.checkProgram(ctx)
	}
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return Installed{}, err
	}
	// From here on nobody but us is in the directory.
	if err := s.takeOver(); err != nil {
		return Installed{}, err
	}
	if err := writeStamp(s.root, s.tree, s.pkg, integrity); err != nil {
		return Installed{}, fmt.Errorf("stamp %s: %w", s.pkg, err)
	}
	return s.place(ctx)
}

// checkProgram starts the program. npm may be configured not to run install
// scripts, and then a CLI may have no binary: the package's own is run by hand.
func (s *stage) checkProgram(ctx context.Context) error {
	first := s.askVersion(ctx)
	if first == nil || ctx.Err() != nil {
		return first
	}
	script, ok := installScript(s.root, s.pkg)
	if !ok {
		return first
	}
	s.o.say(fmt.Sprintf("%s does not start yet; its install script (%s) is run by hand.", s.pkg.Program, script))
	a, err := s.run(ctx, packageDir(s.tree, s.pkg), s.o.Time, "node", script)
	if err != nil {
		return err
	}
	if err := s.askVersion(ctx); err != nil {
		return errors.Join(err, a.failed(s.pkg, "its install script "+script))
	}
	return nil
}

func (s *stage) askVersion(ctx context.Context) error {
	a, err := s.run(ctx, s.tree, versionTime, filepath.Join(s.tree, binFolder, s.pkg.Program), "--version")
	if err != nil {
		return fmt.Errorf("%s was installed, and its %s cannot be started: %w", s.pkg, s.pkg.Program, err)
	}
	return a.failed(s.pkg, s.pkg.Program+" --version")
}

func (o Options) say(text string) {
	if o.Say != nil {
		o.Say(text)
	}
}

func (o Options) fold(title string) func() {
	if o.Fold == nil {
		return func() {}
	}
	return o.Fold(title)
}

func (o Options) isOther() bool { return o.Owner != Owner{} && os.Geteuid() == 0 }

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

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
