package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

func TestChangelog(t *testing.T) {
	t.Parallel()
	const text = "## [1.3.0] - 2026-02-01\n\n### Added\n\n- Much.\n\n## [1.2.0] - 2026-01-01\n\n- Little.\n"
	for _, tt := range []struct{ text, version, want, wrong string }{
		{text: text, version: "v1.3.0", want: "### Added\n\n- Much."},
		{text: text, version: "v1.2.0", want: "- Little."},
		{text: text, version: "v1.4.0", wrong: "no section [1.4.0]"},
		{text: "## [Unreleased]\n\n- New.\n\n" + text, version: unreleased, want: "- New."},
		{text: "## [2.0.0] - 2026-02-01\n\n" + text, version: "v2.0.0", wrong: "says nothing under [2.0.0]"},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "CHANGELOG.md"), tt.text)
		got, err := (&release{root: dir, version: tt.version}).notes()
		if got != tt.want || !says(err, tt.wrong) {
			t.Errorf("notes of %s = %q, %v; want %q, %q", tt.version, got, err, tt.want, tt.wrong)
		}
	}
	for _, tt := range []struct{ text, want, wrong string }{
		{text: text, want: "v1.3.0"},
		{text: "## [Unreleased]\n" + text, want: unreleased},
		{text: "# Changelog\n", wrong: "has no section"},
	} {
		if got, err := changelogVersion(tt.text); got != tt.want || !says(err, tt.wrong) {
			t.Errorf("changelogVersion() = %q, %v; want %q, %q", got, err, tt.want, tt.wrong)
		}
	}
}

// The project's own changelog has a section for what is released next.
func TestOwnChangelog(t *testing.T) {
	t.Parallel()
	r := &release{root: "../..", out: t.TempDir()}
	if err := r.complete(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.notes(); err != nil {
		t.Error(err)
	}
}

func TestBadArguments(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, "usage:"},
		{[]string{"publish"}, `unknown command "publish"`},
		{[]string{"notes", "-version", "1.2.3"}, "want v1.2.3"},
		{[]string{"notes", "-version", "v01.2.3"}, "want v1.2.3"},
		{[]string{"verify", "-out", t.TempDir()}, "no such file"},
		{[]string{"tree", "-out", t.TempDir()}, "run release build first"},
		{[]string{"push", "-to", "127.0.0.1:1/x"}, "-name and at least one file"},
		{[]string{"push", "-to", "UPPER/x", "-name", "full", "x.tar"}, `-to "UPPER/x"`},
		{[]string{"push", "-to", "127.0.0.1:1/x", "-name", "full", "missing.tar"}, "missing.tar"},
	} {
		args := tt.args
		if len(args) > 0 {
			args = slices.Insert(slices.Clone(args), 1, "-root", "../..")
		}
		err := run(t.Context(), args, io.Discard)
		if !says(err, tt.want) {
			t.Errorf("release %q = %v, want %q", tt.args, err, tt.want)
		}
	}
}

// An archive depends on what is in it and on the time of the commit alone.
func TestArchiveIsReproducible(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_700_000_000, 0)
	var sums []string
	for range 2 {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "ralph"), "binary")
		archive := filepath.Join(dir, "x.tar.gz")
		if err := writeArchive(archive, at, []packed{{"ralph", filepath.Join(dir, "ralph"), 0o755}}); err != nil {
			t.Fatal(err)
		}
		sum, err := fileSum(archive)
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, sum)
		inside, err := binarySum(archive)
		want, _ := fileSum(filepath.Join(dir, "ralph"))
		if err != nil || inside != want {
			t.Errorf("binarySum() = %s, %v; want %s", inside, err, want)
		}
	}
	if sums[0] != sums[1] {
		t.Errorf("two archives of the same file differ: %s", sums)
	}
}

func TestBill(t *testing.T) {
	t.Parallel()
	list := append(debian("Package: git\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1:2.39.5-0+deb12u2\n\nPackage: gone\nStatus: deinstall ok config-files\nVersion: 1\n"),
		component{Type: "npm", Name: "@openai/codex", Version: "0.1.0"}, component{Type: "golang", Name: "golang.org/x/sys", Version: "v0.1.0"})
	text, err := bill{Name: "x", Digest: "00", Created: time.Unix(0, 0).UTC(), Packages: list}.spdx()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Packages []struct {
			SPDXID       string
			ExternalRefs []struct{ ReferenceLocator string }
		}
		Relationships []struct{ RelatedSpdxElement string }
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, p := range doc.Packages {
		if doc.Relationships[i].RelatedSpdxElement != p.SPDXID {
			t.Errorf("relationship %d is about %s, not %s", i, doc.Relationships[i].RelatedSpdxElement, p.SPDXID)
		}
		for _, r := range p.ExternalRefs {
			got = append(got, r.ReferenceLocator)
		}
	}
	want := "pkg:deb/debian/git@1:2.39.5-0+deb12u2?arch=amd64 pkg:golang/golang.org/x/sys@v0.1.0 pkg:npm/%40openai/codex@0.1.0"
	if strings.Join(got, " ") != want {
		t.Errorf("packages %s, want %s", got, want)
	}
}

// made is a release of a repository like ours, with an image in a registry whose
// blobs lie in a directory.
type made struct {
	*release
	blobs string
}

func makeRelease(t *testing.T) made {
	t.Helper()
	root, out, blobs := t.TempDir(), filepath.Join(t.TempDir(), "out"), t.TempDir()
	action, err := os.ReadFile("../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	workflow, err := os.ReadFile("../../" + stories)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "action.yml"), string(action))
	write(t, filepath.Join(root, stories), string(workflow))
	write(t, filepath.Join(root, "CHANGELOG.md"), "## [1.2.3] - 2026-01-01\n\n- All.\n")
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-q", "-m", "all"}} {
		if text, err := exec.Command("git", append([]string{"-C", root}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v: %s", args, err, text)
		}
	}
	r := &release{root: root, out: out, gzip: "gzip -9", stdout: io.Discard}
	if err := r.complete(); err != nil {
		t.Fatal(err)
	}
	commit, at, err := r.commit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "ralph"), "binary")
	if err := os.Mkdir(out, 0o755); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(out, "ralph_1.2.3_linux_amd64.tar.gz")
	if err := writeArchive(archive, at, []packed{{"ralph", filepath.Join(root, "ralph"), 0o755}}); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(out, "ralph_1.2.3_linux_amd64.spdx.json"), "{}")
	binary, _ := fileSum(filepath.Join(root, "ralph"))
	packed, _ := fileSum(archive)
	if err := r.seal(Release{Version: "v1.2.3", Commit: commit, Binaries: map[string]string{"linux_amd64": binary}, Archives: map[string]string{"linux_amd64": packed}}); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true), registry.WithBlobHandler(registry.NewDiskBlobHandler(blobs))))
	t.Cleanup(server.Close)
	to := strings.TrimPrefix(server.URL, "http://") + "/org/ralph-action"
	digest, err := r.push(t.Context(), to, "claude", []string{saved(t, "amd64"), saved(t, "arm64")})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.record([]string{"claude=" + to + "@" + digest}); err != nil {
		t.Fatal(err)
	}
	return made{r, blobs}
}

// saved is a small image as docker save writes it.
func saved(t *testing.T, arch string) string {
	t.Helper()
	var files bytes.Buffer
	w := tar.NewWriter(&files)
	for path, text := range map[string]string{
		"var/lib/dpkg/status": "Package: git\nStatus: install ok installed\nArchitecture: " + arch + "\nVersion: 2\n",
		"usr/local/lib/node_modules/@openai/codex/package.json": `{"name": "@openai/codex", "version": "1.0.0"}`,
	} {
		if err := w.WriteHeader(&tar.Header{Name: path, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files.Bytes())), nil })
	if err != nil {
		t.Fatal(err)
	}
	image, err := mutate.AppendLayers(mutate.MediaType(empty.Image, types.DockerManifestSchema2), layer)
	if err != nil {
		t.Fatal(err)
	}
	if image, err = mutate.ConfigFile(image, &v1.ConfigFile{OS: "linux", Architecture: arch, RootFS: v1.RootFS{Type: "layers", DiffIDs: []v1.Hash{diffID(t, layer)}}}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), arch+".tar")
	tag, err := name.NewTag("x/" + arch + ":y")
	if err != nil {
		t.Fatal(err)
	}
	if err := tarball.WriteToFile(path, tag, image); err != nil {
		t.Fatal(err)
	}
	return path
}

// A layer is compressed once, by the program that was named, and what was kept is
// looked at again.
func TestCompressed(t *testing.T) {
	t.Parallel()
	file := saved(t, "amd64")
	r := &release{out: filepath.Join(t.TempDir(), "out"), gzip: "no-such-program -9"}
	if _, err := r.compressed(t.Context(), file); !says(err, "install libdeflate-tools") {
		t.Errorf("compressed() without the program = %v", err)
	}
	r.gzip = "gzip -x"
	if _, err := r.compressed(t.Context(), file); !says(err, "gzip -x: exit status") {
		t.Errorf("compressed() with a wrong flag = %v", err)
	}
	r.gzip = "gzip -9"
	if _, err := r.compressed(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	r.gzip = "no-such-program"
	if _, err := r.compressed(t.Context(), file); err != nil {
		t.Errorf("compressed() of a layer that was kept = %v", err)
	}
	kept, err := filepath.Glob(filepath.Join(filepath.Dir(r.out), "layers", "*"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept are %q, %v; want one layer", kept, err)
	}
	other, err := exec.Command("gzip", "-c", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	write(t, kept[0], string(other))
	if _, err := r.compressed(t.Context(), file); !says(err, "remove it") {
		t.Errorf("compressed() with another layer kept = %v", err)
	}
}

func diffID(t *testing.T, l v1.Layer) v1.Hash {
	t.Helper()
	h, err := l.DiffID()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// One byte that is not as it was is found, wherever it is.
func TestVerifyFindsAFlippedByte(t *testing.T) {
	t.Parallel()
	r := makeRelease(t)
	if err := r.verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, dir := range []string{r.out, r.blobs} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(files) < 4+2*3 { // our four; of each image its config, its layer and its bill
		t.Fatalf("only %d files: %q", len(files), files)
	}
	for _, path := range files {
		was, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		changed := bytes.Clone(was)
		changed[len(changed)/2] ^= 1
		write(t, path, string(changed))
		if err := r.verify(t.Context()); err == nil {
			t.Errorf("verify() is content although a byte of %s is another one", path)
		}
		write(t, path, string(was))
	}
	if err := r.verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(r.out, "more.txt"), "x")
	if err := r.verify(t.Context()); !says(err, "more.txt is not in checksums.txt") {
		t.Errorf("verify() with a file too many = %v", err)
	}
	if err := os.Remove(filepath.Join(r.out, "more.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(r.out, "ralph_1.2.3_linux_amd64.spdx.json")); err != nil {
		t.Fatal(err)
	}
	if err := r.verify(t.Context()); !says(err, "spdx.json is missing") {
		t.Errorf("verify() with a file too few = %v", err)
	}
}

// A registry that fails is asked again, then named with what it said; nothing is recorded.
func TestPushToABrokenRegistry(t *testing.T) {
	t.Parallel()
	r := makeRelease(t)
	before, err := r.sealed()
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]int{}
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		asked[req.Method+" "+req.URL.Path]++
		mu.Unlock()
		http.Error(w, "the disk of the registry is full", http.StatusInternalServerError)
	}))
	t.Cleanup(server.Close)
	to := strings.TrimPrefix(server.URL, "http://") + "/org/ralph-action"
	if _, err := r.push(t.Context(), to, "claude", []string{saved(t, "amd64")}); !says(err, "500") || !says(err, strings.TrimPrefix(server.URL, "http://")) {
		t.Errorf("push() = %v, want the registry and its status", err)
	}
	if after, err := r.sealed(); err != nil || !maps.Equal(after.Images, before.Images) {
		t.Errorf("release.json names %v, %v, want %v", after.Images, err, before.Images)
	}
	if most := slices.Max(slices.Collect(maps.Values(asked))); most < 2 {
		t.Errorf("asked %v, want again after an error", asked)
	}
}

// An image that the registry does not have is named with its digest.
func TestVerifyUnknownDigest(t *testing.T) {
	t.Parallel()
	r := makeRelease(t)
	rel, err := r.sealed()
	if err != nil {
		t.Fatal(err)
	}
	repository, _, _ := strings.Cut(rel.Images["claude"], "@")
	unknown := repository + "@sha256:" + strings.Repeat("0", 64)
	if err := r.record([]string{"claude=" + unknown}); err != nil {
		t.Fatal(err)
	}
	if err := r.verify(t.Context()); !says(err, strings.Repeat("0", 64)) || !says(err, "MANIFEST_UNKNOWN") {
		t.Errorf("verify() = %v, want the digest that is unknown", err)
	}
}

// The tree that users check out is the one that was tested, but for the image's
// line, what the workflow uses, and release.json.
func TestTreeDiffersInWhatItNames(t *testing.T) {
	t.Parallel()
	r := makeRelease(t)
	commit, err := r.tree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rel, err := r.sealed()
	if err != nil {
		t.Fatal(err)
	}
	diff, err := r.git(t.Context(), "diff", "--no-color", "-U0", "HEAD", commit, "--", "action.yml")
	if err != nil {
		t.Fatal(err)
	}
	if want := "\n-  image: Dockerfile\n+  image: docker://" + rel.Images["claude"]; !strings.HasSuffix(diff, want) || strings.Count(diff, "\n+") != 2 {
		t.Errorf("action.yml differs by\n%s", diff)
	}
	// The workflow uses the action of the commit before, which is the release's but for it.
	own, err := r.git(t.Context(), "rev-parse", commit+"^")
	if err != nil {
		t.Fatal(err)
	}
	workflow, err := r.git(t.Context(), "show", commit+":"+stories)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`uses: (org/ralph-action.*)`).FindAllStringSubmatch(workflow, -1) {
		if !regexp.MustCompile(`^org/ralph-action(/host|/setup)?@` + own + ` # v1\.2\.3$`).MatchString(m[1]) {
			t.Errorf("the workflow uses %s, want the action of %s", m[1], own)
		}
	}
	if n := strings.Count(workflow, "@"+own+" # v1.2.3\n"); n != 5 {
		t.Errorf("the workflow uses the action %d times, want 5", n)
	}
	if there, err := r.git(t.Context(), "show", own+":"+manifest); err != nil || !strings.Contains(there, rel.Images["claude"]) {
		t.Errorf("%s of what it uses: %v\n%s", manifest, err, there)
	}
	again, err := r.tree(t.Context())
	if err != nil || again != commit {
		t.Errorf("made again, the tree is %s (%v), not %s", again, err, commit)
	}
	if status, err := r.git(t.Context(), "status", "--porcelain", "--untracked-files=no"); status != "" || err != nil {
		t.Errorf("the work tree was changed: %s %v", status, err)
	}

	// The commit of another tree is not taken.
	empty, err := r.git(t.Context(), "rev-parse", "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.checkTree(t.Context(), empty, empty, rel); !says(err, "changes") {
		t.Errorf("checkTree() of main itself = %v", err)
	}
	rel.Images["claude"] = strings.Replace(rel.Images["claude"], "sha256:", "sha256:0", 1)
	if err := r.checkTree(t.Context(), empty, commit, rel); !says(err, "more than the image") {
		t.Errorf("checkTree() with another image = %v", err)
	}
	if _, err := r.git(t.Context(), "-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-q", "--allow-empty", "-m", "later"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.tree(t.Context()); !says(err, "was built from") {
		t.Errorf("tree() on a later commit = %v", err)
	}
}

func TestTags(t *testing.T) {
	t.Parallel()
	r := makeRelease(t)
	origin := t.TempDir()
	for _, args := range [][]string{{"init", "-q", "--bare", origin}, {"remote", "add", "origin", origin}} {
		if _, err := r.git(t.Context(), args...); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.move(t.Context()); !says(err, "origin has no tag v1.2.3") {
		t.Errorf("move() before the release = %v", err)
	}
	if err := r.tag(t.Context()); err != nil {
		t.Fatal(err)
	}
	commit, err := r.tree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.move(t.Context()); err != nil {
		t.Fatal(err)
	}
	refs, err := r.git(t.Context(), "ls-remote", "origin")
	want := fmt.Sprintf("%[1]s\trefs/tags/v1\n%[1]s\trefs/tags/v1.2\n%[1]s\trefs/tags/v1.2.3", commit)
	if err != nil || refs != want {
		t.Errorf("origin has %q (%v), want %q", refs, err, want)
	}

	// A version is given once; the short tags go back, too.
	head, err := r.git(t.Context(), "rev-parse", "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.git(t.Context(), "push", "-q", "origin", head+":refs/tags/v1.2.2"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.git(t.Context(), "push", "-q", "--force", "origin", head+":refs/tags/v1.2.3"); err != nil {
		t.Fatal(err)
	}
	if err := r.tag(t.Context()); !says(err, "tag v1.2.3") {
		t.Errorf("tag() of a version that another commit has = %v", err)
	}
	back := &release{root: r.root, version: "v1.2.2", out: r.out, stdout: io.Discard}
	if err := back.move(t.Context()); err != nil {
		t.Fatal(err)
	}
	if refs, err := r.git(t.Context(), "ls-remote", "origin", "refs/tags/v1"); err != nil || !strings.HasPrefix(refs, head) {
		t.Errorf("v1 is at %q (%v), want %s", refs, err, head)
	}
	back.version = "v1.3.0-rc.1"
	if err := back.move(t.Context()); !says(err, "no final version") {
		t.Errorf("move() of a candidate = %v", err)
	}
}

func TestPatch(t *testing.T) {
	t.Parallel()
	r := makeRelease(t)
	today := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	if err := r.patch(today); err != nil {
		t.Fatal(err)
	}
	if got, err := changelogVersion(r.changelog()); got != "v1.2.4" || err != nil {
		t.Errorf("the changelog begins with %s, %v", got, err)
	}
	next := &release{root: r.root, version: "v1.2.4"}
	if text, err := next.notes(); err != nil || !strings.Contains(text, "packages of Debian") {
		t.Errorf("notes() = %q, %v", text, err)
	}
	if err := (&release{root: r.root, version: unreleased}).patch(today); !says(err, "a rebuild follows a final release") {
		t.Errorf("patch() of what was never released = %v", err)
	}
	if err := r.patch(today); !says(err, "begins with 1.2.4, not with v1.2.3") {
		t.Errorf("patch() once more = %v", err)
	}
}

// What stands in action.yml is what the release replaces.
func TestActionHasOneImage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	if released(string(text), "x@sha256:0") == "" {
		t.Errorf("action.yml has no single line %q", strings.TrimSpace(built))
	}
	if released("runs:\n", "x") != "" {
		t.Error("an action without an image is released")
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// says reports whether an error holds a text; "" means that there is none.
func says(err error, text string) bool {
	if text == "" {
		return err == nil
	}
	return err != nil && strings.Contains(fmt.Sprint(err), text)
}
