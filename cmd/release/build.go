package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// platforms are those the binary is released for.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}

const (
	checksums = "checksums.txt"
	manifest  = "release.json"
)

// Release is what release.json holds: what a checkout of the release trusts.
type Release struct {
	Version  string            `json:"version"`
	Commit   string            `json:"commit"` // that it was built from
	Binaries map[string]string `json:"binaries"`
	Archives map[string]string `json:"archives"`
	Images   map[string]string `json:"images,omitempty"` // by name: REPOSITORY@sha256:…
}

// commit is the one that is checked out, and its time.
func (r *release) commit(ctx context.Context) (id string, at time.Time, err error) {
	text, err := r.git(ctx, "log", "-1", "--format=%H %ct")
	if err != nil {
		return "", at, err
	}
	var seconds int64
	_, err = fmt.Sscan(text, &id, &seconds)
	return id, time.Unix(seconds, 0).UTC(), err
}

func (r *release) git(ctx context.Context, args ...string) (string, error) {
	return output(exec.CommandContext(ctx, "git", append([]string{"-C", r.root}, args...)...))
}

func output(c *exec.Cmd) (string, error) {
	var stderr bytes.Buffer
	c.Stderr = &stderr
	text, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(c.Args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(text)), nil
}

// build writes archives, bills of materials, checksums.txt and release.json. Every
// binary is built twice, from two copies of the commit and with two build caches, and
// has to come out the same.
func (r *release) build(ctx context.Context) error {
	commit, at, err := r.commit(ctx)
	if err != nil {
		return err
	}
	if entries, err := os.ReadDir(r.out); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty: what lies there would be released too", r.out)
	}
	temp, err := os.MkdirTemp("", "release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	manual := filepath.Join(temp, "ralph.1")
	if err := r.manual(ctx, manual); err != nil {
		return err
	}
	rel := Release{Version: r.version, Commit: commit, Binaries: map[string]string{}, Archives: map[string]string{}}
	var copies []string
	for _, name := range []string{"first", "a-second-place"} {
		dir := filepath.Join(temp, name)
		if err := r.checkout(ctx, dir); err != nil {
			return err
		}
		copies = append(copies, dir)
	}
	for _, p := range platforms {
		var sums []string
		for i, dir := range copies {
			cache := "" // the first build may use what is there
			if i > 0 {
				cache = filepath.Join(temp, "cache")
			}
			if err := r.compile(ctx, dir, cache, p, commit, at); err != nil {
				return err
			}
			sum, err := fileSum(filepath.Join(dir, "ralph"))
			if err != nil {
				return err
			}
			sums = append(sums, sum)
		}
		if sums[0] != sums[1] {
			return fmt.Errorf("%s: two builds of %s differ (%s, %s)", p, commit, sums[0], sums[1])
		}
		if err := r.pack(copies[0], manual, p, sums[0], at, &rel); err != nil {
			return err
		}
		r.say("%s  %s (built twice, the same bytes)", sums[0], p)
	}
	return r.seal(rel)
}

// checkout copies the commit that is checked out to dir.
func (r *release) checkout(ctx context.Context, dir string) error {
	if _, err := r.git(ctx, "clone", "-q", "--no-hardlinks", r.root, dir); err != nil {
		return err
	}
	head, err := r.git(ctx, "rev-parse", "HEAD")
	if err == nil {
		_, err = output(exec.CommandContext(ctx, "git", "-C", dir, "checkout", "-q", "--detach", head))
	}
	return err
}

// compile builds the binary of a platform as dir/ralph.
func (r *release) compile(ctx context.Context, dir, cache, platform, commit string, at time.Time) error {
	system, arch, _ := strings.Cut(platform, "/")
	flags := fmt.Sprintf("-s -w -X main.version=%s -X main.commit=%s -X main.built=%s", r.version, commit, at.Format(time.RFC3339))
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", "ralph", "./cmd/ralph")
	c.Dir = dir
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch, "GOFLAGS=", "GOWORK=off")
	if cache != "" {
		c.Env = append(c.Env, "GOCACHE="+cache)
	}
	_, err := output(c)
	return err
}

// manual writes the man page, which the program makes of its own table.
func (r *release) manual(ctx context.Context, path string) error {
	c := exec.CommandContext(ctx, "go", "run", "./cmd/ralph", "man")
	c.Dir = r.root
	text, err := output(c)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text+"\n"), 0o644)
}

// pack writes the archive and the bill of materials of one binary.
func (r *release) pack(dir, manual, platform, sum string, at time.Time, rel *Release) error {
	binary := filepath.Join(dir, "ralph")
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	slug := strings.ReplaceAll(platform, "/", "_")
	base := fmt.Sprintf("ralph_%s_%s", strings.TrimPrefix(r.version, "v"), slug)
	doc := bill{Name: base, Digest: sum, Created: at, Packages: modules(info)}
	text, err := doc.spdx()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.out, base+".spdx.json"), text, 0o644); err != nil {
		return err
	}
	archive := filepath.Join(r.out, base+".tar.gz")
	if err := writeArchive(archive, at, []packed{{"ralph", binary, 0o755}, {"ralph.1", manual, 0o644}, {"LICENSE", filepath.Join(dir, "LICENSE"), 0o644}, {"README.md", filepath.Join(dir, "README.md"), 0o644}, {"CHANGELOG.md", filepath.Join(dir, "CHANGELOG.md"), 0o644}}); err != nil {
		return err
	}
	rel.Binaries[slug] = sum
	rel.Archives[slug], err = fileSum(archive)
	return err
}

// packed is a file of an archive.
type packed struct {
	name, path string
	mode       int64
}

// writeArchive writes a tar.gz whose bytes depend on the files and the time only.
func writeArchive(path string, at time.Time, files []packed) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	zip, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(zip)
	for _, p := range files {
		content, err := os.ReadFile(p.path)
		if err != nil {
			return err
		}
		h := &tar.Header{Name: p.name, Mode: p.mode, Size: int64(len(content)), ModTime: at, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		if _, err := w.Write(content); err != nil {
			return err
		}
	}
	return errors.Join(w.Close(), zip.Close())
}

// seal writes release.json, and checksums.txt over everything.
func (r *release) seal(rel Release) error {
	text, err := json.MarshalIndent(rel, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.out, manifest), append(text, '\n'), 0o644); err != nil {
		return err
	}
	names, err := r.files()
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, name := range names {
		sum, err := fileSum(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%s  %s\n", sum, name)
	}
	return os.WriteFile(filepath.Join(r.out, checksums), []byte(list.String()), 0o644)
}

// sealed reads release.json.
func (r *release) sealed() (rel Release, err error) {
	text, err := os.ReadFile(filepath.Join(r.out, manifest))
	if errors.Is(err, fs.ErrNotExist) {
		return rel, fmt.Errorf("%s has no %s: run release build first", r.out, manifest)
	}
	if err == nil {
		err = json.Unmarshal(text, &rel)
	}
	if err == nil && rel.Version != r.version && r.version != unreleased {
		err = fmt.Errorf("%s holds %s, not %s", r.out, rel.Version, r.version)
	}
	r.version = cmp.Or(rel.Version, r.version)
	return rel, err
}

func fileSum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), err
}
