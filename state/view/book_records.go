package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/dns"
	"github.com/akash-net/kubectl-akash-net/state"
)

// SubjectDNS are the DNS records. It is shown when it is asked for: most clusters have none.
const SubjectDNS Subject = "dns"

// StateFailed is a DNS record that its controller could not make.
const StateFailed = "Failed"

// Annotations by which Gardener's extensions are told to act (gardener:
// docs/extensions/reconcile-trigger.md).
const (
	// GardenerOperation asks for an operation; the extension removes it when it begins.
	GardenerOperation = "gardener.cloud/operation"
	// GardenerTimestamp makes an event of each request.
	GardenerTimestamp = "gardener.cloud/timestamp"
)

// RecordObject is a DNSRecord or a DNSEndpoint.
type RecordObject struct {
	state.Labelled
	// Host is the host that it is for; empty for an object that is not ours.
	Host    string
	Records []dns.Record
	Zone    string
	// Operation is the last one, such as "Reconcile Succeeded"; Message is what went wrong.
	Operation, Message string
	// State is Active, Pending, Failed or Terminating.
	State string
}

// RecordHost is the host that a DNS record of ours is for.
func RecordHost(o metav1.Object) string { return o.GetAnnotations()[lease.AnnotationHost] }

// RecordObjectOf reads a DNSRecord or a DNSEndpoint.
func RecordObjectOf(o *unstructured.Unstructured) RecordObject {
	r := RecordObject{Labelled: state.LabelledOf(o.GetKind(), o), Host: RecordHost(o), State: StatePending}
	spec, status := state.Field(o.Object, "spec"), state.Field(o.Object, "status")
	observed, _ := state.Field(status, "observedGeneration").(int64)
	if o.GetKind() == "DNSEndpoint" {
		r.endpoints(spec)
		if observed >= o.GetGeneration() {
			r.State = StateActive
		}
	} else {
		r.record(spec, status)
		if observed == o.GetGeneration() && o.GetAnnotations()[GardenerOperation] == "" {
			r.State = r.operated(status)
		}
	}
	if o.GetDeletionTimestamp() != nil {
		r.State = StateTerminating
	}
	return r
}

func (r *RecordObject) endpoints(spec any) {
	list, _ := state.Field(spec, "endpoints").([]any)
	for _, e := range list {
		r.Records = append(r.Records, recordOf(e, "dnsName", "recordTTL", "targets"))
	}
}

// record reads a DNSRecord. Where no zone is asked for the one that the extension found counts.
func (r *RecordObject) record(spec, status any) {
	r.Records = []dns.Record{recordOf(spec, "name", "ttl", "values")}
	asked, _ := state.Field(spec, "zone").(string)
	found, _ := state.Field(status, "zone").(string)
	r.Zone = cmp.Or(asked, found)
	kind, _ := state.Field(status, "lastOperation", "type").(string)
	progress, _ := state.Field(status, "lastOperation", "state").(string)
	r.Operation = strings.TrimSpace(kind + " " + progress)
}

// operated is what the last operation says of a record that the extension has seen as it is.
func (r *RecordObject) operated(status any) string {
	switch progress, _ := state.Field(status, "lastOperation", "state").(string); progress {
	case "Succeeded":
		return StateActive
	case "Error", "Failed", "Aborted":
		said, _ := state.Field(status, "lastError", "description").(string)
		done, _ := state.Field(status, "lastOperation", "description").(string)
		r.Message = cmp.Or(said, done)
		return StateFailed
	}
	return StatePending
}

func recordOf(spec any, name, ttl, values string) dns.Record {
	var r dns.Record
	r.Name, _ = state.Field(spec, name).(string)
	kind, _ := state.Field(spec, "recordType").(string)
	r.Type = dns.Type(kind)
	r.TTL, _ = state.Field(spec, ttl).(int64)
	list, _ := state.Field(spec, values).([]any)
	for _, v := range list {
		text, _ := v.(string)
		r.Values = append(r.Values, text)
	}
	return r
}

// DNSRow is one DNS record of a host.
type DNSRow struct {
	Host string `json:"host"`
	// Name is the record's name: the host, or that of the TXT record beside it.
	Name   string   `json:"name"`
	Type   dns.Type `json:"type"`
	Values []string `json:"values"`
	// TTL is in seconds, 0 where it is left to whoever serves the record.
	TTL     int64  `json:"ttl"`
	Zone    string `json:"zone"`
	*Tenant `json:",inline"`
	// Kind and Object are the object that asks for the record.
	Kind          string `json:"kind"`
	Object        string `json:"object"`
	LastOperation string `json:"lastOperation"`
	// State is Active, Pending, Failed or Terminating.
	State   string      `json:"state"`
	Since   metav1.Time `json:"since"`
	Message string      `json:"message,omitempty"`
}

func (r DNSRow) key() string {
	return r.Name + " " + string(r.Type) + " " + r.Kind + " " + r.Namespace + "/" + r.Object
}

// records lists the DNS records of ours by host, name and type. Where another object of ours is for
// the same record it is said: the last one that is served wins.
func (f *folder) records(objects []RecordObject) []DNSRow {
	rows := []DNSRow{}
	for _, o := range objects {
		if o.Host == "" {
			continue
		}
		tenant := f.tenantOf(o.Labelled)
		for _, r := range o.Records {
			rows = append(rows, DNSRow{
				Host: o.Host, Name: r.Name, Type: r.Type, Values: r.Values, TTL: r.TTL, Zone: o.Zone, Tenant: tenant,
				Kind: o.Kind, Object: o.Name, LastOperation: o.Operation, State: o.State, Since: metav1.NewTime(o.Since), Message: o.Message,
			})
		}
	}
	slices.SortFunc(rows, func(a, b DNSRow) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(b.nameRank(), a.nameRank()), cmp.Compare(a.Type, b.Type), cmp.Compare(a.key(), b.key()))
	})
	for i := 1; i < len(rows); i++ {
		if a, b := &rows[i-1], &rows[i]; a.Name == b.Name && a.Type == b.Type {
			b.Message = cmp.Or(b.Message, fmt.Sprintf("%s %s/%s is for it too", a.Kind, a.Namespace, a.Object))
		}
	}
	return rows
}

// nameRank puts the host's own records before those beside it.
func (r DNSRow) nameRank() int {
	if r.Name == r.Host {
		return 1
	}
	return 0
}

// Resource is how kubectl calls the objects of the kind.
func (r *RecordObject) Resource() string {
	if FormOf(r.Kind) == config.DNSEndpoint {
		return "dnsendpoints.externaldns.k8s.io"
	}
	return "dnsrecords.extensions.gardener.cloud"
}

// FormOf is the form of which a kind of object is.
func FormOf(kind string) string {
	if kind == "dnsendpoint" {
		return config.DNSEndpoint
	}
	return config.DNSGardener
}
