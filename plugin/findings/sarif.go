package findings

import (
	"io"
	"slices"

	"github.com/akash-net/kubectl-akash-net/emit"
	"github.com/akash-net/kubectl-akash-net/plugin/version"
)

// The parts of a log in the Static Analysis Results Interchange Format (SARIF) 2.1.0 that a report needs. The libraries write
// every optional list and bring a validator into the program.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               Rule      `json:"id"`
		ShortDescription sarifText `json:"shortDescription"`
		FullDescription  sarifText `json:"fullDescription"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    Rule            `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     Level           `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifLocation struct {
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		File   sarifFile    `json:"artifactLocation"`
		Region *sarifRegion `json:"region,omitempty"`
	}
	sarifFile struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
	}
	sarifLogical struct {
		Name string `json:"fullyQualifiedName"`
	}
)

const (
	sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	// columns says that a column is a character and not a unit of UTF-16, as the readers count them.
	columns = "unicodeCodePoints"
)

// WriteSARIF writes the errors and warnings as a SARIF log. Files are named relative to the root of the source code.
func (r Report) WriteSARIF(w io.Writer, root Root) error {
	run := sarifRun{ColumnKind: columns, Results: []sarifResult{}, Tool: sarifTool{sarifDriver{
		Name: "kubectl-akash-net", Version: version.Of().Version, InformationURI: "https://github.com/akash-net/kubectl-akash-net",
	}}}
	for _, one := range rules {
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{one.rule, sarifText{one.title}, sarifText{one.text}})
	}
	for _, f := range r.forPipelines() {
		result := sarifResult{
			RuleID: f.Rule, RuleIndex: slices.IndexFunc(run.Tool.Driver.Rules, func(one sarifRule) bool { return one.ID == f.Rule }),
			Level: f.Level, Message: sarifText{f.text()},
		}
		if at := locationOf(f, root); at.Physical != nil || at.Logical != nil {
			result.Locations = []sarifLocation{at}
		}
		run.Results = append(run.Results, result)
	}
	return emit.WriteJSON(w, sarifLog{Schema: sarifSchema, Version: "2.1.0", Runs: []sarifRun{run}})
}

// locationOf returns the place of a finding in a file, and the thing that it is about.
func locationOf(f Finding, root Root) (at sarifLocation) {
	if f.Name != "" {
		at.Logical = []sarifLogical{{f.Kind + "/" + f.Name}}
	}
	if f.File == "" || f.File == input {
		return at
	}
	at.Physical = &sarifPhysical{File: sarifFile{root.uri(f.File)}}
	if f.Line > 0 {
		at.Physical.Region = &sarifRegion{f.Line, f.Column}
	}
	return at
}
