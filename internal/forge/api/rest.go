package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
)

// Response is an answer of success. Its pages are 0 where it names none.
type Response struct {
	*http.Response
	NextPage, LastPage int
}

// NewRequest returns a request for a path below the API's address, with in as JSON.
func (c *Client) NewRequest(ctx context.Context, method, path string, in any) (*http.Request, error) {
	address, err := c.base.Parse(path)
	if err != nil {
		return nil, err
	}
	var body bytes.Buffer
	if in != nil {
		enc := json.NewEncoder(&body)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(in); err != nil {
			return nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, address.String(), &body)
	if err != nil {
		return nil, err
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/vnd.github.v3+json")
	req.Header.Set("User-Agent", c.UserAgent)
	req.Header.Set("X-GitHub-Api-Version", "2022-11-28")
	return req, nil
}

// Do sends a request and decodes the answer into out: nothing for nil, its bytes for an
// io.Writer. An answer other than success is a *refusal.
func (c *Client) Do(req *http.Request, out any) (*Response, error) {
	resp, err := c.http.Do(req)
	if err != nil {
		if req.Context().Err() != nil {
			return nil, req.Context().Err()
		}
		return nil, err
	}
	defer resp.Body.Close()
	if err := checkStatus(resp); err != nil {
		return nil, err
	}
	switch out := out.(type) {
	case nil:
	case io.Writer:
		_, err = io.Copy(out, resp.Body)
	default:
		if err = json.NewDecoder(resp.Body).Decode(out); errors.Is(err, io.EOF) {
			err = nil // no body
		}
	}
	links := resp.Header.Get("Link")
	return &Response{resp, page(links, "next"), page(links, "last")}, err
}

var linkPattern = lazyregexp.New(`<([^<>]*)>; *rel="(\w+)"`)

// page returns the number of the page with a relation in a Link header; 0: there is none.
func page(links, rel string) int {
	for _, link := range linkPattern.FindAllStringSubmatch(links, -1) {
		if address, err := url.Parse(link[1]); link[2] == rel && err == nil {
			n, _ := strconv.Atoi(address.Query().Get("page"))
			return n
		}
	}
	return 0
}

// refusal is a final answer of the forge other than success.
type refusal struct {
	request string // method and address
	status  int    // 0: there was no answer
	header  http.Header
	body    []byte
}

// checkStatus returns nil for an answer of success, else a *refusal.
func checkStatus(resp *http.Response) error {
	if resp.StatusCode >= 200 && resp.StatusCode <= 299 {
		return nil
	}
	return &refusal{resp.Request.Method + " " + resp.Request.URL.String(), resp.StatusCode, resp.Header, Peek(resp)}
}

func (r *refusal) Error() string {
	return fmt.Sprintf("%s: %d %s", r.request, r.status, message(r.body))
}

// refused returns the refusal behind an error; its status is 0 where there is none.
func refused(err error) *refusal {
	if r := (*refusal)(nil); errors.As(err, &r) {
		return r
	}
	return &refusal{}
}
