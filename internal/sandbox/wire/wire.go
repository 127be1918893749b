// Package wire writes what ralph's own processes tell each other, and reads it. Both ends
// are the same binary. It needs no time to get ready, as encoding/gob does, and keeps
// the bytes of strings that are no UTF-8, as encoding/json does not.
package wire

import (
	"encoding"
	"encoding/binary"
	"errors"
	"reflect"
)

// Encode writes a value: a boolean, a number, a string, what has a text of its own as
// netip.AddrPort does, or structs, slices and pointers of these. The fields of structs
// are exported. It panics for any other type.
func Encode(v any) []byte { return write(nil, reflect.ValueOf(v)) }

// Decode reads what Encode wrote of the same type, and nothing else. An empty slice comes
// as nil.
func Decode(data []byte, to any) error {
	r := reader{data: data}
	r.read(reflect.ValueOf(to).Elem())
	if r.broken || len(r.data) > 0 {
		return errors.New("the message is not what was expected")
	}
	return nil
}

func write(data []byte, v reflect.Value) []byte {
	number := func(n uint64) { data = binary.AppendUvarint(data, n) }
	if text, ok := v.Interface().(encoding.TextMarshaler); ok {
		b, err := text.MarshalText()
		if err != nil {
			panic(err)
		}
		v = reflect.ValueOf(string(b))
	}
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			number(1)
		} else {
			number(0)
		}
	case reflect.Int, reflect.Int64:
		number(uint64(v.Int()))
	case reflect.Uint16, reflect.Uint32, reflect.Uint64:
		number(v.Uint())
	case reflect.String:
		number(uint64(v.Len()))
		data = append(data, v.String()...)
	case reflect.Slice:
		number(uint64(v.Len()))
		for i := range v.Len() {
			data = write(data, v.Index(i))
		}
	case reflect.Pointer:
		number(0)
		if !v.IsNil() {
			data[len(data)-1] = 1
			data = write(data, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			data = write(data, v.Field(i))
		}
	default:
		panic("wire: " + v.Type().String())
	}
	return data
}

// reader takes values off data, until it is broken.
type reader struct {
	data   []byte
	broken bool
}

func (r *reader) read(v reflect.Value) {
	if text, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		r.broken = text.UnmarshalText(r.bytes()) != nil || r.broken
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.number() == 1)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(r.number()))
	case reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(r.number())
	case reflect.String:
		v.SetString(string(r.bytes()))
	case reflect.Slice:
		for n := r.number(); n > 0 && !r.broken; n-- {
			element := reflect.New(v.Type().Elem()).Elem()
			r.read(element)
			v.Set(reflect.Append(v, element))
		}
	case reflect.Pointer:
		if r.number() == 1 {
			v.Set(reflect.New(v.Type().Elem()))
			r.read(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			r.read(v.Field(i))
		}
	default:
		panic("wire: " + v.Type().String())
	}
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.data)
	if size <= 0 {
		r.data, r.broken = nil, true
		return 0
	}
	r.data = r.data[size:]
	return n
}

func (r *reader) bytes() []byte {
	n := r.number()
	if n > uint64(len(r.data)) {
		r.data, r.broken = nil, true
		return nil
	}
	b := r.data[:n]
	r.data = r.data[n:]
	return b
}
