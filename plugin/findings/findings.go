// Package findings has what check has found, as documents for pipelines: JSON, YAML and the annotations of GitHub Actions.
package findings

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Rule names a kind of finding. Pipelines rely on it.
type Rule string

// The rules.
const (
	// Free and Own are things that the lease can have, or has.
	Free Rule = "Free"
	Own  Rule = "Own"
	// Withheld: another deployment of the owner holds the thing.
	Withheld Rule = "Withheld"
	// Held: another owner holds it. InUse: nobody has claimed it, and an object uses it. Rival: another owner wants it in the same input.
	Held  Rule = "Held"
	InUse Rule = "InUse"
	Rival Rule = "Rival"
	// NoAddress: no address is free for an IP endpoint.
	NoAddress Rule = "NoAddress"
	// Unproved: DNS does not prove that the tenant controls the host.
	Unproved Rule = "Unproved"
	// InvalidDefinition and InvalidLedger are errors in the files of -f and of --ledger, Doubtful is a warning about one.
	InvalidDefinition Rule = "InvalidDefinition"
	InvalidLedger     Rule = "InvalidLedger"
	Doubtful          Rule = "Doubtful"
	// Refused: apply would refuse the lease for another reason.
	Refused Rule = "Refused"
)

// titles are those of the rules that are findings of a pipeline.
var titles = map[Rule]string{
	Held: "Held by another owner", InUse: "In use without a claim", Rival: "Wanted by two owners", NoAddress: "No address is free",
	Withheld: "Withheld", Unproved: "Not proved by DNS", InvalidDefinition: "Invalid definition", InvalidLedger: "Invalid ledger",
	Doubtful: "Warning", Refused: "Refused",
}

// Level says what a finding means for the exit code.
type Level string

// The levels, as the annotations of GitHub Actions have them: an error is not accepted, a warning is, and None is no finding for a pipeline.
const (
	Error   Level = "error"
	Warning Level = "warning"
	None    Level = "none"
)

// Finding is one thing that was found.
type Finding struct {
	Rule  Rule   `json:"rule"`
	Level Level  `json:"level"`
	Lease string `json:"lease,omitempty"`
	// Kind and Name are the thing.
	Kind    string  `json:"kind,omitempty"`
	Name    string  `json:"name,omitempty"`
	Message string  `json:"message"`
	By      *Holder `json:"by,omitempty"`
	// File, Line and Column are where the input asks for the thing, both counted from 1; Field is the path in the document.
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	Field  string `json:"field,omitempty"`
}

// Holder is who has a thing.
type Holder struct {
	Lease     string     `json:"lease,omitempty"`
	Owner     string     `json:"owner,omitempty"`
	Object    string     `json:"object,omitempty"`
	Namespace string     `json:"namespace,omitempty"`
	Since     *time.Time `json:"since,omitempty"`
	Service   string     `json:"service,omitempty"`
	Port      uint16     `json:"port,omitempty"`
	Reason    string     `json:"reason,omitempty"`
	// Input is the place where another definition of the same input asks for it.
	Input string `json:"input,omitempty"`
}

// HolderOf returns the holder of a thing, or nil if nobody has it.
func HolderOf(by state.Holder) *Holder {
	if by == (state.Holder{}) {
		return nil
	}
	h := &Holder{
		Owner: by.Owner, Object: by.Object, Namespace: by.Namespace, Service: by.Service, Port: by.Port, Reason: by.Reason, Input: by.Input,
	}
	if by.Lease != (lease.ID{}) {
		h.Lease = by.Lease.String()
	}
	if !by.Since.IsZero() {
		since := by.Since.UTC()
		h.Since = &since
	}
	return h
}

// At returns the finding with its place in the input. A place without a file has only a field.
func (f Finding) At(at lease.Place) Finding {
	f.File, f.Field = at.File, at.Path
	if f.Field == "" {
		f.Field = at.Field.String()
	}
	if at.Line > 0 {
		f.Line, f.Column = at.Line, at.Column
	}
	return f
}

// Report is what a check has found. Input and ledger problems come first, then what was found of each lease.
type Report struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Findings   []Finding `json:"findings"`
}

// NewReport returns a report of findings.
func NewReport(found []Finding) Report {
	if found == nil {
		found = []Finding{}
	}
	return Report{APIVersion: lease.Domain + "/v1alpha1", Kind: "Check", Findings: found}
}

// forPipelines returns the findings that are errors and warnings.
func (r Report) forPipelines() (out []Finding) {
	for _, f := range r.Findings {
		if f.Level != None {
			out = append(out, f)
		}
	}
	return out
}

// text returns the message, with the file if the finding has no place in one that can be shown.
func (f Finding) text() string {
	if f.File == input {
		return lease.Problem{At: lease.Place{File: "standard input", Line: f.Line, Column: f.Column, Path: f.Field}, Message: f.Message}.Error()
	}
	if f.Field != "" && f.Rule == InvalidDefinition {
		return f.Field + ": " + f.Message
	}
	return f.Message
}

// input is the file name of standard input.
const input = "-"

// GitHub's rules for what a workflow command contains: actions/toolkit, packages/core/src/command.ts.
var (
	messageEscapes  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// WriteGitHub writes the errors and warnings as workflow commands of GitHub Actions, a line for each, which become annotations of
// the files. Files are named relative to the root of the source code.
func (r Report) WriteGitHub(w io.Writer, root Root) error {
	for _, f := range r.forPipelines() {
		var properties []string
		add := func(name, value string) { properties = append(properties, name+"="+propertyEscapes.Replace(value)) }
		if f.File != "" && f.File != input {
			add("file", root.relative(f.File))
			if f.Line > 0 {
				add("line", fmt.Sprint(f.Line))
				add("col", fmt.Sprint(f.Column))
			}
		}
		add("title", titles[f.Rule])
		if _, err := fmt.Fprintf(w, "::%s %s::%s\n", f.Level, strings.Join(properties, ","), messageEscapes.Replace(f.text())); err != nil {
			return err
		}
	}
	return nil
}

// Root is the root of the source code, relative to which files are named; empty to name them as they were given.
type Root string

// workspace is the environment variable with the root of the source code in GitHub Actions, whose steps may run in a folder of it.
const workspace = "GITHUB_WORKSPACE"

// SourceRoot returns the root of the source code: the workspace of GitHub Actions, otherwise the working directory.
func SourceRoot() Root {
	if root := os.Getenv(workspace); root != "" {
		return Root(root)
	}
	root, err := os.Getwd()
	if err != nil {
		return ""
	}
	return Root(root)
}

// relative returns a path relative to the root, with slashes. A file outside of it keeps its path.
func (r Root) relative(file string) string {
	whole, err := filepath.Abs(file)
	if err == nil && r != "" {
		if path, err := filepath.Rel(string(r), whole); err == nil && filepath.IsLocal(path) {
			return filepath.ToSlash(path)
		}
	}
	return filepath.ToSlash(file)
}
