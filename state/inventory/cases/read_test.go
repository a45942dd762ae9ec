package cases_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/cockroachdb/datadriven"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/inventory/cases"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

const node = `{"name":"n1","cpu":{"allocatable":4000,"allocated":0},"memory":{"allocatable":8,"allocated":0},"ephemeral_storage":{"allocatable":8,"allocated":0},"gpu":{"allocatable":0,"allocated":0}}`

// line returns a case with one node and these requests.
func line(requests string) string {
	return `{"name":"c","cluster":{"nodes":[` + node + `],"storage":[]},"ip":null,"requests":[` + requests + `]}`
}

// read returns the names of all cases and the error after them.
func read(text string, size int64) (names []string, err error) {
	for c, e := range cases.Read(strings.NewReader(text), "f.jsonl", size) {
		if e != nil {
			return names, e
		}
		names = append(names, c.Name)
	}
	return names, nil
}

func TestReadLines(t *testing.T) {
	names, err := read("\n"+line("")+"\r\n  \n"+line(""), 1<<20)
	if err != nil || len(names) != 2 {
		t.Errorf("got %q, %v", names, err)
	}
}

// What is no case, and what the error says: testdata/strict.txt. "text" is the whole text, with \n for a line end and CASE for a case;
// "requests" are requests of a case; "instead" replaces something in a case.
func TestReadIsStrict(t *testing.T) {
	says := func(text string) string {
		names, err := read(text, 1<<20)
		if _, ok := errors.AsType[lease.Problems](err); !ok {
			return fmt.Sprintf("read: %q, %v", names, err)
		}
		return err.Error()
	}
	golden.Rules{
		"text": func(text string) string { return says(strings.NewReplacer(`\n`, "\n", "CASE", line("")).Replace(text)) },
		"requests": func(requests string) string {
			return says(line(strings.ReplaceAll(requests, "MANY", strings.Repeat(`","`, 1000))))
		},
		"instead": func(words string) string {
			old, by, _ := strings.Cut(words, " | ")
			return says(strings.Replace(line(""), old, by, 1))
		},
	}.Check(t, "testdata/strict.txt")
}

func TestReadBoundsLines(t *testing.T) {
	names, err := read(line("")+"\n"+strings.Repeat(" ", 2000)+"\n", 1000)
	if len(names) != 1 || err == nil || err.Error() != "f.jsonl:2:1: the line is longer than 1000 bytes, the largest that is read" {
		t.Errorf("got %q, %v", names, err)
	}
	// The reader does not buffer an endless line.
	if _, err := read("", 1<<20); err != nil {
		t.Error(err)
	}
	for _, err := range cases.Read(endless{}, "-", 1<<20) {
		if err == nil || !strings.HasPrefix(err.Error(), "-:1:1: the line is longer") {
			t.Error(err)
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '['
	}
	return len(p), nil
}

func TestReadTellsOfFaults(t *testing.T) {
	for _, err := range cases.Read(io.MultiReader(strings.NewReader("{"), iotest.ErrReader(io.ErrClosedPipe)), "f", 100) {
		if !errors.Is(err, io.ErrClosedPipe) {
			t.Error(err)
		}
	}
}

// A case is yielded before the next one is read.
func TestReadIsLazy(t *testing.T) {
	r, w := io.Pipe()
	go func() { _, _ = w.Write([]byte(line("") + "\n")) }()
	for c, err := range cases.Read(r, "-", 1<<20) {
		if err != nil || c.Name != "c" {
			t.Error(c, err)
		}
		break
	}
}

// For any input the reader returns cases or problems, and the inventory answers the cases.
func FuzzRead(f *testing.F) {
	f.Add([]byte(line(`{"name":"g","resources":[{"id":1,"count":2,"cpu":18446744073709551615,"gpu":{"units":3,"attributes":["vendor/nvidia/model/*/ram/1e9"]}}]}`)))
	f.Add([]byte(`{"commit":{"cpu":1e308,"gpu":-1},"cluster":{"nodes":[` + node + `],"storage":[{"class":"a","allocatable":-1,"allocated":1}]},"requests":[{"name":"","resources":[{"id":1,"count":9,"storage":[{"name":"v","size":9,"attributes":{"class":"a","persistent":"true"}}]}]}]}`))
	f.Add([]byte("null\n{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for c, err := range cases.Read(bytes.NewReader(data), "-", 1<<16) {
			if err != nil {
				if _, ok := errors.AsType[lease.Problems](err); !ok {
					t.Errorf("%T: %v", err, err)
				}
				continue
			}
			if a := c.Answer(); len(a.Results) != len(c.Requests) {
				t.Errorf("%d answers to %d requests", len(a.Results), len(c.Requests))
			}
		}
	})
}

// The lines of an answer, also of cases and requests without a name, of nodes with several replicas, of many nodes, and of refusals.
func TestLines(t *testing.T) {
	params := func(id uint32, vendor, model string) map[uint32]*lease.SchedulerParams {
		return map[uint32]*lease.SchedulerParams{id: {Resources: &lease.SchedulerResources{GPU: &lease.SchedulerGPU{Vendor: vendor, Model: model}}}}
	}
	var many []string
	for i := range 12 {
		many = append(many, fmt.Sprint("n", i))
	}
	a := cases.Answer{Results: []cases.Result{
		{Fits: true},
		{Fits: true, Placement: map[uint32][]string{2: {"n2", "n1", "n2"}, 1: {"n1"}}, SchedulerParams: params(2, "nvidia", "t4")},
		{Message: "no node has 3 CPU", Placement: map[uint32][]string{1: {"a"}}},
		{Fits: true, Placement: map[uint32][]string{1: many}},
		{Fits: true, Placement: map[uint32][]string{7: {"b", "b", "b"}}},
		{Fits: true, Placement: map[uint32][]string{10: {"b"}, 1: {"a"}}},
		{Fits: true, Placement: map[uint32][]string{1: {"a"}}, SchedulerParams: params(1, "amd", "x")},
		{Fits: true, Placement: map[uint32][]string{1: {"a"}, 2: {"a", "a"}}, SchedulerParams: map[uint32]*lease.SchedulerParams{1: nil}},
	}}
	requests := append([]inventory.Group{{Name: "a"}, {Name: "b"}, {}, {Name: "d"}}, make([]inventory.Group, 4)...)
	lines := slices.Concat(a.Lines(cases.Case{Name: "c", Requests: requests}), a.Lines(cases.Case{Requests: requests}))
	golden.Check(t, "testdata/lines.golden", strings.Join(lines, "\n")+"\n")
}

// The answers as they are printed, a public format: testdata/answers has cases, each written over several lines, and
// `go test ./state/inventory/cases -rewrite` writes what is answered; "whole" is for all of it as one object. Those in akash.txt are Akash's own inventory's answers.
func TestAnswers(t *testing.T) {
	datadriven.Walk(t, "testdata/answers", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out bytes.Buffer
			for c, err := range cases.Read(strings.NewReader(strings.ReplaceAll(d.Input, "\n", " ")), "case", 1<<20) {
				if err != nil {
					return "error: " + err.Error()
				}
				a := c.Answer()
				if d.Cmd == "whole" {
					write(t, &out, a)
					continue
				}
				for _, part := range []any{a.Existing, a.Results, a.After} {
					if list, ok := part.([]cases.Result); ok {
						for _, r := range list {
							write(t, &out, r)
						}
						continue
					}
					write(t, &out, part)
				}
				out.WriteString(strings.Join(a.Lines(c), "\n"))
			}
			return out.String()
		})
	})
}

func write(t *testing.T, out *bytes.Buffer, part any) {
	t.Helper()
	if err := json.NewEncoder(out).Encode(part); err != nil {
		t.Fatal(err)
	}
}
