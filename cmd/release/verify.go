package main

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

// verify compares everything in the release's directory with checksums.txt and
// release.json, and the images with their digests.
func (r *release) verify(ctx context.Context) error {
	sums, err := readSums(filepath.Join(r.out, checksums))
	if err != nil {
		return err
	}
	names, err := r.files()
	if err != nil {
		return err
	}
	var wrong []error
	for name := range sums {
		if !slices.Contains(names, name) {
			wrong = append(wrong, fmt.Errorf("%s is missing", name))
		}
	}
	for _, name := range names {
		sum, err := fileSum(filepath.Join(r.out, name))
		switch {
		case err != nil:
			wrong = append(wrong, err)
		case sums[name] == "":
			wrong = append(wrong, fmt.Errorf("%s is not in %s", name, checksums))
		case sum != sums[name]:
			wrong = append(wrong, fmt.Errorf("%s: the checksum is %s, not %s", name, sum, sums[name]))
		}
	}
	if len(wrong) > 0 {
		return errors.Join(wrong...)
	}
	rel, err := r.sealed()
	if err != nil {
		return err
	}
	for platform, want := range rel.Binaries {
		archive := filepath.Join(r.out, fmt.Sprintf("ralph_%s_%s.tar.gz", strings.TrimPrefix(rel.Version, "v"), platform))
		got, err := binarySum(archive)
		if err == nil && got != want {
			err = fmt.Errorf("the binary in %s has the checksum %s, not %s", archive, got, want)
		}
		wrong = append(wrong, err)
	}
	for _, ref := range rel.Images {
		wrong = append(wrong, checkImage(ctx, ref))
	}
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	r.say("%s of %s: %d files and %d images are what their checksums say", rel.Version, rel.Commit, len(names), len(rel.Images))
	return nil
}

// readSums reads a file as sha256sum writes it.
func readSums(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sums := map[string]string{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		sum, name, ok := strings.Cut(lines.Text(), "  ")
		if !ok || len(sum) != 64 || name != filepath.Base(name) {
			return nil, fmt.Errorf("%s: %q is no line of sha256sum", path, lines.Text())
		}
		sums[name] = sum
	}
	return sums, lines.Err()
}

// binarySum is the checksum of ralph in an archive.
func binarySum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	for r := tar.NewReader(zip); ; {
		h, err := r.Next()
		if err != nil {
			return "", fmt.Errorf("%s: no ralph in it: %w", path, err)
		}
		if h.Name == "ralph" {
			sum := sha256.New()
			_, err := io.Copy(sum, r) //nolint:gosec // its checksum was compared before
			return hex.EncodeToString(sum.Sum(nil)), err
		}
	}
}

// dry is a release to a registry in this process. images are files of docker save,
// named after what they are: claude.tar, full.tar, slim.tar.
func (r *release) dry(ctx context.Context, images []string) error {
	began := time.Now()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true)), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	to := listener.Addr().String() + "/org/ralph-action"
	if err := r.build(ctx); err != nil {
		return err
	}
	var refs []string
	for _, file := range images {
		kind := strings.TrimSuffix(filepath.Base(file), ".tar")
		digest, err := r.push(ctx, to, kind, []string{file})
		if err != nil {
			return err
		}
		r.say("%s  image %s", digest, kind)
		refs = append(refs, kind+"="+to+"@"+digest)
	}
	if err := r.record(refs); err != nil {
		return err
	}
	if err := r.verify(ctx); err != nil {
		return err
	}
	if len(refs) > 0 {
		commit, err := r.tree(ctx)
		if err != nil {
			return err
		}
		r.say("%s  tree: action.yml names the image, stories.yml the action, %s is added, nothing else differs", commit, manifest)
	}
	notes, err := r.notes()
	if err != nil {
		return err
	}
	r.say("%d lines of notes; %s", strings.Count(notes, "\n")+1, time.Since(began).Round(time.Second))
	return nil
}
