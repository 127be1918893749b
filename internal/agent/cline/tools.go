package cline

import (
	"strings"

	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/agent/jsonscan"
)

// resultOf is what a tool put out: a string, or one or more results that each
// say whether they went well.
func (d *decoder) resultOf(b []byte) (o driver.Output, failed bool) {
	o = d.Output()
	one := func(b []byte) {
		v := jsonscan.Fields(b, "result", "error", "success", "content", "isError")
		failed = failed || jsonscan.IsSet(v["success"]) && !jsonscan.IsTrue(v["success"]) || jsonscan.IsSet(v["error"]) || jsonscan.IsTrue(v["isError"])
		for _, b := range driver.ScanBlocks(jsonscan.New(v["content"]), nil) { // an MCP server's
			o.AddLine()
			o.AddString(b.Text)
		}
		if raw, ok := jsonscan.Inner(v["result"]); ok && len(raw) > 0 {
			o.AddLine()
			o.Add(raw)
			return
		}
		if raw, ok := jsonscan.Inner(v["error"]); ok {
			o.AddLine()
			o.Add(raw)
		}
	}
	c := jsonscan.New(b)
	switch {
	case o.AddString(b):
	case c.At('['):
		c.Array(func() { one(c.Value()) })
	default:
		one(b)
	}
	return o, failed
}

// summaryOf puts the input of a call into one line.
func summaryOf(name string, input []byte) string {
	for _, key := range []string{"commands", "files", "queries"} {
		c := jsonscan.New(jsonscan.Field(input, key))
		if !c.At('[') {
			continue
		}
		var parts []string
		c.Array(func() {
			b := c.Value()
			s := jsonscan.String(b, driver.MaxMessage)
			if s == "" {
				s = jsonscan.String(jsonscan.Field(b, "path"), driver.MaxMessage)
			}
			if len(parts) < driver.MaxName {
				parts = append(parts, s)
			}
		})
		return driver.OneLine(strings.Join(parts, ", "))
	}
	return driver.InputSummary(name, input)
}
