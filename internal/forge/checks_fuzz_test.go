package forge_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/forge"
)

// Whatever the forge answers: an end, clean lines, no token, nobody's rights.
func FuzzLooks(f *testing.F) {
	f.Add(200, `{"total_count":1,"check_runs":[{"id":1,"name":"a","status":"completed","conclusion":"failure","details_url":"https://h/actions/runs/1/job/2","app":{"slug":"github-actions"}}],"statuses":[{"context":"a","state":"failure"}],"workflow_runs":[null,{"id":1,"head_sha":"`+headSHA+`"}]}`)
	f.Add(200, `{"permission":"admin","role_name":"admin","user":{"login":"octocat"}}`)
	f.Add(200, `{"id":77,"number":5,"head_sha":"`+headSHA+`","jobs":[null,{"status":"completed","steps":[null]}],"head":{"ref":"x","sha":"`+headSHA+`"},"base":{"ref":"y"}}`)
	f.Add(302, `https://logs.test/\u202e`)
	f.Add(404, `{"message":"`+token+`\u001b"}`)
	f.Fuzz(func(t *testing.T, status int, body string) {
		if status < 100 || status > 999 {
			return
		}
		client := newClient(t, func(r *http.Request) (*http.Response, error) {
			return answers{status, http.Header{"Location": {body}}, body}.RoundTrip(r)
		})
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		checks, err := client.Checks(ctx, headSHA, forge.CheckOptions{})
		lines := append([]string{text(err)}, slices.Concat(checks.Failed, checks.Left, checks.Notes)...)
		for _, log := range client.FailedLogs(ctx, checks) {
			lines = append(lines, log.Name, log.Conclusion, log.Missing, strings.ReplaceAll(strings.ReplaceAll(log.Tail, "\n", " "), "\t", " "))
		}
		run, err := client.FailedRun(ctx, 77)
		lines = append(lines, text(err))
		for _, job := range run {
			lines = append(lines, job.Name, job.Missing)
		}
		_, err = client.Pull(ctx, 5)
		lines = append(lines, text(err))
		permission, err := client.Permission(ctx, "octocat")
		lines = append(lines, text(err))
		if permission.CanWrite() && !strings.Contains(body, "admin") && !strings.Contains(body, "owner") && !strings.Contains(body, "write") && !strings.Contains(body, "maintain") && !strings.Contains(body, "\\u") {
			t.Errorf("%d %q let octocat write", status, body)
		}
		for _, line := range lines {
			if strings.Contains(line, token) || strings.ContainsAny(line, "\n\r\x00\x1b\u202e") || len(line) > 16<<10 {
				t.Errorf("%d %q gave %q", status, body, line)
			}
		}
	})
}

// Whatever a job writes: little, printable, and never the token.
func FuzzLog(f *testing.F) {
	f.Add(stamped("##[error]a", "##[group]b", "\x1b[31mc\x1b[0m", "\x1b]0;t\x07d"), 1)
	f.Add("\r\r\n\n\x1b[", 3)
	f.Add("##[error]##[error]\u202e\ufeff\xff\xfe", 2)
	f.Add(stamped("a", "b", "##[error]c", "1", "2", "3", "4", "5", "6", "7", "##[error]d"), 7)
	f.Fuzz(func(t *testing.T, log string, size int) {
		server := roundTripper(func(r *http.Request) (*http.Response, error) {
			resp := &http.Response{StatusCode: http.StatusFound, Header: http.Header{"Location": {"https://logs.test/1"}}, Request: r, Body: http.NoBody}
			switch {
			case r.URL.Host == "logs.test":
				resp.StatusCode, resp.Body = http.StatusOK, io.NopCloser(&pieces{log, max(size, 1)})
			case strings.HasSuffix(r.URL.Path, "/jobs"):
				resp.StatusCode, resp.Body = http.StatusOK, io.NopCloser(strings.NewReader(`{"jobs":[{"id":1,"name":"a","status":"completed","conclusion":"failure"}]}`))
			case strings.HasSuffix(r.URL.Path, "/runs/77"):
				resp.StatusCode, resp.Body = http.StatusOK, io.NopCloser(strings.NewReader(`{"id":77,"head_sha":"`+headSHA+`"}`))
			case strings.HasSuffix(r.URL.Path, "/annotations"):
				resp.StatusCode, resp.Body = http.StatusOK, io.NopCloser(strings.NewReader(`[]`))
			}
			return resp, nil
		})
		client := newClient(t, server)
		run, err := client.FailedRun(t.Context(), 77)
		if err != nil || len(run) != 1 {
			t.Fatalf("FailedRun() = %+v, %v", run, err)
		}
		tail := run[0].Tail
		bad := strings.IndexFunc(tail, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) })
		if len(tail) > 8<<10 || !utf8.ValidString(tail) || bad >= 0 || strings.Contains(tail, token) {
			t.Errorf("log %.200q gave %d bytes, %.200q", log, len(tail), tail)
		}
	})
}

// pieces is text that comes a few bytes at a time.
type pieces struct {
	rest string
	size int
}

func (p *pieces) Read(into []byte) (int, error) {
	if p.rest == "" {
		return 0, io.EOF
	}
	n := copy(into[:min(p.size, len(into))], p.rest)
	p.rest = p.rest[n:]
	return n, nil
}
