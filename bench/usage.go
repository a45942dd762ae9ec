//go:build linux

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// usage is what one run of a program took.
type usage struct {
	Wall time.Duration `json:"wall"`
	// CPU is user and system time together.
	CPU time.Duration `json:"cpu"`
	// Peak is the largest resident set in bytes; 0 where it was not measured.
	Peak int64 `json:"peak"`
}

// program is a command line that is measured.
type program struct {
	name string
	args []string
	// env is added to the environment.
	env []string
	// stdout is the path of a file; where it is empty the output is thrown away.
	stdout string
}

// measure runs a program to its end.
func (b *bench) measure(ctx context.Context, p program) (usage, error) {
	var u usage
	var result, stderr bytes.Buffer
	stdout, err := os.OpenFile(cmp.Or(p.stdout, os.DevNull), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return u, err
	}
	defer stdout.Close() //nolint:errcheck // the program has its own handle
	r, w, err := os.Pipe()
	if err != nil {
		return u, err
	}
	cmd := exec.CommandContext(ctx, b.tools.measure, p.args...) //nolint:gosec // a program of tools
	cmd.Env = append(os.Environ(), p.env...)
	cmd.Dir = b.dir
	cmd.Stdout, cmd.Stderr = stdout, &stderr
	cmd.ExtraFiles = []*os.File{w}
	err = cmd.Run()
	_ = w.Close()
	_, _ = result.ReadFrom(r)
	_ = r.Close()
	if err != nil {
		text := strings.TrimSpace(stderr.String())
		return u, fmt.Errorf("%s: %w: %s", p.name, err, text[max(0, len(text)-2000):])
	}
	return u, json.Unmarshal(result.Bytes(), &u)
}

// alternate runs the programs in turn, n times, so that whatever else the machine does meets all
// of them. The answer has the runs of each.
func (b *bench) alternate(ctx context.Context, n int, all ...program) ([][]usage, error) {
	out := make([][]usage, len(all))
	for range n {
		for i, p := range all {
			u, err := b.measure(ctx, p)
			if err != nil {
				return nil, err
			}
			out[i] = append(out[i], u)
		}
	}
	return out, nil
}

// median takes the median of each figure.
func median(runs []usage) usage {
	return usage{
		Wall: medianOf(runs, func(u usage) time.Duration { return u.Wall }),
		CPU:  medianOf(runs, func(u usage) time.Duration { return u.CPU }),
		Peak: medianOf(runs, func(u usage) int64 { return u.Peak }),
	}
}

func medianOf[T cmp.Ordered](runs []usage, figure func(usage) T) T {
	var all []T
	for _, u := range runs {
		all = append(all, figure(u))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// fastest is the smallest wall time.
func fastest(runs []usage) time.Duration {
	return slices.MinFunc(runs, func(a, b usage) int { return cmp.Compare(a.Wall, b.Wall) }).Wall
}
