// Package backup reads the ledger as objects that can be kept in a file, and brings them back.
package backup

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/manifests"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

// Record is an object of the ledger: a claim, a reservation or a kept definition.
type Record struct {
	// Kind and Name are how people call it: "host" and "shop.example.com".
	Kind, Name string
	// Holder is whose it is: an owner, or the deployment group of a definition.
	Holder string
	// Claim is what the object says if it is a claim on a thing.
	Claim  *state.Claim
	Object *unstructured.Unstructured
}

// Ledger is what a backup has.
type Ledger struct {
	// Config is the text of the provider's configuration, empty for none. At is the ConfigMap with it.
	Config string
	At     *unstructured.Unstructured
	// Records are in the order in which to write them: definitions are the last, for who sees one expects its lease's claims.
	Records []Record
}

// Read reads the ledger in a namespace. What is being deleted is none of it, nor are announcements of commands and the reconcilers'
// elections: they are about what runs now.
func Read(ctx context.Context, c *cluster.Cluster, namespace string) (*Ledger, error) {
	objects, err := c.Objects(ctx, cluster.Leases, namespace, metav1.ListOptions{})
	if err != nil {
		return nil, c.Explain(err, "list", cluster.Leases)
	}
	config, err := c.ConfigMap(ctx, namespace)
	if err != nil {
		return nil, err
	}
	if config != nil {
		config.SetAPIVersion("v1") // a typed client leaves it out
		config.SetKind("ConfigMap")
		objects = append(objects, config)
	}
	l, _ := Of(objects, namespace)
	return l, nil
}

// Of returns the ledger among objects, and an error for each that is none of a ledger's. Objects of the ledger that no backup has are
// skipped.
func Of(objects []*unstructured.Unstructured, namespace string) (*Ledger, lease.Problems) {
	var l Ledger
	var problems lease.Problems
	for _, o := range objects {
		in, name := cmp.Or(o.GetNamespace(), namespace), o.GetName()
		kind := o.GroupVersionKind().GroupKind()
		switch {
		case in != namespace || name == "":
			problems.Add(lease.Place{}, "%s %s in namespace %q is no object of the ledger in namespace %s", kind, name, in, namespace)
		case kind == corev1.SchemeGroupVersion.WithKind("ConfigMap").GroupKind() && name == manifests.ConfigMapName:
			text, _, err := cluster.ConfigText(o)
			if err != nil {
				problems.Add(lease.Place{}, "%v", err)
			}
			l.Config, l.At = text, plain(o, namespace)
		case kind.Group != cluster.Leases.Group || kind.Kind != "Lease":
			problems.Add(lease.Place{}, "%s %s is no object of a ledger", kind, name)
		case o.GetDeletionTimestamp() != nil, state.IsAnnouncement(name), state.IsElection(name), state.IsFailing(name):
		default:
			r, ok := recordOf(plain(o, namespace))
			if !ok {
				problems.Add(lease.Place{}, "lease.coordination.k8s.io %s is no object of a ledger", name)
				continue
			}
			l.Records = append(l.Records, r)
		}
	}
	if l.At == nil && len(l.Records) == 0 && len(problems) == 0 {
		problems.Add(lease.Place{}, "the input holds no object of a ledger")
	}
	slices.SortStableFunc(l.Records, func(a, b Record) int {
		return cmp.Or(strings.Compare(order(a), order(b)), strings.Compare(a.Object.GetName(), b.Object.GetName()))
	})
	return &l, problems
}

// order sorts definitions behind everything else.
func order(r Record) string {
	if r.Kind == kindDefinition {
		return "2"
	}
	return "1"
}

// The kinds of records that are no claims on things.
const (
	kindDefinition  = "definition"
	kindReservation = "order"
)

func recordOf(o *unstructured.Unstructured) (r Record, ok bool) {
	meta := &metav1.ObjectMeta{Name: o.GetName(), Labels: o.GetLabels(), Annotations: o.GetAnnotations()}
	holder, _, _ := unstructured.NestedString(o.Object, "spec", "holderIdentity")
	r = Record{Holder: holder, Object: o}
	switch {
	case kept.IsName(meta.Name):
		r.Kind, r.Name = kindDefinition, cmp.Or(holder, meta.Name)
	case state.IsReservation(meta.Name):
		r.Kind, r.Name = kindReservation, cmp.Or(meta.Annotations[reserved.AnnotationOrder], meta.Name)
	default:
		claim, is := state.ReadClaim(meta)
		if !is {
			return r, false
		}
		r.Kind, r.Name, r.Claim = string(claim.Kind), cmp.Or(claim.Thing, meta.Name), &claim
	}
	return r, true
}

// plain returns of an object what somebody has written: no UID, version, time and managed fields.
func plain(o *unstructured.Unstructured, namespace string) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: map[string]any{}}
	out.SetAPIVersion(o.GetAPIVersion())
	out.SetKind(o.GetKind())
	out.SetNamespace(namespace)
	out.SetName(o.GetName())
	if labels := o.GetLabels(); len(labels) > 0 {
		out.SetLabels(labels)
	}
	annotations := maps.Clone(o.GetAnnotations())
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	if len(annotations) > 0 {
		out.SetAnnotations(annotations)
	}
	for _, key := range []string{"spec", "data"} {
		if value, found := o.Object[key]; found {
			out.Object[key] = value
		}
	}
	return out
}

// Objects returns the ledger's objects, in the order in which to write them.
func (l *Ledger) Objects() (out []*unstructured.Unstructured) {
	if l.At != nil {
		out = append(out, l.At)
	}
	for _, r := range l.Records {
		out = append(out, r.Object)
	}
	return out
}

// String returns the name of a record, such as "host/shop.example.com".
func (r Record) String() string { return fmt.Sprintf("%s/%s", r.Kind, r.Name) }
