package remote

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"

	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/store"
)

// Wanted says what to fetch.
type Wanted struct {
	Tips []plumbing.Hash
	Have []plumbing.Hash // commits we hold, with all they stand on but what shallow says
	// shallow are commits of have whose parents we lack.
	Shallow []plumbing.Hash
	Depth   int          // 1 leaves the parents out; 0 is all that have does not reach
	Filter  packp.Filter // where the server can; else everything comes
}

// Fetch receives what is wanted as a pack into f.
func (r *Server) Fetch(ctx context.Context, adv Advertisement, want Wanted, f *os.File) error {
	return r.Retry(ctx, func() error { return r.FetchOnce(ctx, adv, want, f) })
}

// FetchOnce is Fetch without another try.
func (r *Server) FetchOnce(ctx context.Context, adv Advertisement, want Wanted, f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	req := packp.NewUploadPackRequest()
	req.Wants, req.Haves, req.Shallows = slices.Clone(want.Tips), SortedHashes(want.Have), slices.Clone(want.Shallow)
	if want.Filter != "" && adv.Caps.Supports(capability.Filter) {
		req.Filter = want.Filter
		_ = req.Capabilities.Set(capability.Filter)
	}
	for _, c := range []capability.Capability{capability.OFSDelta, capability.Sideband64k, capability.NoProgress} {
		if adv.Caps.Supports(c) {
			_ = req.Capabilities.Set(c)
		}
	}
	if want.Depth > 0 {
		if !adv.Caps.Supports(capability.Shallow) {
			return errors.New("the server cannot send a single commit (no shallow capability)")
		}
		req.Depth = packp.DepthCommits(want.Depth)
		_ = req.Capabilities.Set(capability.Shallow)
	}
	var body bytes.Buffer
	if err := req.UploadRequest.Encode(&body); err != nil {
		return err
	}
	if err := req.UploadHaves.Encode(&body, false); err != nil {
		return err
	}
	if err := pktline.NewEncoder(&body).EncodeString("done\n"); err != nil {
		return err
	}
	res, err := r.do(ctx, http.MethodPost, "/"+UploadPack, UploadPack, &body)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer := bufio.NewReader(res.Body)
	if err := refused(answer); err != nil {
		return err
	}
	up := packp.NewUploadPackResponse(req)
	if err := up.Decode(io.NopCloser(answer)); err != nil {
		return cut(ctx, "read the server's answer to a fetch", err)
	}
	var rd io.Reader = up
	if req.Capabilities.Supports(capability.Sideband64k) {
		rd = sideband.NewDemuxer(sideband.Sideband64k, up)
	}
	n, err := io.Copy(f, io.LimitReader(rd, store.MaxPackBytes+1))
	if err != nil {
		return cut(ctx, "fetch", err)
	}
	if n > store.MaxPackBytes {
		return fmt.Errorf("fetch: more than %d bytes", int64(store.MaxPackBytes))
	}
	return nil
}

// refused reads the line with which a server refuses a fetch, as of a commit it
// does not have (gitprotocol-pack, error-line). Trying again would not help.
func refused(answer *bufio.Reader) error {
	head, _ := answer.Peek(8)
	if len(head) < 8 || string(head[4:]) != "ERR " {
		return nil
	}
	line, _ := io.ReadAll(io.LimitReader(answer, MaxErrorBytes))
	return fmt.Errorf("the server refuses the fetch: %s", printable.Line(string(line[8:]), 200))
}

// SortedHashes puts hashes in order, each once.
func SortedHashes(list []plumbing.Hash) []plumbing.Hash {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b plumbing.Hash) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(list)
}

// cut reports whether a connection broke in the middle: worth another try, unless
// it was us.
func cut(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", what, context.Cause(ctx))
	}
	return &TransientError{Err: fmt.Errorf("%s: %w", what, err)}
}

// Send pushes one commit: the branch moves from old (zero: it is created) to
// commit (zero: it is deleted, without a pack), or nothing happens. The pack is
// streamed. A transient error may hide
// a push that arrived.
func (r *Server) Send(ctx context.Context, adv Advertisement, branch string, old, commit plumbing.Hash, pack func(io.Writer) error) error {
	if !adv.Caps.Supports(capability.ReportStatus) {
		return errors.New("the server does not report what becomes of a push")
	}
	req := packp.NewReferenceUpdateRequest()
	_ = req.Capabilities.Set(capability.ReportStatus)
	if commit.IsZero() {
		if !adv.Caps.Supports(capability.DeleteRefs) {
			return errors.New("the server does not let branches be deleted over git")
		}
		_ = req.Capabilities.Set(capability.DeleteRefs)
	}
	side := adv.Caps.Supports(capability.Sideband64k)
	if side {
		_ = req.Capabilities.Set(capability.Sideband64k)
	}
	req.Commands = []*packp.Command{{Name: plumbing.NewBranchReferenceName(branch), Old: old, New: commit}}

	pr, pw := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		err := req.Encode(pw)
		if err == nil && pack != nil {
			err = pack(pw)
		}
		pw.CloseWithError(err)
		packed <- err
	}()
	body, err := sized(pr)
	var res *http.Response
	if err == nil {
		res, err = r.do(ctx, http.MethodPost, "/"+ReceivePack, ReceivePack, body)
	}
	// The server may answer before it read everything: end the writer first.
	pr.CloseWithError(errAnswered)
	if perr := <-packed; perr != nil && !errors.Is(perr, errAnswered) && !errors.Is(perr, io.ErrClosedPipe) {
		if err == nil {
			res.Body.Close()
		}
		return fmt.Errorf("write the pack: %w", perr)
	}
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var rd io.Reader = res.Body
	said := &tail{limit: MaxErrorBytes}
	if side {
		d := sideband.NewDemuxer(sideband.Sideband64k, rd)
		d.Progress = said
		rd = d
	}
	report := packp.NewReportStatus()
	if err := report.Decode(rd); err != nil {
		return cut(ctx, "read the server's report", err)
	}
	for _, cs := range report.CommandStatuses {
		if cs.Status != "ok" {
			return rejection(branch, cs.Status, said.String())
		}
	}
	if report.UnpackStatus != "ok" {
		return rejection(branch, "unpack: "+report.UnpackStatus, said.String())
	}
	if len(report.CommandStatuses) == 0 {
		return errors.New("the server did not say what became of the branch")
	}
	return nil
}

// sized gives a small body a length: like git, only a push of more than a
// megabyte is sent in chunks, which not every server takes.
func sized(r io.Reader) (io.Reader, error) {
	head := make([]byte, 1<<20)
	n, err := io.ReadFull(r, head)
	switch {
	case err == nil:
		return io.MultiReader(bytes.NewReader(head), r), nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return bytes.NewReader(head[:n]), nil
	default:
		return nil, err
	}
}

var errAnswered = errors.New("the server answered")

// tail keeps the last bytes written to it.
type tail struct {
	buf   []byte
	limit int
}

func (t *tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if extra := len(t.buf) - t.limit; extra > 0 {
		t.buf = append(t.buf[:0], t.buf[extra:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.buf) }
