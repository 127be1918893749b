package main

import (
	"context"
	"os"
	"os/exec" //nolint:depguard // asks docker
	"strconv"
	"strings"
)

// size weighs the stripped binary and, where docker has it, the slim image.
func (b *bench) size(ctx context.Context) ([]row, error) {
	info, err := os.Stat(b.ralph)
	if err != nil {
		return nil, err
	}
	binary := row{What: "binary", Ours: value{Median: float64(info.Size()) / 1e6, Unit: "MB"}, Target: target{AtMost: 25, Unit: "MB"}, Note: "Stripped (-s -w), CGO_ENABLED=0."}
	if !b.built {
		binary.Note = "The binary given with -ralph."
	}
	image := row{What: "slim image", Ours: value{Unit: "MB"}, Target: target{AtMost: 120, Unit: "MB"}}
	for _, name := range []string{"ralph-action:latest-slim", "ralph-action:e2e-slim"} {
		out, err := exec.CommandContext(ctx, "docker", "image", "inspect", "--format", "{{.Size}}", name).Output()
		if bytes, parseErr := strconv.ParseFloat(strings.TrimSpace(string(out)), 64); err == nil && parseErr == nil {
			image.Ours.Median, image.Note = bytes/1e6, "As docker counts "+name+"."
			return []row{binary, image}, nil
		}
	}
	image.Error = "docker has no slim image here: run make image first"
	return []row{binary, image}, nil
}
