package egress

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"unicode"
)

const (
	// maxRefusals bounds how many addresses are told apart.
	maxRefusals = 256
	// maxAddress bounds an address that is shown, in bytes: the longest name and a port.
	maxAddress = 260
	// others stands for the addresses beyond.
	others = "other addresses"
)

// Why something is refused. The reasons are all there are.
const (
	notAllowed   = "not in allowed-hosts"
	privateAddr  = "an address of a private network; a rule of allowed-hosts for this very host would allow it"
	loopbackAddr = "an address of this machine; a rule of allowed-hosts for this very host would allow it"
	linkLocal    = "a link-local address; only its own entry in allowed-hosts would allow it"
	metadata     = "the metadata service of a cloud; only its address in allowed-hosts would allow it"
	noUnicast    = "an address that no server has"
	otherName    = "the TLS handshake names a host that is not in allowed-hosts"
	otherHost    = "the request in the tunnel names a host that is not in allowed-hosts"
	badPlain     = "what is sent through the tunnel is no request in HTTP/1"
	badHandshake = "the TLS handshake cannot be read"
	badAddress   = "no host and port in their usual form"
	badRequest   = "a proxy takes CONNECT host:port and http://host/path"
)

// Refusal is an address that clients were refused.
type Refusal struct {
	// Address is host:port of what was asked for, cleaned and bounded; foreign text.
	Address string
	Count   int
	Reason  string // why the last time
}

// refusal is the error of a decision.
type refusal struct{ reason string }

func (r *refusal) Error() string { return r.reason }

func (r *refusal) status() int {
	if r.reason == badAddress || r.reason == badRequest {
		return http.StatusBadRequest
	}
	return http.StatusForbidden
}

// refusals counts by address. The zero value is ready.
type refusals struct {
	mu   sync.Mutex
	all  map[string]*Refusal
	tell func(address, reason string)
}

func (r *refusals) add(address, reason string) {
	address = clean(address)
	r.mu.Lock()
	if r.all == nil {
		r.all = map[string]*Refusal{}
	}
	if r.all[address] == nil && len(r.all) >= maxRefusals-1 {
		address = others
	}
	entry, known := r.all[address]
	if !known {
		entry = &Refusal{Address: address}
		r.all[address] = entry
	}
	entry.Count++
	entry.Reason = reason
	r.mu.Unlock()
	if !known && r.tell != nil {
		r.tell(address, reason)
	}
}

func (r *refusals) list() []Refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]Refusal, 0, len(r.all))
	for _, entry := range r.all {
		list = append(list, *entry)
	}
	slices.SortFunc(list, func(a, b Refusal) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Address, b.Address))
	})
	return list
}

// clean bounds foreign text and takes out what a terminal or a log could act on.
func clean(s string) string {
	if len(s) > maxAddress {
		s = s[:maxAddress] + "…"
	}
	return strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

// reasonOf is the reason of a refusal, or empty.
func reasonOf(err error) string {
	var no *refusal
	if errors.As(err, &no) {
		return no.reason
	}
	return ""
}
