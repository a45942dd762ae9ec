package input_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
)

// How a document is recognised, and what is said of one that is not: testdata/documents.txt, a stream a line, where ";;"
// ends a line of it; `go test ./lease/input -rewrite` writes what is said now.
//
//	read [lease]    as from files, with --lease or without
//	object          as a Manifest object of the cluster
//
// LEASE, GROUP and SERVICES stand for a lease, a group and services.
func TestDocuments(t *testing.T) {
	short := strings.NewReplacer(
		"LEASE2", `"lease": {"owner": "akash1xqnd68gm", "dseq": 2, "gseq": 1, "oseq": 1, "provider": "akash1yqd7y67h"}`,
		"LEASE", `"lease": {"owner": "akash1xqnd68gm", "dseq": 1, "gseq": 1, "oseq": 1, "provider": "akash1yqd7y67h"}`,
		"ID", `"lease_id": {"owner": "akash1xqnd68gm", "dseq": "1", "gseq": 1, "oseq": 1, "provider": "akash1yqd7y67h"}`,
		"SERVICES", `"services": [{"name": "web", "expose": [{"port": 80, "global": true}]}]`,
		"OURS", `"apiVersion": "net.akash.network/v1alpha1", "kind": "LeaseDefinition", "metadata": {"name": "a"}`,
		"THEIRS", `"apiVersion": "akash.network/v2beta2", "kind": "Manifest"`, ";;", "\n",
	)
	id, err := lease.ParseID("akash1xqnd68gm/1/1/1/akash1yqd7y67h")
	if err != nil {
		t.Fatal(err)
	}
	datadriven.RunTest(t, "testdata/documents.txt", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			line = strings.TrimSuffix(line, "\n")
			fmt.Fprintln(&out, line)
			said := func(def *lease.Definition) error {
				fmt.Fprintf(&out, "    lease %s, %d services\n", def.Lease, len(def.Services))
				return nil
			}
			var problems lease.Problems
			if d.Cmd == "object" {
				var def *lease.Definition
				if def, problems = input.ManifestObject("a", []byte(short.Replace(line)), input.Options{}); def != nil {
					_ = said(def) // it fails never
				}
			} else {
				opt := input.Options{}
				if d.HasArg("lease") {
					opt.Lease = &id
				}
				if problems, err = input.Read(t.Context(), strings.NewReader(short.Replace(line)), "f", opt, said); err != nil {
					t.Fatal(err)
				}
			}
			for _, p := range problems {
				fmt.Fprintf(&out, "    %s\n", p.Error())
			}
		}
		return out.String()
	})
}

// Many documents are read in their order, each with its line, and what was asked to stop stops.
func TestManyDocuments(t *testing.T) {
	const n = 5000
	var text strings.Builder
	for i := range n {
		owner := "akash1xqnd68gm"
		if i%1000 == 999 {
			owner = "x"
		}
		fmt.Fprintf(&text, "---\n{apiVersion: net.akash.network/v1alpha1, kind: LeaseDefinition, metadata: {name: a}, spec: {lease: {owner: %s, dseq: %d, gseq: 1, oseq: 1, provider: akash1yqd7y67h}, services: [{name: web, expose: [{port: 80, global: true}]}]}}\n", owner, i+1)
	}
	last := uint64(0)
	problems, err := input.Read(t.Context(), strings.NewReader(text.String()), "f", input.Options{}, func(d *lease.Definition) error {
		if d.Lease.DSeq <= last {
			t.Fatalf("%d is read after %d", d.Lease.DSeq, last)
		}
		last = d.Lease.DSeq
		return nil
	})
	if err != nil || last != n-1 || len(problems) != 5 || problems[4].At.Line != 2*n {
		t.Errorf("the last is %d, problems %v, error %v", last, problems, err)
	}
	stop, seen := errors.New("enough"), 0
	if _, err := input.Read(t.Context(), strings.NewReader(text.String()), "f", input.Options{}, func(*lease.Definition) error {
		if seen++; seen == 2000 {
			return stop
		}
		return nil
	}); !errors.Is(err, stop) || seen != 2000 {
		t.Errorf("%d are read, error %v", seen, err)
	}
	broken := brokenReader{}
	if _, err := input.Read(t.Context(), broken, "f", input.Options{}, func(*lease.Definition) error { return nil }); !errors.Is(err, errBroken) || !strings.HasPrefix(err.Error(), "f: ") {
		t.Errorf("a reader that is broken: %v", err)
	}
}

var errBroken = errors.New("broken")

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errBroken }
