// Package findings has what check has found, as documents for pipelines: JSON, YAML, SARIF and the annotations of GitHub Actions.
package findings

import (
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
	// NoAddress: no address is left for an IP endpoint.
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

// rules describe all rules that are findings of a pipeline, in the order of their documentation.
var rules = []struct {
	rule        Rule
	title, text string
}{
	{Held, "Held by another owner", "Another owner holds the host or the address."},
	{InUse, "In use without a claim", "Nobody has claimed the host or the address, and an object uses it."},
	{Rival, "Wanted by two owners", "Leases of two owners want the same thing in one input."},
	{NoAddress, "No address is left", "No address is left for an IP endpoint."},
	{Withheld, "Withheld", "Another deployment of the same owner holds it, so the lease does not get it."},
	{Unproved, "Not proved by DNS", "DNS does not prove that the tenant controls the host."},
	{InvalidDefinition, "Invalid definition", "A lease definition cannot be used."},
	{InvalidLedger, "Invalid ledger", "An object in the files of --ledger cannot be read."},
	{Doubtful, "Warning", "The input is used, and may not do what it seems to do."},
	{Refused, "Refused", "The lease would be refused."},
}

// Level says what a finding means for the exit code.
type Level string

// The levels, as SARIF has them: an error is not accepted, a warning is, and None is no finding for a pipeline.
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
