//go:build e2e

package e2e

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
)

// insideDir holds the projects that are worked on in the sandbox, and the image
// with their tools.
const insideDir = "testdata/inside"

// buildTools makes the image with tools, once for all tests of the process.
var buildTools = sync.OnceValues(func() (string, error) {
	tested := full()
	product, err := os.ReadFile("../Dockerfile")
	if err != nil {
		return "", err
	}
	// Of the image under test the tools need all but ralph itself, which is put on
	// top: so they are installed anew only when a Dockerfile changes.
	sum := sha256.New()
	_, _ = sum.Write(product)
	if err := filepath.WalkDir(insideDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || path != filepath.Join(insideDir, "Dockerfile") && filepath.Ext(path) != ".go" {
			return err
		}
		data, err := os.ReadFile(path)
		_, _ = fmt.Fprintln(sum, path, len(data))
		_, _ = sum.Write(data)
		return err
	}); err != nil {
		return "", err
	}
	goImage := regexp.MustCompile(`(?m)^ARG GO_IMAGE=(\S+)$`).FindSubmatch(product)
	if goImage == nil {
		return "", errors.New("../Dockerfile has no ARG GO_IMAGE")
	}
	base := fmt.Sprintf("%s-base-%x", "ralph-action:e2e-tools", sum.Sum(nil)[:6])
	if exec.Command("docker", "image", "inspect", base).Run() != nil {
		if out, err := exec.Command("docker", "build", "-q", "-t", base, "--build-arg", "IMAGE="+tested, "--build-arg", "GO_IMAGE="+string(goImage[1]), insideDir).CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w\n%s", base, err, out)
		}
	}
	dir, err := os.MkdirTemp("", "ralph-e2e-tools-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	name := tested + "-tools"
	file := fmt.Sprintf("FROM %s AS tested\nFROM %s\nCOPY --from=tested /usr/local/bin/ralph /usr/local/bin/ralph\nCOPY --from=tested /entrypoint.sh /entrypoint.sh\n", tested, base)
	if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte(file), 0o644); err != nil {
		return "", err
	}
	out, err := exec.Command("docker", "build", "-q", "-t", name, dir).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return name, nil
})

// toolsImage is the image under test with compilers, interpreters and tools on
// top, as people build their own.
func toolsImage(t *testing.T) string {
	t.Helper()
	image(t)
	name, err := buildTools()
	if err != nil {
		t.Fatal(err)
	}
	return name
}
