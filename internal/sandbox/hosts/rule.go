package hosts

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxEntry bounds the length of an entry, in bytes.
const maxEntry = 1024

// What Rule.port means besides a number.
const (
	webPorts = 0  // 443 and 80
	anyPort  = -1 // every one
)

// Rule is one entry. Rules can be compared; the zero Rule matches nothing.
type Rule struct {
	kind    kind
	host    string // canonical, without the "*." of names below; empty for everyHost and everything
	port    int
	deny    bool
	tcp     bool
	at      int // of tcp: the port of loopback; 0: the same
	builtin bool
}

type kind int

const (
	oneHost kind = iota + 1
	belowHost
	everyHost
	everything
)

// Parse reads an entry. Its error quotes the entry and says what would be right.
func Parse(entry string) (Rule, error) {
	text := strings.TrimSpace(entry)
	if len(text) > maxEntry {
		return Rule{}, fmt.Errorf("%q…: longer than %d bytes", strings.ToValidUTF8(text[:32], "?"), maxEntry)
	}
	r, err := parse(text)
	if err != nil {
		return Rule{}, fmt.Errorf("%q: %w", text, err)
	}
	return r, nil
}

func parse(text string) (Rule, error) {
	switch {
	case text == "":
		return Rule{}, errors.New("an entry is empty; write a host like example.com")
	case !utf8.ValidString(text) || strings.ContainsFunc(text, forbidden):
		return Rule{}, errors.New("a space or an invisible character in it; entries are separated by line ends or commas")
	case text == "*":
		return Rule{kind: everything, port: anyPort}, nil
	}
	rest, deny := strings.CutPrefix(text, "!")
	r, err := parseHost(rest, deny)
	r.deny = deny
	return r, err
}

func forbidden(r rune) bool {
	return r == ',' || unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Co, r)
}

// parseHost reads what stands behind the exclamation mark.
func parseHost(text string, deny bool) (Rule, error) {
	scheme, rest, found := strings.Cut(text, "://")
	if found {
		return parseURL(strings.ToLower(scheme), rest, deny)
	}
	if name, path, found := strings.Cut(text, "/"); found {
		if _, err := netip.ParsePrefix(text); err == nil {
			return Rule{}, errors.New("ranges of addresses are not understood; write each address")
		}
		return Rule{}, fmt.Errorf("a path (/%s) cannot be allowed by itself, because encrypted connections are not opened; write %s", clip(path), clip(name))
	}
	if strings.Contains(text, "@") {
		return Rule{}, errors.New("a user in it; write the host alone")
	}
	fallback := webPorts
	if deny {
		fallback = anyPort
	}
	r, err := parseTarget(text, fallback)
	if err == nil && deny && r.kind == everyHost && r.port == anyPort {
		return Rule{}, errors.New("refuses everything; leave the list empty for that")
	}
	return r, err
}

// parseURL reads the host and the port of a URL.
func parseURL(scheme, rest string, deny bool) (Rule, error) {
	authority, more, _ := strings.Cut(rest, "/")
	switch {
	case deny:
		return Rule{}, fmt.Errorf("behind ! stands a host, with a port or without; write !%s", clip(authority))
	case strings.ContainsAny(authority, "?#@\\"):
		return Rule{}, errors.New("a user, a query or a fragment in it; write the host alone, like api.example.com")
	}
	port := map[string]int{"http": 80, "https": 443, "tcp": anyPort}[scheme]
	if port == 0 {
		return Rule{}, fmt.Errorf("addresses begin with https://, http:// or tcp://, not with %s://; write tcp://HOST:PORT for what is not HTTP", clip(scheme))
	}
	r, err := parseTarget(authority, port)
	switch {
	case err != nil:
		return Rule{}, err
	case r.kind == everyHost:
		return Rule{}, fmt.Errorf("an address names one host; write *:%d for that port of all", max(port, 443))
	case scheme != "tcp":
		return r, nil
	case r.kind != oneHost || r.port <= 0 || more != "":
		return Rule{}, errors.New("tcp:// takes one host and one port, like tcp://db.internal:5432")
	}
	r.tcp = true
	return r, nil
}

// parseTarget reads HOST, HOST:PORT, *.HOST and *:PORT.
func parseTarget(text string, fallback int) (Rule, error) {
	host, port, err := splitPort(text, fallback)
	if err != nil {
		return Rule{}, err
	}
	if host == "*" {
		return Rule{kind: everyHost, port: port}, nil
	}
	r := Rule{kind: oneHost, port: port}
	if below, found := strings.CutPrefix(host, "*."); found {
		r.kind, host = belowHost, below
	}
	if strings.Contains(host, "*") {
		return Rule{}, errors.New("a star stands for whole names before a dot, as in *.example.com")
	}
	if r.host, err = Canonical(host); err != nil {
		return Rule{}, err
	}
	if _, err := netip.ParseAddr(r.host); err == nil && r.kind == belowHost {
		return Rule{}, errors.New("there are no names below an address; write each address")
	}
	return r, nil
}

// splitPort divides at the port, which is fallback when there is none.
func splitPort(text string, fallback int) (host string, port int, err error) {
	var number string
	var found bool
	if rest, bracket := strings.CutPrefix(text, "["); bracket {
		inside, after, closed := strings.Cut(rest, "]")
		if addr, err := netip.ParseAddr(inside); !closed || err != nil || !addr.Is6() {
			return "", 0, errors.New("no IPv6 address between the brackets; write it like [::1]:80")
		}
		if host = inside; after == "" {
			return host, fallback, nil
		}
		if number, found = strings.CutPrefix(after, ":"); !found {
			return "", 0, errors.New("behind the bracket only a port may stand, like [::1]:80")
		}
	} else if strings.Count(text, ":") > 1 {
		return "", 0, errors.New("more than one colon; write an IPv6 address in brackets, like [::1] or [::1]:80")
	} else if host, number, found = strings.Cut(text, ":"); !found {
		return host, fallback, nil
	}
	if number == "*" {
		return host, anyPort, nil
	}
	port, err = Port(number)
	return host, port, err
}

// Port reads a port from 1 to 65535, digits only and without leading zeros.
func Port(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != text {
		return 0, fmt.Errorf("%q is no port; ports go from 1 to 65535", clip(text))
	}
	return int(n), nil
}

// Builtin is the rule as one that no person wrote: what it allows has to have
// a public address.
func (r Rule) Builtin() Rule {
	r.builtin = true
	return r
}

// String is the entry in its shortest form; Parse reads it back.
func (r Rule) String() string {
	host, port := r.host, ""
	switch r.kind {
	case everything:
		return "*"
	case everyHost:
		host = "*"
	case belowHost:
		host = "*." + host
	case oneHost:
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
	default:
		return ""
	}
	switch {
	case r.port > 0:
		port = ":" + strconv.Itoa(r.port)
	case r.port == anyPort && (!r.deny || r.kind == everyHost):
		port = ":*"
	}
	prefix := ""
	if r.deny {
		prefix = "!"
	}
	if r.tcp {
		prefix = "tcp://"
	}
	return prefix + host + port
}

// clip bounds a part of an entry in an error.
func clip(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
