package agent

import "strings"

// resultOf is what a tool put out: a string, or one or more results that each
// say whether they went well.
func (d *clineDecoder) resultOf(b []byte) (o output, failed bool) {
	o = d.output()
	one := func(b []byte) {
		v := fields(b, "result", "error", "success", "content", "isError")
		failed = failed || isSet(v["success"]) && !isTrue(v["success"]) || isSet(v["error"]) || isTrue(v["isError"])
		for _, b := range scanBlocks(&scanner{b: v["content"]}, nil) { // an MCP server's
			o.addLine()
			o.addString(b.text)
		}
		if raw, ok := inner(v["result"]); ok && len(raw) > 0 {
			o.addLine()
			o.add(raw)
			return
		}
		if raw, ok := inner(v["error"]); ok {
			o.addLine()
			o.add(raw)
		}
	}
	c := scanner{b: b}
	switch {
	case o.addString(b):
	case c.at('['):
		c.array(func() { one(c.value()) })
	default:
		one(b)
	}
	return o, failed
}

// clineSummary puts the input of a call into one line.
func clineSummary(name string, input []byte) string {
	for _, key := range []string{"commands", "files", "queries"} {
		c := scanner{b: fields(input, key)[key]}
		if !c.at('[') {
			continue
		}
		var parts []string
		c.array(func() {
			b := c.value()
			s := str(b, maxMessage)
			if s == "" {
				s = str(fields(b, "path")["path"], maxMessage)
			}
			if len(parts) < maxName {
				parts = append(parts, s)
			}
		})
		return oneLine(strings.Join(parts, ", "))
	}
	return inputSummary(name, input)
}
