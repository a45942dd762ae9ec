package leaselogs

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
)

func mixed(several bool) (*reader, *strings.Builder) {
	var out strings.Builder
	return &reader{out: &out, several: several}, &out
}

// Bytes pass as they are, however they come.
func TestCopy(t *testing.T) {
	for name, text := range map[string]string{
		"nothing": "", "a line": "a\n", "no end": "a\nb", "empty lines": "\n\n", "bytes": "\x00\xff\x1b[31m\r\n",
		"a long line": strings.Repeat("é", 96<<10) + "\nshort\n",
	} {
		for how, in := range map[string]io.Reader{"whole": strings.NewReader(text), "byte by byte": iotest.OneByteReader(strings.NewReader(text))} {
			m, out := mixed(false)
			if err := m.copy("pod/a/a", in); err != nil || out.String() != text {
				t.Errorf("%s, %s: %d bytes of %d, %v", name, how, out.Len(), len(text), err)
			}
		}
	}
}

// A line of several sources begins with its source, and each has an end.
func TestPrefixes(t *testing.T) {
	m, out := mixed(true)
	for _, w := range []struct{ source, piece string }{{"a", "one\n"}, {"b", "tw"}, {"b", "o\n"}, {"a", "five"}} {
		if err := m.write(w.source, []byte(w.piece)); err != nil {
			t.Fatal(err)
		}
	}
	if want := "[a] one\n[b] tw\n[b] o\n[a] five\n"; out.String() != want {
		t.Errorf("got %q, want %q", out, want)
	}
}

// Lines of many sources do not run into each other.
func TestManySources(t *testing.T) {
	m, out := mixed(true)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			source := fmt.Sprint(i)
			if err := m.copy(source, strings.NewReader(strings.Repeat("from "+source+"\n", 500))); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 4000 {
		t.Errorf("%d lines", len(lines))
	}
	for _, line := range lines {
		if source := strings.TrimPrefix(line, "["); len(source) == len(line) || line != fmt.Sprintf("[%s] from %[1]s", source[:1]) {
			t.Fatalf("a line is %q", line)
		}
	}
}

type broken struct{ error }

func (b broken) Write([]byte) (int, error) { return 0, b.error }

// What ends a source is told apart from what ends the output, which ends all.
func TestErrors(t *testing.T) {
	full, cut := errors.New("disk full"), errors.New("connection cut")
	m := &reader{out: broken{full}}
	for range 2 {
		if err := m.copy("a", strings.NewReader("x\n")); !errors.Is(err, full) || isContainerError(err) {
			t.Errorf("of a full disk: %v", err)
		}
	}
	m, out := mixed(false)
	if err := m.copy("a", io.MultiReader(strings.NewReader("x\ny"), iotest.ErrReader(cut))); !errors.Is(err, cut) || !isContainerError(err) || out.String() != "x\ny" {
		t.Errorf("of a connection: %v, %q", err, out)
	}
}

func TestSources(t *testing.T) {
	status := func(fields string) string { return `{"name":"web",` + fields + `}` }
	for name, tt := range map[string]struct{ spec, statuses, want string }{
		"not scheduled":    {``, ``, "it is not scheduled yet"},
		"not started":      {`"nodeName":"n",`, ``, "it has not started yet"},
		"starting":         {`"nodeName":"n",`, status(`"state":{"waiting":{"reason":"ContainerCreating"}}`), "it is waiting: ContainerCreating"},
		"without a reason": {`"nodeName":"n",`, status(`"state":{"waiting":{}}`), "it has not started yet"},
		"running":          {`"nodeName":"n",`, status(`"state":{"running":{}}`), ""},
		"ended":            {`"nodeName":"n",`, status(`"state":{"terminated":{"exitCode":1}}`), ""},
		"crashing":         {`"nodeName":"n",`, status(`"restartCount":3,"state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":{"terminated":{"exitCode":1}}`), ""},
	} {
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON([]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-1","uid":"u"},"spec":{` + tt.spec + `"containers":[{"name":"web"}]},"status":{"containerStatuses":[` + tt.statuses + `]}}`)); err != nil {
			t.Fatal(err)
		}
		got, err := sourcesOf([]*unstructured.Unstructured{o})
		if err != nil || len(got) != 1 || got[0].waits != tt.want || got[0].name() != "pod/web-1/web" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if restarted := strings.Contains(tt.statuses, "restartCount"); restarted != (got[0].key == "u/web/3") {
			t.Errorf("%s: the key is %s", name, got[0].key)
		}
	}
	if _, err := sourcesOf([]*unstructured.Unstructured{{Object: map[string]any{"metadata": map[string]any{"name": "x"}, "spec": "x"}}}); err == nil {
		t.Error("a pod that cannot be read is read")
	}
}

// A service is named once, also while it becomes one of another kind, and not any more while it ends.
func TestCheckService(t *testing.T) {
	of := func(kind kinds.Kind, service string, ends bool) *unstructured.Unstructured {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(kind.GroupVersionKind)
		o.SetNamespace("ns")
		o.SetName(service)
		o.SetLabels(map[string]string{lease.LabelManaged: "true", lease.LabelService: service})
		if ends {
			o.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)})
		}
		return o
	}
	c, err := cluster.OfObjects([]*unstructured.Unstructured{
		of(kinds.Deployment, "web", false), of(kinds.StatefulSet, "web", false), of(kinds.Deployment, "api", false), of(kinds.Deployment, "old", true),
	})
	if err != nil {
		t.Fatal(err)
	}
	for service, want := range map[string]string{"": "", "web": "", "old": `it has no service "old": it has api, web`} {
		err := (&reader{cluster: c, namespace: "ns", opts: Options{Service: service}}).checkService(t.Context())
		if got := fmt.Sprint(err); (err == nil) != (want == "") || err != nil && got != want {
			t.Errorf("%q: %v", service, err)
		}
	}
}
