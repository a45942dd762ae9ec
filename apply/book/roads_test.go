package book

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// What a cluster holds and the same objects in files are one book, whatever of them cannot be read: testdata/roads.yaml.
func TestFilesAndClusterAreOneBook(t *testing.T) {
	text, err := os.ReadFile("testdata/roads.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	for document := range strings.SplitSeq(string(text), "---\n") {
		o := &unstructured.Unstructured{}
		data, err := yaml.YAMLToJSON([]byte(document))
		if err == nil {
			err = o.UnmarshalJSON(data)
		}
		if err != nil {
			t.Fatalf("%v: %s", err, document)
		}
		objects = append(objects, o)
	}
	c, err := cluster.OfObjects(objects)
	if err != nil {
		t.Fatal(err)
	}
	cfg, all := config.Default(), append(slices.Clone(view.Subjects), view.SubjectDNS, view.SubjectResources, view.SubjectOrders, view.SubjectWorkloads, view.SubjectEndpoints)
	requests := [][]view.Subject{all}
	for _, subject := range all[:8] {
		requests = append(requests, []view.Subject{subject})
	}
	for _, subjects := range requests {
		online, err := Read(t.Context(), c, cfg, subjects...)
		if err != nil {
			t.Fatal(err)
		}
		files := view.Contents{Now: time.Now()}
		files.Backends.ResetSlices(true)
		for _, o := range slices.Backward(objects) {
			files.Add(o, cfg.LedgerNamespace)
		}
		if diff := cmp.Diff(said(t, online), said(t, view.NewBook(cfg, files, subjects...))); diff != "" {
			t.Errorf("%v: -cluster, +files\n%s", subjects, diff)
		}
		if len(said(t, online)) < 3 {
			t.Errorf("%v: the book is empty", subjects)
		}
	}
}

// said returns the book as a document.
func said(t *testing.T, b *view.Book) (out map[string]any) {
	t.Helper()
	text, err := json.Marshal(b)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}
