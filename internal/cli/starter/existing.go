package starter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// document is a JSON object with the order of its keys.
type document struct {
	keys   []string
	values map[string]any // document, []any, string, json.Number, bool or nil
}

func (d *document) set(key string, value any) {
	if _, ok := d.values[key]; !ok {
		d.keys = append(d.keys, key)
	}
	d.values[key] = value
}

// maxDepth bounds how deep settings nest; ours are three deep.
const maxDepth = 32

var errDeep = fmt.Errorf("it nests deeper than %d levels", maxDepth)

// parse reads a JSON object. Errors begin with name, line and column.
func parse(name string, data []byte) (document, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	var syntax *json.SyntaxError
	if err := json.Unmarshal(data, new(any)); errors.As(err, &syntax) {
		line, column := position(data, syntax.Offset)
		return document{}, fmt.Errorf("%s:%d:%d: %w", name, line, column, err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	v, err := value(dec, 0)
	if err != nil {
		line, column := position(data, dec.InputOffset())
		return document{}, fmt.Errorf("%s:%d:%d: %w", name, line, column, err)
	}
	d, ok := v.(document)
	if !ok {
		return document{}, fmt.Errorf("%s:1:1: settings are an object, {…}", name)
	}
	return d, nil
}

func value(dec *json.Decoder, depth int) (any, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	open, ok := token.(json.Delim)
	if !ok {
		return token, nil
	}
	if depth == maxDepth {
		return nil, errDeep
	}
	object := document{values: map[string]any{}}
	list := []any{}
	for dec.More() {
		var key json.Token
		if open == '{' {
			if key, err = dec.Token(); err != nil {
				return nil, err
			}
		}
		v, err := value(dec, depth+1)
		if err != nil {
			return nil, err
		}
		if name, ok := key.(string); ok {
			object.set(name, v)
		} else {
			list = append(list, v)
		}
	}
	if _, err := dec.Token(); err != nil { // the closing one
		return nil, err
	}
	if open == '{' {
		return object, nil
	}
	return list, nil
}

// position turns json's offset, the bytes up to and with the offending one,
// into a line and a column in characters, both counted from 1.
func position(data []byte, offset int64) (line, column int) {
	before := data[:min(max(offset-1, 0), int64(len(data)))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[start:]) + 1
}

// merge lays over on top of base: objects recursively, everything else takes
// the place of what was there.
func merge(base, over document) document {
	merged := document{keys: slices.Clone(base.keys), values: map[string]any{}}
	for k, v := range base.values {
		merged.values[k] = v
	}
	for _, key := range over.keys {
		v := over.values[key]
		if below, ok := v.(document); ok {
			if object, ok := merged.values[key].(document); ok {
				v = merge(object, below)
			}
		}
		merged.set(key, v)
	}
	return merged
}

// pretty is the document as json.MarshalIndent writes it, in its own order and
// with <, > and & as they are.
func (d document) pretty() (string, error) {
	var compact, b bytes.Buffer
	if err := write(&compact, d); err != nil {
		return "", err
	}
	err := json.Indent(&b, compact.Bytes(), "", "  ")
	return b.String(), err
}

func write(b *bytes.Buffer, v any) error {
	switch v := v.(type) {
	case document:
		b.WriteByte('{')
		for i, key := range v.keys {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := scalar(b, key); err != nil {
				return err
			}
			b.WriteByte(':')
			if err := write(b, v.values[key]); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, element := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := write(b, element); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	default:
		return scalar(b, v)
	}
	return nil
}

func scalar(b *bytes.Buffer, v any) error {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1) // the newline
	return nil
}
