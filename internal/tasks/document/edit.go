package document

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Place is where an offset is, counted from 1; the column counts characters.
func Place(s string, at uint32) (line, column int) {
	before := s[:min(int(at), len(s))]
	start := strings.LastIndexByte(before, '\n') + 1
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[start:]) + 1
}

// Bytes is the document as it is now: what was not edited stands as it was read.
func (d *File) Bytes() []byte {
	var b bytes.Buffer
	b.Grow(len(d.Source) + 1024)
	b.WriteString(d.pre)
	d.Root.Write(&b)
	b.WriteString(d.post)
	return b.Bytes()
}

// Write writes a value as it is now.
func (n *Node) Write(b *bytes.Buffer) {
	if n.Kind != Array && n.Kind != Object {
		b.WriteString(n.Raw)
		return
	}
	brackets := "[]"
	if n.Kind == Object {
		brackets = "{}"
	}
	b.WriteByte(brackets[0])
	for i := range n.Items {
		it := &n.Items[i]
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(it.Pre)
		b.WriteString(it.Raw)
		b.WriteString(it.colon)
		it.Value.Write(b)
		if i < len(n.Items)-1 {
			b.WriteString(it.post)
		}
	}
	b.WriteString(n.Raw)
	b.WriteByte(brackets[1])
}

// Member is the value of a key; nil when there is none. Of equal keys it is the
// last, as every common reader has it.
func (n *Node) Member(key string) *Node {
	for i := len(n.Items) - 1; i >= 0 && n.Kind == Object; i-- {
		if n.Items[i].Key == key {
			return &n.Items[i].Value
		}
	}
	return nil
}

// Set gives a key a value, in the place of the old one or after all others.
func (n *Node) Set(key string, value Node) {
	if old := n.Member(key); old != nil {
		*old = value
		return
	}
	it := Item{Raw: Quoted(key), Key: key, colon: ": ", Value: value}
	if len(n.Items) > 0 {
		it.Pre, it.colon = n.Items[len(n.Items)-1].Pre, n.Items[len(n.Items)-1].colon
	}
	n.Items = append(n.Items, it)
}

// Remove takes a key away, however often it is there.
func (n *Node) Remove(key string) {
	n.Items = slices.DeleteFunc(n.Items, func(it Item) bool { return it.Key == key })
}

// Single leaves the last of equal keys, of those that are known.
func (n *Node) Single(known map[string]int) {
	last := make(map[string]int, len(known))
	for i := range n.Items {
		last[n.Items[i].Key] = i
	}
	if len(last) == len(n.Items) {
		return
	}
	kept := make([]Item, 0, len(n.Items))
	for i := range n.Items {
		if _, ok := known[n.Items[i].Key]; !ok || last[n.Items[i].Key] == i {
			kept = append(kept, n.Items[i])
		}
	}
	n.Items = kept
}

// Insert adds elements, each before the given index; the indices rise. White
// space is that of the neighbours.
func (n *Node) Insert(before []int, values []Node) {
	pre := ""
	if len(n.Items) > 0 {
		pre = n.Items[len(n.Items)-1].Pre
	}
	items, next := make([]Item, 0, len(n.Items)+len(values)), 0
	for i := 0; i <= len(n.Items); i++ {
		for ; next < len(values) && before[next] == i; next++ {
			items = append(items, Item{Pre: pre, Value: values[next]})
		}
		if i < len(n.Items) {
			items = append(items, n.Items[i])
		}
	}
	n.Items = items
}

// Own is a copy whose members can be edited without the original's changing.
func (n *Node) Own() Node {
	c := *n
	c.Items = slices.Clone(n.Items)
	return c
}

// Quoted is a JSON string that leaves < and & readable.
func Quoted(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return `""` // a string always encodes
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Take gives an object the members of another one, and leaves those as they are written
// that say the same, or that the other one lacks.
func (n *Node) Take(from *Node) {
	for i := range from.Items {
		it := &from.Items[i]
		if old := n.Member(it.Key); old == nil || !old.equal(&it.Value) {
			n.Set(it.Key, it.Value)
		}
	}
}

// equal reports whether two values say the same, however they are written.
func (n *Node) equal(m *Node) bool {
	if n.Kind != m.Kind || len(n.Items) != len(m.Items) {
		return false
	}
	switch n.Kind {
	case Text:
		return n.Text == m.Text
	case Array:
		return slices.EqualFunc(n.Items, m.Items, func(a, b Item) bool { return a.Value.equal(&b.Value) })
	case Object:
		return !slices.ContainsFunc(n.Items, func(it Item) bool {
			other := m.Member(it.Key)
			return other == nil || !it.Value.equal(other)
		})
	}
	return n.Raw == m.Raw
}

// Texts are the strings of an array.
func (n *Node) Texts() []string {
	if len(n.Items) == 0 {
		return nil
	}
	all := make([]string, len(n.Items))
	for i := range n.Items {
		all[i] = n.Items[i].Value.Text
	}
	return all
}

// Float is a number; 0 if it is none.
func (n *Node) Float() float64 {
	f, _ := strconv.ParseFloat(n.Raw, 64)
	return f
}
