package console

import (
	"bytes"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/report"
)

// With -o name each thing and object is named once, however much is said of it.
func TestNamesArePrintedOnce(t *testing.T) {
	var out bytes.Buffer
	c := New(t.Context(), genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
	e := NewEvents(&c, OutputName, "")
	for _, event := range []report.Event{
		{Action: report.Claimed, Kind: "host", Name: "a.example.com"},
		{Action: report.Created, Kind: "service", Namespace: "one", Name: "web-ip-443-tcp"},
		{Action: report.Created, Kind: "service", Namespace: "two", Name: "web-ip-443-tcp"},
		{Action: report.Granted, Kind: "service", Namespace: "one", Name: "web-ip-443-tcp"},
		{Action: report.Left, Kind: "host", Name: "a.example.com"},
		{Action: report.Done, Kind: "lease", Name: "x"},
	} {
		e.Report(event)
	}
	if want := "host/a.example.com\nservice/web-ip-443-tcp\nservice/web-ip-443-tcp\n"; out.String() != want {
		t.Errorf("printed is\n%swant\n%s", out.String(), want)
	}
}

// The name of a file is data: what it holds is not obeyed, and no second line.
func TestFilesAreCountedInOneLine(t *testing.T) {
	var out bytes.Buffer
	c := New(t.Context(), genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
	c.Begin(true, false)
	c.End(t.Context(), lease.Problems{{At: lease.Place{File: "b\x1b[31m\nad.yaml", Line: 1, Column: 1}, Message: "wrong"}})
	if want := `Error: b\x1b[31m\nad.yaml has 1 error` + "\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("printed is\n%swant\n%s", out.String(), want)
	}
}
