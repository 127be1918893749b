package forge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/go-github/v60/github"

	"github.com/org/ralph-action/internal/forge/api"
	"github.com/org/ralph-action/internal/forge/joblog"
)

const (
	// maxLogs bounds how many logs are read; what failed besides has its name.
	maxLogs = 8
	// maxLog bounds what is kept of one log, in bytes.
	maxLog = 8 << 10
	// maxLogRead bounds how much of a log is read, and maxLogTime how long.
	maxLogRead = 256 << 20
	maxLogTime = time.Minute
	// logAttempts is how often a log is asked for: for some seconds after a job's
	// end it may not be there.
	logAttempts = 3
	// maxAnnotations is how many annotations of a check are read: a page.
	maxAnnotations = 50
)

// Log is what a failed check left behind. Its text is foreign: cleaned of what
// cannot be seen and bounded, and still to be fenced.
type Log struct {
	Name       string
	Conclusion string
	URL        string // for people; empty when it is no web address
	Tail       string // at most 8 KiB; empty when there is none
	Missing    string // why there is no log, in one line; empty when there is one
}

// FailedLogs reads what the failed checks left behind: the part of a job's log
// around its errors, for other checks their own report, with annotations where
// there is no better. It reads at most 8, those first that a commit can fix. A
// log that cannot be had is no error; the context's end is not waited for.
func (c *Client) FailedLogs(ctx context.Context, checks Checks) []Log {
	var wanted []Failure
	for _, fixable := range []bool{true, false} {
		for _, failure := range checks.Failures {
			if failure.Fixable() == fixable && len(wanted) < maxLogs {
				wanted = append(wanted, failure)
			}
		}
	}
	var logs []Log
	for _, failure := range wanted {
		logs = append(logs, c.failedLog(ctx, failure))
	}
	return logs
}

func (c *Client) failedLog(ctx context.Context, f Failure) Log {
	log := Log{Name: f.Name, Conclusion: f.Conclusion, URL: f.URL, Tail: c.cleanText(f.text, maxLog)}
	if f.job > 0 && f.Fixable() {
		tail, err := c.jobLog(ctx, f.job)
		if err != nil {
			log.Missing = err.Error()
		}
		if tail != "" {
			log.Tail = tail
			return log
		}
	}
	if f.annotations {
		notes, err := c.annotations(ctx, f.check)
		if err != nil && log.Missing == "" {
			log.Missing = err.Error()
		}
		log.Tail = joblog.Tail(log.Tail+"\n\n"+notes, maxLog)
	}
	return log
}

// cleanText is foreign text of several lines, cleaned as a log is.
func (c *Client) cleanText(text string, most int) string {
	e := joblog.Excerpt{Max: most}
	_, _ = io.WriteString(&e, text) // never fails
	return c.hideToken(e.String())
}

func (c *Client) hideToken(text string) string {
	return strings.ReplaceAll(text, c.token.Reveal(), "***")
}

// annotations are a check's remarks on lines of files.
func (c *Client) annotations(ctx context.Context, check int64) (string, error) {
	var list []*github.CheckRunAnnotation
	err := c.api.Call(ctx, http.MethodGet, c.api.Path("/check-runs/%d/annotations?per_page=%d", check, maxAnnotations), nil, &list)
	if err != nil {
		return "", c.api.Explain("read the annotations of a check", "checks: read", err)
	}
	var text strings.Builder
	for _, one := range list {
		if one != nil {
			fmt.Fprintf(&text, "%s:%d: %s: %s\n", one.GetPath(), one.GetStartLine(), one.GetAnnotationLevel(), one.GetMessage())
		}
	}
	return c.cleanText(text.String(), maxLog), nil
}

// jobLog reads the part of a job's log around its errors.
func (c *Client) jobLog(ctx context.Context, job int64) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, maxLogTime)
	defer cancel()
	var text string
	var err error
	for attempt := range logAttempts {
		var again bool
		text, again, err = c.tryJobLog(ctx, job)
		if err == nil || !again || attempt == logAttempts-1 || api.Sleep(ctx, api.Jitter(2*c.api.Backoff<<attempt)) != nil {
			break
		}
	}
	return c.hideToken(text), err
}

// tryJobLog asks where the log is, and reads it there. The token is sent to the
// forge only: the place is another server's, and its address says all it wants.
func (c *Client) tryJobLog(ctx context.Context, job int64) (text string, again bool, err error) {
	operation := fmt.Sprintf("read the log of job %d", job)
	path := c.api.Path("/actions/jobs/%d/logs", job)
	for range 3 { // a repository that was renamed is one step away
		found, err := c.api.Unfollowed(ctx, path)
		if err != nil {
			return "", api.Status(err) == http.StatusNotFound, c.api.Explain(operation, "actions: read", err)
		}
		defer found.Body.Close()        // it is in memory
		location, _ := found.Location() // nil: none
		switch {
		case found.StatusCode < http.StatusMultipleChoices: // Gitea sends it at once
			return readLog(found.Body), false, nil
		case location == nil:
			return "", false, fmt.Errorf("%s in %s: the forge answered %d, and not where the log is", operation, c.api.Where(), found.StatusCode)
		case moved(found.StatusCode) && api.Origin(location) == api.Origin(c.api.URL):
			path = location.String()
			continue
		}
		text, again, err := c.download(ctx, location)
		if err != nil {
			return text, again, fmt.Errorf("%s in %s: %w", operation, c.api.Where(), err)
		}
		return text, false, nil
	}
	return "", false, fmt.Errorf("%s in %s: too many redirects", operation, c.api.Where())
}

// moved tells a repository that has another name from a log that lies elsewhere.
func moved(status int) bool {
	return status == http.StatusMovedPermanently || status == http.StatusTemporaryRedirect || status == http.StatusPermanentRedirect
}

// download reads a log from where it lies, without the token. Neither errors nor
// logs of ours quote the address: whoever has it can read the log.
func (c *Client) download(ctx context.Context, from *url.URL) (text string, again bool, err error) {
	if err := c.mayDownload(from); err != nil {
		return "", false, err
	}
	client := http.Client{Transport: c.api.Transport(), CheckRedirect: func(req *http.Request, via []*http.Request) error {
		req.Header.Del("Referer")
		if len(via) > 3 {
			return errors.New("too many redirects")
		}
		return c.mayDownload(req.URL)
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from.String(), nil)
	if err != nil {
		return "", false, errors.New("the address of the log is not valid")
	}
	req.Header.Set("User-Agent", c.api.UserAgent)
	resp, err := client.Do(req)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err // its own text is the address
		}
		return "", true, fmt.Errorf("download it from %s: %s", from.Host, c.api.Clean(err.Error()))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", true, fmt.Errorf("download it from %s: answered %d", from.Host, resp.StatusCode)
	}
	return readLog(resp.Body), false, nil
}

// mayDownload keeps a log's address from leading to something that is none.
func (c *Client) mayDownload(u *url.URL) error {
	if (u.Scheme != "https" && u.Scheme != c.api.URL.Scheme) || u.Host == "" || u.User != nil {
		return fmt.Errorf("the log is said to be at %q, which is no address to download from: want https", u.Scheme+"://"+c.api.Clean(u.Host))
	}
	return nil
}

// readLog keeps what matters of a log. One that breaks off is read as far as it
// came.
func readLog(from io.Reader) string {
	e := joblog.Excerpt{Max: maxLog}
	_, _ = io.Copy(&e, io.LimitReader(from, maxLogRead)) // what came until an error is better than nothing
	return e.String()
}
