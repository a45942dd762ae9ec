package console

import (
	"bytes"
	"strings"
	"testing"
	"time"

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

// In a pipe a wait is a line on standard error, with its times; with -o events it has them as keys.
func TestWaitsInAPipe(t *testing.T) {
	since := time.Date(2026, 11, 27, 14, 5, 1, 0, time.Local)
	event := report.Event{
		Action: report.Waiting, Lease: numbered(7), Kind: "lease", Name: numbered(7).Group().String(), Message: "for MetalLB", Since: since, Until: since.Add(2 * time.Minute),
	}
	for output, want := range map[string]string{
		"":           "lease/akash1owner/7/1 waiting for MetalLB (since 14:05:01, until 14:07:01 at most)\n",
		OutputEvents: `"since":"` + since.UTC().Format(time.RFC3339) + `","until":"` + since.UTC().Add(2*time.Minute).Format(time.RFC3339) + `"`,
	} {
		var out bytes.Buffer
		c := New(t.Context(), genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
		NewEvents(&c, output, "").Report(event)
		if !strings.Contains(out.String(), want) {
			t.Errorf("with -o %q printed is\n%swant\n%s", output, out.String(), want)
		}
	}
}
