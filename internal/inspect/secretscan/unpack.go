package secretscan

import (
	"archive/zip"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"encoding/hex"
	"io"
	"sort"
)

// Limits of what is unpacked. What lies behind them is not searched.
const (
	maxDepth    = 4        // codes within codes
	maxUnpacked = 64 << 20 // bytes out of archives, for each file
	maxMember   = 16 << 20 // bytes of one member of an archive
	maxMembers  = 2000     // of one archive
	minRun      = 24       // characters of base64 or hex in a row that are decoded
	batch       = 1 << 20  // bytes of decoded runs that are searched at once
	maxEmbedded = 16       // archives that may begin within one run
)

// layer is what was decoded out of a content: several runs in a row, or a
// member of an archive.
type layer struct {
	data  []byte
	marks []mark
	how   string
}

// mark says from which part of the outermost content the data from here on
// comes.
type mark struct{ at, from, to int }

// origin is the part of the outermost content behind an offset of the data.
func (l *layer) origin(at int) (from, to int) {
	i := sort.Search(len(l.marks), func(i int) bool { return l.marks[i].at > at }) - 1
	return l.marks[max(i, 0)].from, l.marks[max(i, 0)].to
}

// unpacker decodes a content, layer by layer.
type unpacker struct {
	left   int // bytes that may still come out of archives
	again  int // bytes of runs that may still be decoded from another line on
	visit  func(*layer)
	budget *budget

	unseen bool // there is more behind the limits
	flood  bool // there is nothing left of what all contents share
}

// spend says that so many bytes more may be decoded.
func (u *unpacker) spend(n int) bool {
	u.flood = u.flood || !take(&u.budget.unpacked, n)
	return !u.flood
}

// unpack calls visit for each layer within a content, not for the content
// itself.
func unpack(content []byte, budget *budget, visit func(*layer)) *unpacker {
	u := &unpacker{left: maxUnpacked, again: maxUnpacked, visit: visit, budget: budget}
	u.archive(content, 0, len(content), "", maxDepth)
	u.runs(&layer{data: content}, maxDepth)
	return u
}

// runs decodes the base64 and hex in a layer.
func (u *unpacker) runs(l *layer, depth int) {
	if depth == 0 {
		u.unseen = u.unseen || hasRun(l.data)
		return
	}
	next := layer{how: join(l.how, "encoded")}
	flush := func() {
		if len(next.data) > 0 {
			u.visit(&next)
			u.runs(&next, depth-1)
		}
		next.data, next.marks = nil, nil
	}
	for at := 0; ; {
		from, to := nextRun(l.data, at)
		if from < 0 {
			break
		}
		at = to
		u.run(&next, l, from, to, depth)
		for _, start := range restarts(l.data[from:to]) {
			n := to - from - start
			if u.again -= n; u.again < 0 {
				u.unseen = true
				break
			}
			if !u.spend(n) {
				break
			}
			u.run(&next, l, from+start, to, depth)
		}
		if len(next.data) >= batch {
			flush()
		}
	}
	flush()
}

// run decodes one run of a layer into the next, and opens the archives in it: one
// begins where the run does, or behind words that look like base64.
func (u *unpacker) run(next, l *layer, from, to, depth int) {
	before := len(next.data)
	next.data = decodeRun(next.data, cleanRun(l.data[from:to]))
	data := next.data[before:]
	if len(data) == 0 {
		return
	}
	if l.marks != nil {
		from, to = l.origin(from)
	}
	next.marks = append(next.marks, mark{before, from, to})
	next.data = append(next.data, '\n')
	u.archive(data, from, to, next.how, depth-1)
	for range maxEmbedded {
		at := nextArchive(data[1:])
		if at < 0 {
			return
		}
		data = data[1+at:]
		u.archive(data, from, to, next.how, depth-1)
	}
}

// nextArchive is where the next gzip or zip begins; -1 if none does.
func nextArchive(data []byte) int {
	gz, pk := bytes.Index(data, []byte("\x1f\x8b\x08")), bytes.Index(data, []byte("PK\x03\x04"))
	if gz < 0 || pk < 0 {
		return max(gz, pk)
	}
	return min(gz, pk)
}

// hasRun reports whether there is something to decode.
func hasRun(data []byte) bool {
	for at := 0; ; {
		from, to := nextRun(data, at)
		if from < 0 {
			return false
		}
		if len(decodeRun(nil, cleanRun(data[from:to]))) > 0 {
			return true
		}
		at = to
	}
}

// restarts are the first lines of a run at which the letters of base64 fall into
// other groups of four than they do from its beginning: the lines before them may be
// words that look like it.
func restarts(run []byte) []int {
	var found []int
	seen := [4]bool{true}
	letters := 0
	for i, b := range run {
		if !isBase64(b) {
			continue
		}
		if i > 0 && !isBase64(run[i-1]) && !seen[letters%4] {
			seen[letters%4] = true
			found = append(found, i)
		}
		letters++
	}
	return found
}

// nextRun is the next run of at least minRun characters of base64, from
// inclusive to exclusive; -1 when there is none. A line break with blanks
// before the next characters does not end a run.
func nextRun(data []byte, at int) (from, to int) {
	for i := at + minRun - 1; i < len(data); i += minRun {
		if !isBase64(data[i]) {
			continue
		}
		from = i
		for from > at && isBase64(data[from-1]) {
			from--
		}
		to = i + 1
		for to < len(data) && isBase64(data[to]) {
			to++
		}
		if to-from < minRun {
			i = max(i, to-1)
			continue
		}
		for {
			next := pastBreak(data, to)
			end := next
			for end < len(data) && isBase64(data[end]) {
				end++
			}
			if next == to || end == next {
				return from, to
			}
			to = end
		}
	}
	return -1, -1
}

// pastBreak is the offset behind a line break and what may indent or quote the
// next line; at itself when there is no break.
func pastBreak(data []byte, at int) int {
	i := at
	for i < len(data) && i < at+32 {
		switch data[i] {
		case ' ', '\t', '\r', '\n', '"', '\'', '+', ',', '#', '*', '>', '=':
			i++
			continue
		}
		break
	}
	if bytes.IndexByte(data[at:i], '\n') < 0 {
		return at
	}
	return i
}

// isBase64 says that a byte is a letter, a digit, or one of + / - _: bits of the
// two halves of ASCII, because branches on each byte cost more.
func isBase64(b byte) bool {
	const low, high = 0x3ffa80000000000, 0x7fffffe87fffffe
	bits := uint64(low)
	if b&0x40 != 0 {
		bits = high
	}
	return b < 0x80 && bits>>(b&0x3f)&1 != 0
}

// cleanRun returns the characters of a run in the standard alphabet.
func cleanRun(run []byte) []byte {
	dst := make([]byte, 0, len(run))
	broken := false
	for _, b := range run {
		switch {
		case isAlnum(b) || b == '/' || b == '+' && !broken:
			dst = append(dst, b)
		case b == '-':
			dst = append(dst, '+')
		case b == '_':
			dst = append(dst, '/')
		}
		if b == '\n' {
			broken = true
		} else if isAlnum(b) {
			broken = false
		}
	}
	return dst
}

// decodeRun appends what a run stands for, where it may stand for something:
// names and words have no digits or capitals.
func decodeRun(dst, run []byte) []byte {
	digits, upper, lower, others := 0, 0, 0, 0
	for _, b := range run {
		switch {
		case b-'0' < 10:
			digits++
		case b-'A' < 26:
			upper++
		case b-'a' < 26:
			lower++
		}
		if _, ok := hexDigit(b); !ok {
			others++
		}
	}
	switch {
	case others == 0 && digits > 0:
		run = run[:len(run)&^1]
		out := append(dst, make([]byte, len(run)/2)...)
		_, _ = hex.Decode(out[len(dst):], run) // cannot fail: hex digits, an even number of them
		return out
	case upper == 0 || lower == 0:
		return dst
	}
	if len(run)%4 == 1 {
		run = run[:len(run)-1]
	}
	out := append(dst, make([]byte, base64.RawStdEncoding.DecodedLen(len(run)))...)
	n, _ := base64.RawStdEncoding.Decode(out[len(dst):], run) // what came before an error counts
	return out[:len(dst)+n]
}

// archive visits what a compressed content or an archive holds. A tar needs no
// unpacking: its members lie in it as they are.
func (u *unpacker) archive(data []byte, from, to int, how string, depth int) {
	if len(data) < 8 {
		return
	}
	isZip := string(data[:4]) == "PK\x03\x04"
	r := decompressed(data)
	switch {
	case depth <= 0 && isZip:
		u.unseen = true
	case depth <= 0 && r != nil:
		n, _ := io.ReadFull(r, make([]byte, minValue)) // what only begins like one has hardly anything in it
		u.unseen = u.unseen || n == minValue
	case isZip:
		u.zip(data, from, to, how, depth)
	case r != nil:
		u.member(r, from, to, how, depth)
	default:
		u.unseen = u.unseen || closed(data)
	}
}

// closed reports whether a content is compressed in a way that is not opened: as xz,
// zstd, 7z, rar, lz4, lzip or compress.
func closed(data []byte) bool {
	for _, magic := range []string{"\xfd7zXZ\x00", "\x28\xb5\x2f\xfd", "7z\xbc\xaf\x27\x1c", "Rar!\x1a\x07", "\x04\x22\x4d\x18", "LZIP\x01", "\x1f\x9d\x90"} {
		if bytes.HasPrefix(data, []byte(magic)) {
			return true
		}
	}
	return false
}

// decompressed reads a compressed content; nil for others.
func decompressed(data []byte) io.Reader {
	var r io.Reader
	var err error
	switch {
	case data[0] == 0x1f && data[1] == 0x8b:
		r, err = gzip.NewReader(bytes.NewReader(data))
	case data[0] == 0x78 && (int(data[0])<<8|int(data[1]))%31 == 0:
		r, err = zlib.NewReader(bytes.NewReader(data))
	case string(data[:3]) == "BZh":
		r = bzip2.NewReader(bytes.NewReader(data))
	}
	if err != nil {
		return nil
	}
	return r
}

func (u *unpacker) zip(data []byte, from, to int, how string, depth int) {
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return
	}
	u.unseen = u.unseen || len(archive.File) > maxMembers
	for _, f := range archive.File[:min(len(archive.File), maxMembers)] {
		const encrypted = 1
		r, err := f.Open()
		if err != nil || f.Flags&encrypted != 0 {
			u.unseen = true
			continue
		}
		u.member(r, from, to, how, depth)
		_ = r.Close()
	}
}

// member visits what a reader gives; a broken end does not hide the beginning.
func (u *unpacker) member(r io.Reader, from, to int, how string, depth int) {
	most := min(u.left, maxMember)
	if !u.spend(most) { // before it is unpacked: that is what takes the time
		return
	}
	data, _ := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if len(data) > most {
		u.unseen, data = true, data[:most]
	}
	u.budget.unpacked.Add(int64(most - len(data)))
	u.left -= len(data)
	if len(data) == 0 {
		return
	}
	l := &layer{data: data, marks: []mark{{0, from, to}}, how: join(how, "packed")}
	u.visit(l)
	u.archive(data, from, to, l.how, depth-1)
	u.runs(l, depth-1)
}
