package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/dns"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/admission"
)

// RouteRow is the verdict on one host and path of a live route, in one shard.
type RouteRow struct {
	// Kind is Ingress, HTTPRoute, TLSRoute or Route. Namespace and Name are the object's.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Host is the host as written in the object. For a Route with a wildcard policy it is one of the hosts that the
	// Route covers.
	Host     string `json:"host"`
	Path     string `json:"path"`
	Wildcard bool   `json:"wildcard,omitempty"`
	// Redirect is true for a route that only redirects clients.
	Redirect bool `json:"redirect,omitempty"`
	Admitted bool `json:"admitted"`
	// Reason and Message say why a route is not admitted, in the terms of OpenShift's router.
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Shard is empty if no shards are configured or none selects the route.
	Shard string `json:"shard,omitempty"`
	// Owner and Lease are those of the route's lease.
	Owner string      `json:"owner,omitempty"`
	Lease string      `json:"lease,omitempty"`
	Since metav1.Time `json:"since"`
	// labels are the labels of the object.
	labels map[string]string
}

// Pattern returns the host or the wildcard, with the path.
func (r RouteRow) Pattern() string {
	host := r.Host
	if r.Wildcard {
		_, domain, _ := strings.Cut(host, ".")
		host = "*." + domain
	}
	return host + r.Path
}

func (r RouteRow) key() string {
	return strings.Join([]string{r.Shard, r.Kind, r.Namespace, r.Name, r.Host, r.Path, strconv.FormatBool(r.Redirect)}, " ")
}

// release turns the row into that of a route that is gone.
func (r *RouteRow) release() {
	r.Admitted, r.Reason, r.Message = false, StateReleased, ""
}

// SelectShard keeps the routes of one shard.
func (b *Book) SelectShard(name string) {
	b.Routes = slices.DeleteFunc(b.Routes, func(r RouteRow) bool { return r.Shard != name })
}

// routeRows admits routes: a claimed host belongs to its holder; otherwise the oldest route wins.
func routeRows(cfg *config.ProviderConfig, in Contents) []RouteRow {
	claims := admission.NewClaims()
	for _, c := range in.Claims {
		switch {
		case c.Deleting || c.Kind.HasPorts():
		case c.Unreadable != "":
			claims.Add(c.Thing, "")
		case c.Ended(in.Now): // the next claimant may take it
		case c.Kind == state.Wildcard && !c.Bound(): // it yields to every host below it
		default:
			claims.Add(c.Thing, c.Owner)
		}
	}
	tenants := map[string]lease.ID{}
	for name, labels := range in.Namespaces {
		if id, ok := lease.IDFromLabels(labels); ok {
			tenants[name] = id
		}
	}
	routes := in.Gateways.Attach(in.Routes, in.Namespaces)
	for i := range routes {
		if id, ok := tenants[routes[i].Namespace]; ok && !routes[i].HasLease {
			routes[i].Lease, routes[i].HasLease = id, true
		}
	}
	admissions := admission.Decide(admission.NewRules(cfg), claims, routes, in.Namespaces)
	rows := make([]RouteRow, 0, len(admissions))
	for _, a := range admissions {
		row := RouteRow{
			Kind: a.Kind, Namespace: a.Namespace, Name: a.Name, Host: a.Host, Path: a.Path,
			Wildcard: a.Wildcard != admission.WildcardNone, Redirect: a.Redirect,
			Admitted: a.Admitted, Reason: a.Reason, Message: a.Message, Shard: a.Shard,
			Since: metav1.NewTime(a.Created), labels: a.Labels,
		}
		if a.HasLease {
			row.Owner, row.Lease = a.Lease.Owner, a.Lease.String()
		}
		rows = append(rows, row)
	}
	return rows
}

// SubjectDNS are the DNS records. It is shown on request: most clusters have none.
const SubjectDNS Subject = "dns"

// StateFailed is a DNS record that its controller could not create.
const StateFailed = "Failed"

// Annotations that trigger Gardener's extensions (gardener: docs/extensions/reconcile-trigger.md).
const (
	// GardenerOperation requests an operation. The extension removes it when it begins.
	GardenerOperation = "gardener.cloud/operation"
	// GardenerTimestamp makes each request an update of the object.
	GardenerTimestamp = "gardener.cloud/timestamp"
)

// RecordObject is a DNSRecord or a DNSEndpoint.
type RecordObject struct {
	state.Labelled
	// Host is the host of the records. It is empty for an object of somebody else.
	Host    string
	Records []dns.Record
	Zone    string
	// Operation is the last operation, such as "Reconcile Succeeded". Message is its error.
	Operation, Message string
	// State is Active, Pending, Failed or Terminating.
	State string
}

// RecordHost returns the host of this program's DNS record, or "".
func RecordHost(o metav1.Object) string { return o.GetAnnotations()[lease.AnnotationHost] }

// RecordObjectOf reads a DNSRecord or a DNSEndpoint.
func RecordObjectOf(o *unstructured.Unstructured) RecordObject {
	r := RecordObject{Labelled: state.LabelledOf(o.GetKind(), o), Host: RecordHost(o), State: StatePending}
	spec, status := state.Field(o.Object, "spec"), state.Field(o.Object, "status")
	observed, _ := state.Field(status, "observedGeneration").(int64)
	if o.GetKind() == "DNSEndpoint" {
		r.readEndpoints(spec)
		if observed >= o.GetGeneration() {
			r.State = StateActive
		}
	} else {
		r.readRecord(spec, status)
		if observed == o.GetGeneration() && o.GetAnnotations()[GardenerOperation] == "" {
			r.State = r.operationState(status)
		}
	}
	if o.GetDeletionTimestamp() != nil {
		r.State = StateTerminating
	}
	return r
}

// TargetsOf returns the sorted targets that live or rendered records have for a host.
func TargetsOf(host string, objects ...*unstructured.Unstructured) (targets []string) {
	for _, o := range objects {
		for _, r := range RecordObjectOf(o).Records {
			for _, v := range r.Values {
				if r.Name == host && r.Type != dns.TXT {
					targets = append(targets, string(r.Type)+" "+v)
				}
			}
		}
	}
	slices.Sort(targets)
	return slices.Compact(targets)
}

// Lacks returns what a record waits for that is not served; "" if it is. The error is what its controller says of one that was not made.
func (r RecordObject) Lacks() (string, error) {
	kind, last := kinds.Of(r.Kind), "its controller has not taken it up yet"
	switch {
	case r.State == StateActive:
		return "", nil
	case r.State == StateFailed:
		return "", fmt.Errorf("%s %s/%s: the record was not made (%s): %s", kind.Singular, r.Namespace, r.Name, r.Operation, r.Message)
	case r.Operation != "":
		last = "last operation: " + r.Operation
	}
	return fmt.Sprintf("%s %s/%s to be served (%s; see: kubectl -n %s describe %s.%s %s)",
		kind.Singular, r.Namespace, r.Name, last, r.Namespace, kind.Plural, kind.Group, r.Name), nil
}

// ValuesText formats the types and values of a record, as "A 192.0.2.1; TXT x, y".
func (r RecordObject) ValuesText() string {
	var texts []string
	for _, of := range r.Records {
		texts = append(texts, string(of.Type)+" "+strings.Join(of.Values, ", "))
	}
	return strings.Join(texts, "; ")
}

func (r *RecordObject) readEndpoints(spec any) {
	list, _ := state.Field(spec, "endpoints").([]any)
	for _, e := range list {
		r.Records = append(r.Records, recordOf(e, "dnsName", "recordTTL", "targets"))
	}
}

// readRecord reads a DNSRecord. If its spec names no zone, the zone that the extension found counts.
func (r *RecordObject) readRecord(spec, status any) {
	r.Records = []dns.Record{recordOf(spec, "name", "ttl", "values")}
	asked, _ := state.Field(spec, "zone").(string)
	found, _ := state.Field(status, "zone").(string)
	r.Zone = cmp.Or(asked, found)
	kind, _ := state.Field(status, "lastOperation", "type").(string)
	progress, _ := state.Field(status, "lastOperation", "state").(string)
	r.Operation = strings.TrimSpace(kind + " " + progress)
}

// operationState returns the state of a record whose current version the extension has seen.
func (r *RecordObject) operationState(status any) string {
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
	// Name is the name of the record: the host, or the name of the TXT record beside it.
	Name   string   `json:"name"`
	Type   dns.Type `json:"type"`
	Values []string `json:"values"`
	// TTL is in seconds. It is 0 if the DNS server chooses it.
	TTL     int64  `json:"ttl"`
	Zone    string `json:"zone"`
	*Tenant `json:",inline"`
	// Kind and Object are the object with the record.
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

// records returns this program's DNS records by host, name and type. If several objects have the same record, the
// message says so: the last one that is served wins.
func (f *bookBuilder) records(objects []RecordObject) []DNSRow {
	rows := []DNSRow{}
	for _, o := range objects {
		if o.Host == "" {
			continue
		}
		tenant := f.tenantOf(o.Labelled)
		for _, r := range o.Records {
			rows = append(rows, DNSRow{
				Host: o.Host, Name: r.Name, Type: r.Type, Values: r.Values, TTL: r.TTL, Zone: o.Zone, Tenant: tenant,
				Kind: o.Kind, Object: o.Name, LastOperation: o.Operation, State: o.State, Since: metav1.NewTime(o.Since),
				Message: o.Message,
			})
		}
	}
	slices.SortFunc(rows, func(a, b DNSRow) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(b.nameRank(), a.nameRank()), cmp.Compare(a.Type, b.Type),
			cmp.Compare(a.key(), b.key()))
	})
	for i := 1; i < len(rows); i++ {
		if a, b := &rows[i-1], &rows[i]; a.Name == b.Name && a.Type == b.Type {
			b.Message = cmp.Or(b.Message, fmt.Sprintf("%s %s/%s is for it too", a.Kind, a.Namespace, a.Object))
		}
	}
	return rows
}

// nameRank sorts the host's own records before the others.
func (r DNSRow) nameRank() int {
	if r.Name == r.Host {
		return 1
	}
	return 0
}

// Resource returns the resource of the object in the form that kubectl accepts.
func (r *RecordObject) Resource() string {
	if FormOf(r.Kind) == config.DNSEndpoint {
		return "dnsendpoints.externaldns.k8s.io"
	}
	return "dnsrecords.extensions.gardener.cloud"
}

// FormOf returns the form of DNS records (config) that the kind belongs to.
func FormOf(kind string) string {
	if kind == "dnsendpoint" {
		return config.DNSEndpoint
	}
	return config.DNSGardener
}
