package agent

import (
	"errors"
	"fmt"
)

// refuseExtras is for a CLI that has no way to take MCP servers or settings.
// what is used instead.
func refuseExtras(o Options, instead string) error {
	var errs []error
	for name, text := range map[string]string{"mcp-config": o.MCP, "agent-settings": o.Settings} {
		if text != "" {
			errs = append(errs, fmt.Errorf("%s has no effect; %s", name, instead))
		}
	}
	return errors.Join(errs...)
}
