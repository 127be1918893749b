package report

import (
	"reflect"
	"slices"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/doc"
)

// Redacted is a deep copy of r in which every text is cleaned of invisible
// characters (which could split a secret) and then passed through mask. Render
// from it, so that no rendering has to know about secrets. Names of ours, ids and
// what has a type of its own are kept: links and files are made of them.
func Redacted(r ralph.Report, mask func(string) string) ralph.Report {
	redact(reflect.ValueOf(&r).Elem(), mask)
	return r
}

// keptFields are those of the record that hold no text of anybody else's.
func keptFields() []string {
	return []string{"Version", "Mode", "Repository", "ServerURL", "HeadSHA", "SHA", "Tip", "Head", "Tree", "Digest", "Status"}
}

// redact masks the texts of v, and gives it slices and pointers of its own.
func redact(v reflect.Value, mask func(string) string) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() && v.Type() == reflect.TypeFor[string]() {
			v.SetString(mask(doc.Clean(v.String())))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && !slices.Contains(keptFields(), f.Name) {
				redact(v.Field(i), mask)
			}
		}
	case reflect.Slice:
		if v.IsNil() {
			return
		}
		own := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(own, v)
		v.Set(own)
		for i := range v.Len() {
			redact(v.Index(i), mask)
		}
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		own := reflect.New(v.Type().Elem())
		own.Elem().Set(v.Elem())
		v.Set(own)
		redact(own.Elem(), mask)
	}
}
