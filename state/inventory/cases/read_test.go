package cases_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/akash-net/kubectl-akash-net/lease"
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
