package tasks

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// place is where an offset is, counted from 1; the column counts characters.
func place(s string, at uint32) (line, column int) {
	before := s[:min(int(at), len(s))]
	start := strings.LastIndexByte(before, '\n') + 1
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[start:]) + 1
}

// bytes is the document as it is now: what was not edited stands as it was read.
func (d *document) bytes() []byte {
	var b bytes.Buffer
	b.Grow(len(d.source) + 1024)
	b.WriteString(d.pre)
	d.root.write(&b)
	b.WriteString(d.post)
	return b.Bytes()
}

func (n *node) write(b *bytes.Buffer) {
	if n.kind != array && n.kind != object {
		b.WriteString(n.raw)
		return
	}
	brackets := "[]"
	if n.kind == object {
		brackets = "{}"
	}
	b.WriteByte(brackets[0])
	for i := range n.items {
		it := &n.items[i]
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(it.pre)
		b.WriteString(it.raw)
		b.WriteString(it.colon)
		it.value.write(b)
		if i < len(n.items)-1 {
			b.WriteString(it.post)
		}
	}
	b.WriteString(n.raw)
	b.WriteByte(brackets[1])
}

// member is the value of a key; nil when there is none. Of equal keys it is the
// last, as every common reader has it.
func (n *node) member(key string) *node {
	for i := len(n.items) - 1; i >= 0 && n.kind == object; i-- {
		if n.items[i].key == key {
			return &n.items[i].value
		}
	}
	return nil
}

// set gives a key a value, in the place of the old one or after all others.
func (n *node) set(key string, value node) {
	if old := n.member(key); old != nil {
		*old = value
		return
	}
	it := item{raw: quoted(key), key: key, colon: ": ", value: value}
	if len(n.items) > 0 {
		it.pre, it.colon = n.items[len(n.items)-1].pre, n.items[len(n.items)-1].colon
	}
	n.items = append(n.items, it)
}

func (n *node) remove(key string) {
	n.items = slices.DeleteFunc(n.items, func(it item) bool { return it.key == key })
}

// single leaves the last of equal keys, of those that are known.
func (n *node) single(known map[string]int) {
	last := make(map[string]int, len(known))
	for i := range n.items {
		last[n.items[i].key] = i
	}
	if len(last) == len(n.items) {
		return
	}
	kept := make([]item, 0, len(n.items))
	for i := range n.items {
		if _, ok := known[n.items[i].key]; !ok || last[n.items[i].key] == i {
			kept = append(kept, n.items[i])
		}
	}
	n.items = kept
}

// insert adds elements, each before the given index; the indices rise. White
// space is that of the neighbours.
func (n *node) insert(before []int, values []node) {
	pre := ""
	if len(n.items) > 0 {
		pre = n.items[len(n.items)-1].pre
	}
	items, next := make([]item, 0, len(n.items)+len(values)), 0
	for i := 0; i <= len(n.items); i++ {
		for ; next < len(values) && before[next] == i; next++ {
			items = append(items, item{pre: pre, value: values[next]})
		}
		if i < len(n.items) {
			items = append(items, n.items[i])
		}
	}
	n.items = items
}

// own is a copy whose members can be edited without the original's changing.
func (n *node) own() node {
	c := *n
	c.items = slices.Clone(n.items)
	return c
}

// quoted is a JSON string that leaves < and & readable.
func quoted(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return `""` // a string always encodes
	}
	return strings.TrimSuffix(b.String(), "\n")
}
