package observed_test

import (
	"testing"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/state/inventory/observed"
)

// storageClass returns a class created in a minute of an hour. def marks it as the default, akash as Akash's.
func storageClass(name string, minute int, marks ...string) *storagev1.StorageClass {
	o := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}, Annotations: map[string]string{},
		CreationTimestamp: metav1.NewTime(time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC))}, Provisioner: "driver"}
	for _, m := range marks {
		switch m {
		case "def":
			o.Annotations["storageclass.kubernetes.io/is-default-class"] = "true"
		case "beta":
			o.Annotations["storageclass.beta.kubernetes.io/is-default-class"] = "true"
		case "no":
			o.Annotations["storageclass.kubernetes.io/is-default-class"] = "false"
		case "akash":
			o.Labels["akash.network"] = "true"
		}
	}
	return o
}

// Of several default classes Kubernetes chooses the newest or, if they are equally old, the first by name, whether or
// not they are Akash's.
func TestTheDefaultClassIsKubernetes(t *testing.T) {
	for name, c := range map[string]struct {
		classes []*storagev1.StorageClass
		want    string
	}{
		"none":               {nil, ""},
		"none is marked":     {[]*storagev1.StorageClass{storageClass("a", 1), storageClass("b", 2, "no")}, ""},
		"one":                {[]*storagev1.StorageClass{storageClass("a", 9), storageClass("b", 1, "def")}, "b"},
		"the older mark":     {[]*storagev1.StorageClass{storageClass("a", 9), storageClass("b", 1, "beta")}, "b"},
		"one mark says no":   {[]*storagev1.StorageClass{storageClass("a", 9, "no", "beta")}, "a"},
		"two":                {[]*storagev1.StorageClass{storageClass("a", 1, "def"), storageClass("b", 2, "def"), storageClass("c", 1, "def")}, "b"},
		"two of one moment":  {[]*storagev1.StorageClass{storageClass("c", 1, "def"), storageClass("b", 1, "def")}, "b"},
		"without a moment":   {[]*storagev1.StorageClass{{ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}}}, storageClass("b", 1, "def")}, "b"},
		"not Akash's":        {[]*storagev1.StorageClass{storageClass("a", 1, "akash"), storageClass("b", 1, "def")}, "b"},
		"the newer is not":   {[]*storagev1.StorageClass{storageClass("a", 1, "akash", "def"), storageClass("b", 2, "def")}, "b"},
		"the older is not":   {[]*storagev1.StorageClass{storageClass("a", 2, "akash", "def"), storageClass("b", 1, "def")}, "a"},
		"the mark is no yes": {[]*storagev1.StorageClass{{ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "True"}}}}, ""},
	} {
		var f observed.Fold
		for _, o := range c.classes {
			f.StorageClass(o)
		}
		if got := f.Capacity().DefaultClass; got != c.want {
			t.Errorf("%s: the default is %q, want %q", name, got, c.want)
		}
	}
}

// In whatever order classes are read, the default class is the same and is marked as a default.
func TestTheDefaultClassIsOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var classes []*storagev1.StorageClass
		marked := map[string]bool{}
		for _, name := range []string{"a", "b", "c", "default"} {
			mark := rapid.SampledFrom([]string{"def", "beta", "no", ""}).Draw(t, "mark")
			classes = append(classes, storageClass(name, rapid.IntRange(0, 2).Draw(t, "minute"), mark))
			marked[name] = mark == "def" || mark == "beta"
		}
		var f, g observed.Fold
		for _, o := range classes {
			f.StorageClass(o)
		}
		for _, o := range rapid.Permutation(classes).Draw(t, "order") {
			g.StorageClass(o)
		}
		got := f.Capacity().DefaultClass
		if got != g.Capacity().DefaultClass || got != "" && !marked[got] || got == "" && (marked["a"] || marked["b"] || marked["c"] || marked["default"]) {
			t.Errorf("the default is %q, then %q", got, g.Capacity().DefaultClass)
		}
	})
}
