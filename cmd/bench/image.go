package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os/exec" //nolint:depguard // asks docker
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// image measures what a job pays for the container: built as `uses: ./` is, pulled by
// digest from a registry on loopback as a release is, and until a wrong input is refused.
func (b *bench) image(ctx context.Context) ([]row, error) {
	const tag, rounds = "ralph-action:bench", 2
	docker := func(args ...string) (string, error) {
		text, err := exec.CommandContext(ctx, "docker", args...).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("docker %s: %w\n%s", args[0], err, text[max(0, len(text)-2000):])
		}
		return string(text), err
	}
	dir, err := b.repository(ctx, "image")
	if err != nil {
		return nil, err
	}
	until := func(ref string, get ...string) (float64, error) {
		began := time.Now()
		if _, err := docker(get...); err != nil {
			return 0, err
		}
		at, err := firstLine(ctx, dir, ref)
		return at.Sub(began).Seconds(), err
	}
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true)))
	defer server.Close()
	defer func() { _, _ = docker("rmi", tag) }()
	file := filepath.Join(b.dir, "image.tar")
	var built, pulled []float64
	weight := 0.0
	for range rounds {
		took, err := until(tag, "build", "-q", "--no-cache", "-t", tag, ".")
		if err != nil {
			return nil, err
		}
		built = append(built, took)
		if _, err := docker("save", "-o", file, tag); err != nil {
			return nil, err
		}
		ref, size, err := push(ctx, strings.TrimPrefix(server.URL, "http://")+"/ralph", file)
		if err != nil {
			return nil, err
		}
		took, err = until(ref, "pull", "-q", ref)
		_, _ = docker("rmi", ref)
		if err != nil {
			return nil, err
		}
		pulled, weight = append(pulled, took), float64(size)
	}
	refusal, err := row{What: "container start to exit, a wrong input", Comparison: "the same container, /bin/true", Target: target{AtMost: 100, Unit: "ms"}, Note: "Ours is the difference."}.compare(15,
		func() (float64, error) {
			began := time.Now()
			text, err := docker("run", "--rm", "-e", "GITHUB_ACTIONS=true", "-e", "INPUT_PROMPT=x", "-e", "INPUT_MAX-ITERATIONS=many", tag)
			took := ms(time.Since(began))
			if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 2 {
				return 0, fmt.Errorf("a wrong input is not refused: %w\n%s", err, text)
			}
			return took, nil
		},
		func() (float64, error) {
			began := time.Now()
			_, err := docker("run", "--rm", "--entrypoint", "/bin/true", tag)
			return ms(time.Since(began)), err
		})
	if err != nil {
		return nil, err
	}
	refusal.Ratio = refusal.Ours.Median / refusal.Theirs.Median
	for i, without := range refusal.Theirs.Samples {
		refusal.Ours.Samples[i] -= without
	}
	refusal.Ours = measured("ms", refusal.Ours.Samples)

	theirs := measured("s", built)
	start := row{
		What: "`uses:` to the agent's first line, pulled by digest", Ours: measured("s", pulled), Comparison: "built from the Dockerfile, base images there", Theirs: &theirs,
		Note: "From a registry on loopback, every layer new to docker: download costs nothing, extraction all.",
	}
	size := row{What: "default image, compressed", Ours: value{Median: weight / 1e6, Unit: "MB"}, Target: target{AtMost: 260, Unit: "MB"}, Note: "Layers as a release compresses them."}
	return []row{refusal, start, size}, nil
}

// push writes an image of docker save to a registry as a release does, on top of a
// layer that no engine has seen: it can take none of the others from what it has.
func push(ctx context.Context, to, file string) (ref string, size int64, err error) {
	image, err := tarball.ImageFromPath(file, nil)
	if err != nil {
		return "", 0, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return "", 0, err
	}
	layers, err := image.Layers()
	if err != nil {
		return "", 0, err
	}
	var content bytes.Buffer
	w := tar.NewWriter(&content)
	if err := errors.Join(w.WriteHeader(&tar.Header{Name: "bench-" + rand.Text(), Mode: 0o644}), w.Close()); err != nil {
		return "", 0, err
	}
	own, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes())), nil })
	if err != nil {
		return "", 0, err
	}
	if image, err = mutate.AppendLayers(empty.Image, append([]v1.Layer{own}, layers...)...); err != nil {
		return "", 0, err
	}
	made, err := image.ConfigFile()
	if err != nil {
		return "", 0, err
	}
	config = config.DeepCopy()
	config.RootFS, config.History = made.RootFS, made.History
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return "", 0, err
	}
	saved, tag := file+".new", name.MustParseReference("bench:new")
	if err := tarball.WriteToFile(saved, tag, image); err != nil {
		return "", 0, err
	}
	cmd := exec.CommandContext(ctx, "go", "run", "./cmd/release", "push", "-version", "v0.0.0", "-out", filepath.Join(filepath.Dir(file), "release"), "-to", to, "-name", "claude", saved)
	text, err := cmd.CombinedOutput()
	if err != nil {
		return "", 0, fmt.Errorf("release push: %w\n%s", err, text)
	}
	ref = strings.TrimSpace(string(text))
	digest, err := name.NewDigest(ref)
	if err != nil {
		return "", 0, err
	}
	pulled, err := remote.Image(digest, remote.WithContext(ctx))
	if err != nil {
		return "", 0, err
	}
	manifest, err := pulled.Manifest()
	if err != nil {
		return "", 0, err
	}
	for _, l := range manifest.Layers {
		size += l.Size
	}
	return ref, size, nil
}

// firstLine runs the image as the runner does, and is when its agent said a word.
func firstLine(ctx context.Context, dir, image string) (at time.Time, err error) {
	const first = "here is the agent"
	cmd := exec.CommandContext(ctx, "docker", "run", "--rm", "-v", dir+":/github/workspace", "-w", "/github/workspace", "-e", "GITHUB_WORKSPACE=/github/workspace", "-e", "GITHUB_ACTIONS=true",
		"-e", "INPUT_PROMPT=x", "-e", "INPUT_AGENT=text", "-e", "INPUT_AGENT-COMMAND=echo "+first, "-e", "INPUT_MAX-ITERATIONS=1", "-e", "INPUT_ON-INCOMPLETE=succeed", image)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return at, err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return at, err
	}
	var all strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		all.WriteString(lines.Text() + "\n")
		if at.IsZero() && strings.Contains(lines.Text(), first) {
			at = time.Now()
		}
	}
	if err = cmd.Wait(); err == nil && at.IsZero() {
		err = errors.New("the agent said nothing")
	}
	if err != nil {
		err = fmt.Errorf("docker run: %w\n%s", err, all.String())
	}
	return at, err
}
