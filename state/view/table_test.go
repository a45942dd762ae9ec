package view

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
	"github.com/akash-net/kubectl-akash-net/state/statetest/claimtest"
)

// What state shows of a ledger and a cluster: testdata has a block for each, and the rows it makes; `go test ./state/view
// -rewrite` writes them. A block is at minute 10, and has a line for each object (claims and leases as claimtest says them):
//
//	claim CLAIM
//	KIND LEASE NAME [SERVICE:PORT] [minute=N] [unaccepted] [nobody]        a ProviderHost or a route
//	leasedip LEASE ENDPOINT PORT SERVICE [minute=N]
//	service LEASE ENDPOINT PORT SERVICE:PORT [asks=A] [has=A] [pool=P] [minute=N]
//	pool [their] NAME RANGE... [counted=ASSIGNED/AVAILABLE]
//	backend LEASE …, slice LEASE …                                        as addBackend has them
//	config MODE [RANGE...]
//
// Its command is the subject, with "selector=…" or "namespace=LEASE" where only some rows are asked for, and "endpoints". The command "changes"
// has two parts, "then" between them, and shows what a watch shows of the second.
func TestTables(t *testing.T) {
	for _, name := range []string{"hosts", "ips", "leases", "pools", "endpoints", "changes"} {
		path := "testdata/" + name + ".txt"
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "changes" {
				before, now, _ := strings.Cut(d.Input+"\n", "then\n")
				subjects := []Subject{SubjectHosts, SubjectIPs, SubjectLeases, SubjectPools, SubjectEndpoints}
				return sayBook(wordBook(t, now, subjects...).Changes(wordBook(t, before, subjects...)))
			}
			subjects := []Subject{Subject(d.Cmd)}
			if d.HasArg("endpoints") {
				subjects = append(subjects, SubjectEndpoints)
			}
			b := wordBook(t, d.Input, subjects...)
			selector, namespace := labels.Everything(), ""
			for _, arg := range d.CmdArgs {
				switch arg.Key {
				case "selector":
					s, err := labels.Parse(strings.NewReplacer("OWNER-A", "akash1a").Replace(strings.Join(arg.Vals, ",")))
					if err != nil {
						t.Fatal(err)
					}
					selector = s
				case "namespace":
					namespace = claimtest.WordLease(t, arg.Vals[0]).Namespace()
				}
			}
			if len(d.CmdArgs) > 0 {
				b.Select(selector, namespace)
			}
			return sayBook(b)
		})
	}
}

func wordBook(t *testing.T, text string, subjects ...Subject) *Book {
	t.Helper()
	in, cfg := Contents{Now: statetest.Minute(10)}, config.Default()
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "":
		case "claim":
			in.Claims = append(in.Claims, claimtest.WordClaim(t, rest))
		case "leasedip":
			in.Ports = append(in.Ports, wordPort(t, rest))
		case "service":
			in.Services = append(in.Services, wordService(t, rest))
		case "pool":
			in.Pools = append(in.Pools, wordPool(t, rest))
		case "backend", "slice":
			of, rest, _ := strings.Cut(rest, " ")
			addBackend(t, &in.Backends, claimtest.WordLease(t, of).Namespace(), word+" "+rest)
		case "config":
			words := strings.Fields(rest)
			cfg = statetest.Config(t, words[0], words[1:]...)
			cfg.IP.Pool = "asked"
		default:
			in.Hosts = append(in.Hosts, wordRoute(t, word, rest))
		}
	}
	return NewBook(cfg, in, subjects...)
}

// said returns the optional words of a line: minute=3 and so on.
func said(words []string) (minute int, values map[string]string) {
	values = map[string]string{}
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		if values[name] = value; name == "minute" {
			minute, _ = strconv.Atoi(value)
		}
	}
	return minute, values
}

func wordBackend(text string) (service string, port uint16) {
	service, number, _ := strings.Cut(text, ":")
	n, _ := strconv.ParseUint(number, 10, 16)
	return service, uint16(n)
}

func wordRoute(t *testing.T, kind, text string) state.HostObject {
	words := strings.Fields(text)
	id := claimtest.WordLease(t, words[0])
	minute, more := said(words[2:])
	namespace := id.Namespace()
	if kind == "ProviderHost" {
		namespace = "lease"
	}
	meta := statetest.Meta(id, namespace, words[1], minute)
	if _, nobody := more["nobody"]; nobody {
		meta.Labels = map[string]string{lease.LabelOwner: id.Owner}
	}
	o := state.HostObjectOf(kind, meta)
	if len(words) > 2 && strings.Contains(words[2], ":") {
		o.Whole = true
		o.Service, o.Port = wordBackend(words[2])
	}
	if _, un := more["unaccepted"]; un {
		o.Whole, o.Unaccepted = true, "no controller has accepted it"
	}
	return o
}

func wordPort(t *testing.T, text string) state.PortObject {
	words := strings.Fields(text)
	id := claimtest.WordLease(t, words[0])
	protocol, port := state.Part{Key: claimtest.WordKey(words[2])}.ProtocolPort()
	minute, _ := said(words[4:])
	meta := statetest.Meta(id, "lease", lease.LeasedIPName(lease.SharingKey(id.Owner, words[1]), protocol, port), minute, "service-name", words[3])
	return state.PortObjectOf(meta)
}

func wordService(t *testing.T, text string) state.ServiceObject {
	words := strings.Fields(text)
	id := claimtest.WordLease(t, words[0])
	minute, more := said(words[4:])
	s := state.ServiceObject{
		Labelled:   state.LabelledOf("Service", statetest.Meta(id, id.Namespace(), "s-"+strings.ReplaceAll(words[2], "/", "-"), minute)),
		SharingKey: lease.SharingKey(id.Owner, words[1]), Pool: more["pool"],
	}
	s.Protocol, s.Port = state.Part{Key: claimtest.WordKey(words[2])}.ProtocolPort()
	s.Service, s.ContainerPort = wordBackend(words[3])
	s.Asked, s.Granted = wordAddresses(more["asks"]), wordAddresses(more["has"])
	return s
}

func wordAddresses(text string) (addresses []netip.Addr) {
	for word := range strings.SplitSeq(text, ",") {
		if word != "" {
			addresses = append(addresses, netip.MustParseAddr(word))
		}
	}
	return addresses
}

func wordPool(t *testing.T, text string) state.PoolObject {
	words := strings.Fields(text)
	o := state.PoolObject{Ours: words[0] != "their"}
	if !o.Ours {
		words = words[1:]
	}
	o.Name = words[0]
	for _, word := range words[1:] {
		if _, err := fmt.Sscanf(word, "counted=%d/%d", &o.Assigned, &o.Available); err == nil {
			o.Counted = true
			continue
		}
		r, err := config.ParseRange(word)
		if err != nil {
			t.Fatal(err)
		}
		o.Texts, o.Ranges = append(o.Texts, word), append(o.Ranges, r)
	}
	return o
}

func sayBook(b *Book) string {
	var out strings.Builder
	say := func(format string, args ...any) {
		text := strings.Join(strings.Fields(claimtest.Short(fmt.Sprintf(format, args...))), " ")
		fmt.Fprintln(&out, text)
	}
	tenant := func(t *Tenant) string {
		if t.Lease == "" {
			return "owner " + t.Owner
		}
		return t.Lease
	}
	minute := func(at metav1.Time) string {
		if at.IsZero() {
			return "since ?"
		}
		return fmt.Sprintf("since %d", int(at.Sub(statetest.Start).Minutes()))
	}
	more := func(claimed bool, expires, message string, e *Endpoints) string {
		text := ""
		if e != nil && e.Missing != "" {
			text += " no " + e.Missing
		} else if e != nil {
			text += fmt.Sprintf(" ready %d/%d", e.Ready, e.Total)
		}
		if !claimed {
			text += " unclaimed"
		}
		if expires != "" {
			text += " ends " + expires[len("2026-11-18T"):]
		}
		if message != "" {
			text += " (" + message + ")"
		}
		return text
	}
	for _, r := range b.Hosts {
		say("%s%s %s %s %s:%d %s %s%s", r.Host, r.Path, r.State, tenant(r.Tenant), r.Service, r.Port, r.Target, minute(r.Since), more(r.Claimed, r.Expires, r.Message, r.Endpoints))
	}
	for _, r := range b.IPs {
		address := "-"
		if r.Address.IsValid() {
			address = r.Address.String()
		}
		say("%s %s %s %d/%s of %s %s:%d pool %s %s%s", address, r.State, tenant(r.Tenant), r.Port, r.Protocol, r.SharingKey, r.Service, r.ContainerPort, r.Pool, minute(r.Since), more(r.Claimed, r.Expires, r.Message, r.Endpoints))
	}
	for _, r := range b.Leases {
		say("%s %s hosts %v addresses %v %s", tenant(r.Tenant), r.State, r.Hosts, r.Addresses, minute(r.Since))
	}
	for _, r := range b.Pools {
		say("%s %v %s: %d addresses, %d used, %d free", r.Name, r.Ranges, r.Mode, r.Addresses, r.Used, r.Free)
	}
	if out.Len() == 0 {
		return "nothing\n"
	}
	return out.String()
}

// Group and kind identify objects. A Lease counts only in the ledger, a Service only if it is for MetalLB.
func TestContentsOfObjects(t *testing.T) {
	id := claimtest.WordLease(t, "A/1")
	count := func(apiVersion, kind, namespace string, labels map[string]string) string {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
		o.SetNamespace(namespace)
		o.SetName("a.example.com")
		all := id.Labels()
		for key, value := range labels {
			all[key] = value
		}
		o.SetLabels(all)
		if kind == "Lease" {
			o.SetAnnotations(map[string]string{state.AnnotationLedger: "v1"})
		}
		var c Contents
		c.Add(o, "ledger")
		return fmt.Sprintf("claims %d hosts %d ports %d services %d pools %d records %d namespaces %d", len(c.Claims), len(c.Hosts), len(c.Ports), len(c.Services), len(c.Pools), len(c.Records), len(c.Namespaces))
	}
	metallb := map[string]string{lease.LabelServiceTarget: lease.ServiceTargetMetalLB}
	for _, x := range []struct {
		apiVersion, kind, namespace string
		labels                      map[string]string
		want                        string
	}{
		{"coordination.k8s.io/v1", "Lease", "ledger", nil, "claims 1 "},
		{"coordination.k8s.io/v1", "Lease", "", nil, "claims 1 "},
		{"coordination.k8s.io/v1", "Lease", "kube-system", nil, ""},
		{"v1", "Namespace", "", nil, " namespaces 1"},
		{"akash.network/v2beta2", "ProviderHost", "lease", nil, " hosts 1 "},
		{"networking.k8s.io/v1", "Ingress", "n", nil, " hosts 1 "},
		{"extensions/v1beta1", "Ingress", "n", nil, ""},
		{"gateway.networking.k8s.io/v1", "HTTPRoute", "n", nil, " hosts 1 "},
		{"gateway.networking.k8s.io/v1", "TLSRoute", "n", nil, " hosts 1 "},
		{"route.openshift.io/v1", "Route", "n", nil, " hosts 1 "},
		{"serving.knative.dev/v1", "Route", "n", nil, ""},
		{"akash.network/v2beta2", "ProviderLeasedIP", "lease", nil, " ports 1 "},
		{"v1", "Service", "n", metallb, " services 1 "},
		{"v1", "Service", "n", nil, ""},
		{"metallb.io/v1beta1", "IPAddressPool", "m", nil, " pools 1 "},
		{"extensions.gardener.cloud/v1alpha1", "DNSRecord", "n", nil, " records 1 "},
		{"externaldns.k8s.io/v1alpha1", "DNSEndpoint", "n", nil, " records 1 "},
		{"externaldns.k8s.io/v1alpha1", "DNSEndpoint", "n", map[string]string{lease.LabelOwner: ""}, ""},
		{"v1", "ConfigMap", "n", nil, ""},
	} {
		if got := count(x.apiVersion, x.kind, x.namespace, x.labels); !strings.Contains(" "+got, x.want) || x.want == "" && strings.Trim(got, "abcdefghijklmnopqrstuvwxyz 0") != "" {
			t.Errorf("%s %s in %q: %s, want %q", x.apiVersion, x.kind, x.namespace, got, x.want)
		}
	}
}

// A tenant with only a known owner is selected by the owner alone.
func TestLabelsOfTenants(t *testing.T) {
	id := claimtest.WordLease(t, "A/2/1")
	whole := newTenant(id).complete()
	for key, want := range id.Labels() {
		if got := whole.Labels()[key]; got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if got := whole.Labels()[lease.LabelNamespace]; got != id.Namespace() {
		t.Errorf("the namespace is %q", got)
	}
	some := (&Tenant{Owner: "akash1a", Namespace: "n"}).Labels()
	if len(some) != 2 || some[lease.LabelOwner] != "akash1a" || some[lease.LabelManaged] != "true" {
		t.Errorf("of an owner the labels are %v", some)
	}
	if none := (&Tenant{}).Labels(); len(none) != 1 {
		t.Errorf("of nobody the labels are %v", none)
	}
}
