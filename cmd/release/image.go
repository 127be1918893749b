package main

import (
	"archive/tar"
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// spdxType is the media type of a bill of materials.
const spdxType types.MediaType = "application/spdx+json"

// backoff is how often a registry is asked that answers 500 or not at all. Tests do not
// wait that long.
var backoff = remote.Backoff{Duration: time.Second, Factor: 3, Jitter: 0.1, Steps: 3}

func options(ctx context.Context) []remote.Option {
	return []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithRetryBackoff(backoff)}
}

// push writes images, one of each platform, to a repository of a registry, a bill of
// materials as a referrer of each, and an index of them all. No tag is written: what
// the returned digest names is tested first.
func (r *release) push(ctx context.Context, to, kind string, files []string) (digest string, err error) {
	repository, err := name.NewRepository(to)
	if err != nil {
		return "", fmt.Errorf("-to %q: %w", to, err)
	}
	if kind == "" || len(files) == 0 {
		return "", errors.New("push wants -name and at least one file of docker save")
	}
	var list []mutate.IndexAddendum
	for _, file := range files {
		image, err := r.compressed(ctx, file)
		if err != nil {
			return "", fmt.Errorf("%s: %w", file, err)
		}
		described, err := partial.Descriptor(image)
		if err != nil {
			return "", err
		}
		config, err := image.ConfigFile()
		if err != nil {
			return "", err
		}
		described.Platform = config.Platform()
		if slices.ContainsFunc(list, func(a mutate.IndexAddendum) bool { return a.Platform.Equals(*described.Platform) }) {
			return "", fmt.Errorf("%s: two images for %s", file, described.Platform)
		}
		if err := remote.Write(repository.Digest(described.Digest.String()), image, options(ctx)...); err != nil {
			return "", err
		}
		if err := attach(ctx, repository, image, *described, kind+" "+r.version+" "+described.Platform.String()); err != nil {
			return "", err
		}
		list = append(list, mutate.IndexAddendum{Add: image, Descriptor: *described})
	}
	index := mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), list...)
	hash, err := index.Digest()
	if err != nil {
		return "", err
	}
	return hash.String(), remote.WriteIndex(repository.Digest(hash.String()), index, options(ctx)...)
}

// compressed is an image of docker save with its layers as small as gzip's format
// allows: libdeflate makes them 5 % smaller than Go's best, and every user loads them.
// A layer that images share is compressed once, and kept beside the release's files.
func (r *release) compressed(ctx context.Context, file string) (v1.Image, error) {
	image, err := tarball.ImageFromPath(file, nil)
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	layers, err := image.Layers()
	if err != nil {
		return nil, err
	}
	kept := filepath.Join(filepath.Dir(r.out), "layers")
	if err := os.MkdirAll(kept, 0o755); err != nil {
		return nil, err
	}
	for i, layer := range layers {
		id, err := layer.DiffID()
		if err != nil {
			return nil, err
		}
		path := filepath.Join(kept, id.Hex+".tar.gz")
		if _, err := os.Stat(path); err != nil {
			if err := r.deflate(ctx, layer, path); err != nil {
				return nil, err
			}
		}
		if layers[i], err = tarball.LayerFromFile(path); err != nil {
			return nil, err
		}
		switch got, err := layers[i].DiffID(); {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", path, err)
		case got != id:
			return nil, fmt.Errorf("%s holds %s: remove it", path, got)
		}
	}
	if image, err = mutate.AppendLayers(empty.Image, layers...); err != nil {
		return nil, err
	}
	return mutate.ConfigFile(image, config)
}

// deflate writes a layer compressed to a path, which holds all of it or is not there.
func (r *release) deflate(ctx context.Context, layer v1.Layer, path string) error {
	content, err := layer.Uncompressed()
	if err != nil {
		return err
	}
	defer content.Close()
	out, err := os.CreateTemp(filepath.Dir(path), ".layer-")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name())
	var stderr bytes.Buffer
	argv := strings.Fields(r.gzip)
	c := exec.CommandContext(ctx, argv[0], argv[1:]...) //nolint:gosec // the flag's
	c.Stdin, c.Stdout, c.Stderr = content, out, &stderr
	err = c.Run()
	if errors.Is(err, exec.ErrNotFound) {
		err = fmt.Errorf("%w: install libdeflate-tools (macOS: brew install libdeflate), or give -gzip 'gzip -9'", err)
	} else if err != nil {
		err = fmt.Errorf("%s: %w: %s", r.gzip, err, stderr.String())
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	return os.Rename(out.Name(), path)
}

// attach writes an image's bill of materials beside it.
func attach(ctx context.Context, repository name.Repository, image v1.Image, subject v1.Descriptor, title string) error {
	packages, err := contents(image)
	if err != nil {
		return fmt.Errorf("what %s holds: %w", title, err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return err
	}
	text, err := bill{Name: title, Digest: subject.Digest.Hex, Created: config.Created.Time, Packages: packages}.spdx()
	if err != nil {
		return err
	}
	referrer, err := mutate.AppendLayers(mutate.MediaType(empty.Image, types.OCIManifestSchema1), static.NewLayer(text, spdxType))
	if err != nil {
		return err
	}
	subject.Platform = nil
	linked, ok := mutate.Subject(mutate.ConfigMediaType(referrer, spdxType), subject).(v1.Image)
	if !ok {
		return errors.New("a bill of materials that is no image")
	}
	hash, err := linked.Digest()
	if err != nil {
		return err
	}
	return remote.Write(repository.Digest(hash.String()), linked, options(ctx)...)
}

// nodePackage is a package that npm installed.
var nodePackage = regexp.MustCompile(`^usr/local/lib/node_modules/(?:.*/node_modules/)?((?:@[^/]+/)?[^/@]+)/package\.json$`)

// contents lists Debian's packages, npm's, and the modules of ralph in an image.
func contents(image v1.Image) ([]component, error) {
	files := mutate.Extract(image)
	defer files.Close()
	var list []component
	r := tar.NewReader(files)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		at := strings.TrimPrefix(path.Clean("/"+h.Name), "/")
		if h.Typeflag != tar.TypeReg {
			continue
		}
		switch {
		case at == "var/lib/dpkg/status":
			text, err := io.ReadAll(r)
			if err != nil {
				return nil, err
			}
			list = append(list, debian(string(text))...)
		case at == "usr/local/bin/ralph":
			binary, err := io.ReadAll(r)
			if err != nil {
				return nil, err
			}
			info, err := buildinfo.Read(bytes.NewReader(binary))
			if err != nil {
				return nil, err
			}
			list = append(list, modules(info)...)
		case nodePackage.MatchString(at):
			var p struct{ Name, Version string }
			if json.NewDecoder(io.LimitReader(r, 1<<20)).Decode(&p) == nil && p.Name != "" && p.Version != "" {
				list = append(list, component{Type: "npm", Name: p.Name, Version: p.Version})
			}
		}
	}
}

// debian reads dpkg's list of packages.
func debian(status string) []component {
	var list []component
	for entry := range strings.SplitSeq(status, "\n\n") {
		field := map[string]string{}
		for line := range strings.SplitSeq(entry, "\n") {
			if key, value, ok := strings.Cut(line, ": "); ok {
				field[key] = value
			}
		}
		if strings.HasSuffix(field["Status"], " installed") {
			list = append(list, component{Type: "deb", Name: "debian/" + field["Package"], Version: field["Version"], Qualifier: "arch=" + field["Architecture"]})
		}
	}
	return list
}

// checkImage downloads an image of the release and everything below it, and compares
// each part with its digest.
func checkImage(ctx context.Context, ref string) error {
	digest, err := name.NewDigest(ref)
	if err != nil {
		return err
	}
	index, err := remote.Index(digest, options(ctx)...)
	if err != nil {
		return err
	}
	if err := validate.Index(index); err != nil {
		return fmt.Errorf("%s: %w", ref, err)
	}
	list, err := index.IndexManifest()
	if err != nil {
		return err
	}
	for _, m := range list.Manifests {
		bills, err := remote.Referrers(digest.Context().Digest(m.Digest.String()), options(ctx)...)
		if err != nil {
			return err
		}
		found, err := bills.IndexManifest()
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(found.Manifests, func(d v1.Descriptor) bool { return d.ArtifactType == string(spdxType) }) {
			return fmt.Errorf("%s: %s has no bill of materials", ref, m.Platform)
		}
		for _, d := range found.Manifests {
			doc, err := remote.Image(digest.Context().Digest(d.Digest.String()), options(ctx)...)
			if err == nil {
				err = validate.Image(doc)
			}
			if err != nil {
				return fmt.Errorf("%s: bill of materials %s: %w", ref, d.Digest, err)
			}
		}
	}
	return nil
}
