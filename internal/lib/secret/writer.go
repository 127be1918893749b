package secret

import "io"

// Writer redacts a stream. It holds back only the end that could become a
// form, so that live output stays live, and finds forms split over any number
// of writes. Close writes what is held back and leaves w open. Not safe for
// concurrent use.
func (r *Redactor) Writer(w io.Writer) io.WriteCloser {
	if r == nil {
		r = &Redactor{}
	}
	return &writer{r: r, w: w}
}

type writer struct {
	r     *Redactor
	w     io.Writer
	held  []byte
	spans []span
	cover cover
}

// Write never reports a part of p: either all of it was taken, or the error of
// the writer below is given with 0.
func (w *writer) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if len(w.r.forms) == 0 {
		return w.w.Write(p)
	}
	text := p
	if len(w.held) > 0 {
		w.held = append(w.held, p...)
		text = w.held
	}
	w.spans = find(w.r, text, w.spans[:0])
	keep := w.r.partial(text)
	err := w.emit(text[:keep])
	w.held = append(w.held[:0], text[keep:]...)
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

func (w *writer) emit(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	out := text
	if len(w.spans) > 0 || w.cover.spill > 0 {
		w.cover.out = w.cover.out[:0]
		emit(&w.cover, text, w.spans)
		out = w.cover.out
	} else {
		w.cover.masked = false
	}
	if len(out) == 0 {
		return nil
	}
	_, err := w.w.Write(out)
	return err
}

func (w *writer) Close() error {
	text := w.held
	w.held = nil
	if len(text) == 0 {
		return nil
	}
	w.spans = find(w.r, text, w.spans[:0])
	return w.emit(text)
}
