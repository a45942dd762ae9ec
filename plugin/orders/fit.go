package orders

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply/capacity"
	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/lease/files"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/lease/lazy"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/inventory/cases"
)

// fitFlags are the flags of fit.
type fitFlags struct {
	files  files.Names
	output string
}

// NewFit returns the command that shows whether groups of resources fit a cluster. It is also one of its own, which no help lists: what
// compares inventories runs it by that name.
func NewFit(c *session.Session) *cobra.Command {
	f := &fitFlags{}
	cmd := &cobra.Command{
		Use:   "fit -f FILE",
		Short: "Show whether groups of resources fit a cluster",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(f.files.Files) == 0 {
				return usage.Errorf("must specify -f")
			}
			return fit(cmd.Context(), c, f)
		},
	}
	flags.AddFiles(cmd, &f.files,
		"Files, or folders of files, with SDLs, manifests, lease definitions or cases (one JSON object per line); - is standard input")
	flags.AddOutput(cmd, &f.output, "", ": a line for each case, or for each group. By default text for documents and json for cases", "json", "text")
	return c.SetScope(cmd, session.Scope{Offline: f.onlyCases})
}

// fit answers each case as soon as it is read, and documents after all inputs have been read.
func fit(ctx context.Context, c *session.Session, f *fitFlags) error {
	run := fitRun{Session: c, output: f.output}
	var documents []source
	err := f.files.Each(ctx, c.In, 0, func(r io.Reader, name string) error {
		in := bufio.NewReaderSize(r, peekSize)
		if isCases(in) {
			return run.answerCases(ctx, in, name)
		}
		text, err := io.ReadAll(files.Bound(in, name, document.DefaultSize))
		documents = append(documents, source{name, text})
		return err
	})
	switch {
	case err != nil:
		return err
	case len(documents) > 0 && run.read > 0:
		return usage.Errorf("a file of cases describes its own cluster: run it separately for cases and documents")
	case len(documents) > 0:
		if err := run.answerDocuments(ctx, documents); err != nil {
			return err
		}
	}
	if run.refused > 0 {
		return &console.RefusedError{Err: fmt.Errorf("of %s %d cannot be placed; the answers say why",
			lease.Count(run.requests, "request"), run.refused)}
	}
	return nil
}

// source is the text of an input.
type source struct {
	name string
	text []byte
}

// peekSize is the number of bytes at the beginning of an input that decide whether it has cases or documents.
const peekSize = 1 << 16

// documentKeys matches keys that only documents have.
var documentKeys = lazy.Pattern(`"(apiVersion|services|deployment)"\s*:`)

// isCases reports whether an input has cases: it begins with a JSON object that is not a document.
func isCases(in *bufio.Reader) bool {
	head, _ := in.Peek(peekSize)
	head = bytes.TrimSpace(head)
	return len(head) > 0 && head[0] == '{' && !documentKeys().Match(head)
}

// onlyCases reports whether all inputs are regular files with cases.
func (f *fitFlags) onlyCases() bool {
	return len(f.files.Files) > 0 && !slices.ContainsFunc(f.files.Files, func(name string) bool {
		if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
			return true
		}
		file, err := os.Open(name)
		if err != nil {
			return true
		}
		defer file.Close() //nolint:errcheck // only read
		return !isCases(bufio.NewReaderSize(file, peekSize))
	})
}

// fitRun is one run of fit.
type fitRun struct {
	*session.Session
	output string
	// read counts the cases, requests the groups in all answers, refused those that do not fit.
	read, requests, refused int
}

func (r *fitRun) answerCases(ctx context.Context, in io.Reader, name string) error {
	if r.ConfigFile != "" {
		return usage.Errorf("--config: order fit does not look at the provider's configuration where cases bring their commit levels")
	}
	for question, err := range cases.Read(in, name, document.DefaultSize) {
		if err != nil {
			return err
		}
		answer, err := parallel.Abandonable(ctx, func() (cases.Answer, error) { return question.Answer(), nil })
		if err != nil {
			return err
		}
		if err := r.print(question, answer, r.output == "text"); err != nil {
			return err
		}
		r.read++
	}
	if r.read == 0 {
		return lease.Problems{{At: lease.Place{File: name}, Message: "the input has no cases"}}
	}
	return nil
}

// print prints and counts an answer, as text or as a line of JSON.
func (r *fitRun) print(question cases.Case, answer cases.Answer, text bool) error {
	r.requests += len(answer.Results)
	r.refused += answer.Refused()
	if text {
		for _, line := range answer.Lines(question) {
			if _, err := fmt.Fprintln(r.Text, terminal.OneLine(line, terminal.MaxCell)); err != nil {
				return err
			}
		}
		return nil
	}
	e := json.NewEncoder(r.Out)
	e.SetEscapeHTML(false)
	return e.Encode(answer)
}

// answerDocuments places the groups of all documents in what the cluster has left, one after the other. It parses all
// documents before it reads the cluster.
func (r *fitRun) answerDocuments(ctx context.Context, documents []source) error {
	groups := make([][]inventory.Group, len(documents))
	for i, d := range documents {
		var err error
		if groups[i], err = r.readGroups(ctx, d); err != nil {
			return err
		}
	}
	to, cfg, err := r.Open(ctx, capacity.Requests)
	if err != nil {
		return err
	}
	room, err := reservation.ReadRoom(ctx, to, cfg)
	if err != nil {
		return err
	}
	for _, note := range room.Notes {
		fmt.Fprintf(r.ErrOut, "Warning: %s\n", terminal.OneLine(note, terminal.MaxCell))
	}
	left := room.Inventory(cfg)
	for i, d := range documents {
		question := cases.Case{Name: d.name}
		answer := cases.Answer{Name: d.name}
		for _, g := range groups[i] {
			question.Requests = append(question.Requests, g)
			answer.Results = append(answer.Results, cases.NewResult(left.Reserve(room.Asked(g))))
		}
		answer.After = cases.NewAfter(left.Room())
		if err := r.print(question, answer, r.output != "json"); err != nil {
			return err
		}
	}
	return nil
}

// readGroups returns the groups of resources that an input requests. An SDL needs no lease here.
func (r *fitRun) readGroups(ctx context.Context, d source) ([]inventory.Group, error) {
	opts := input.Options{DocumentSize: int64(config.Default().Limits.DocumentSize), Workloads: true, Unleased: true}
	defs, found, err := input.All(ctx, bytes.NewReader(d.text), d.name, opts)
	r.Warn(found)
	switch problems := found.Errors(); {
	case err != nil:
		return nil, err
	case len(problems) > 0:
		return nil, problems
	case len(defs) == 0:
		return nil, lease.Problems{{At: lease.Place{File: d.name}, Message: "the input has no groups"}}
	}
	groups := make([]inventory.Group, len(defs))
	for i, def := range defs {
		groups[i] = inventory.GroupOf(def.ResourceGroup())
	}
	return groups, nil
}
