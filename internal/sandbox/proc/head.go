package proc

import "bytes"

// Head keeps the first Max bytes of what is written to it, and takes the rest.
type Head struct {
	bytes.Buffer
	Max int
}

// Write never fails.
func (h *Head) Write(p []byte) (int, error) {
	if room := h.Max - h.Len(); room > 0 {
		h.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
