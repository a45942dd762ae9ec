package operators

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// Provider makes the calls with which Akash's provider writes its objects. It looks at nobody's claims.
type Provider struct {
	*Operators
	// deployed are the hosts that it has declared of a lease since it was started.
	deployed map[lease.ID][]string
}

// NewProvider is the provider whose purges of addresses reach the objects of one owner, or all where the
// owner is empty, as those of the real one do.
func NewProvider(config *rest.Config, owner string) (Provider, error) {
	client, err := dynamic.NewForConfig(config)
	return Provider{&Operators{client: client, options: Options{Owner: owner, ManifestNamespace: "lease"}}, map[lease.ID][]string{}}, err
}

// Deployment is what a tenant's manifest says of a lease.
type Deployment struct {
	Lease    lease.ID
	Services []Service
}

// Service is a workload with instances.
type Service struct {
	Name   string
	Expose []Expose
}

// Expose is one port of a workload. A global TCP port 80 serves Hosts; IP leases the port on an endpoint.
type Expose struct {
	Port, As uint16
	Protocol string
	Global   bool
	Hosts    []string
	IP       string
	// HTTP are the options of the hosts; those of an SDL without any where it is nil.
	HTTP *HTTPOptions
}

// HTTPOptions are those of a port in the Manifest, times in milliseconds.
type HTTPOptions struct {
	MaxBodySize, ReadTimeout, SendTimeout, NextTries, NextTimeout int64
	NextCases                                                     []string
}

// ingress is true for a port that hosts are routed to.
func (e Expose) ingress() bool { return e.Global && e.Protocol == "TCP" && e.external() == 80 }

func (e Expose) external() uint16 {
	if e.As == 0 {
		return e.Port
	}
	return e.As
}

// ErrAlreadyExists is the answer to a port that is declared already.
var ErrAlreadyExists = errors.New("the leased IP exists already")

// ErrRename is the answer to a manifest that has other services than the one before.
var ErrRename = errors.New("manifest does not match service names with existing version")

// Deploy does what a tenant's manifest makes the provider do: what SendManifest writes, a ProviderHost for each host,
// and a ProviderLeasedIP for each leased port that has none. Then it purges the hosts of its last deployment that are
// gone, and all leased ports where an endpoint of the lease is.
func (p Provider) Deploy(ctx context.Context, d Deployment) error {
	if err := p.SendManifest(ctx, d); err != nil {
		return err
	}
	leased, err := p.client.Resource(LeasedIPs).Namespace(p.options.ManifestNamespace).List(ctx, metav1.ListOptions{LabelSelector: leaseSelector(d.Lease)})
	if err != nil {
		return err
	}
	before, hosts, keys := p.deployed[d.Lease], []string{}, map[string]bool{}
	for _, s := range d.Services {
		for _, e := range s.Expose {
			for _, host := range e.Hosts {
				if !e.ingress() {
					continue
				}
				hosts = append(hosts, host)
				if err := p.DeclareHostname(ctx, d.Lease, host, s.Name, e.external()); err != nil {
					return err
				}
			}
			if !e.Global || e.IP == "" {
				continue
			}
			key := lease.SharingKey(d.Lease.Owner, e.IP)
			keys[key] = true
			err := p.DeclareIP(ctx, d.Lease, s.Name, e.Port, e.external(), e.Protocol, key, false)
			if err != nil && !errors.Is(err, ErrAlreadyExists) { // a withheld endpoint is a line in its log
				return err
			}
		}
	}
	p.deployed[d.Lease] = hosts
	for _, host := range before {
		if !slices.Contains(hosts, host) {
			if err := p.PurgeDeclaredHostname(ctx, d.Lease, host); err != nil {
				return err
			}
		}
	}
	for i := range leased.Items {
		if key, _, _ := unstructured.NestedString(leased.Items[i].Object, "spec", "sharing_key"); !keys[key] {
			return p.PurgeDeclaredIP(ctx)
		}
	}
	return nil
}

// SendManifest writes the namespace, the Manifest and the workloads' Services of a lease, and declares nothing. It
// refuses other services than those of the Manifest that is there.
func (p Provider) SendManifest(ctx context.Context, d Deployment) error {
	name := d.Lease.Namespace()
	if err := p.checkServices(ctx, d); err != nil {
		return err
	}
	namespace := object(`{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {%s, akash.network/namespace: %s}}}`, name, labels(d.Lease), name)
	if err := p.create(ctx, Namespaces, namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	var services []string
	for _, s := range d.Services {
		var exposes []string
		for i, e := range s.Expose {
			exposes = append(exposes, fmt.Sprintf(`{port: %d, external_port: %d, proto: %s, global: %v, hosts: [%s], http_options: %s, ip: %q, endpoint_sequence_number: %d}`,
				e.Port, e.As, e.Protocol, e.Global, strings.Join(e.Hosts, ", "), e.HTTP, e.IP, i))
		}
		services = append(services, fmt.Sprintf(`{name: %s, image: nginx, count: 1, expose: [%s]}`, s.Name, strings.Join(exposes, ", ")))
	}
	err := p.put(ctx, Manifests, object(`{apiVersion: akash.network/v2beta2, kind: Manifest,
		metadata: {name: %s, namespace: %s, labels: {%s, akash.network/namespace: %s}},
		spec: {lease_id: {owner: %s, dseq: "%d", gseq: %d, oseq: %d, provider: %s}, group: {name: dcloud, services: [%s]}}}`,
		name, p.options.ManifestNamespace, labels(d.Lease), name, d.Lease.Owner, d.Lease.DSeq, d.Lease.GSeq, d.Lease.OSeq, d.Lease.Provider, strings.Join(services, ", ")))
	for _, s := range d.Services {
		err = errors.Join(err, p.serve(ctx, d.Lease, s, false), p.serve(ctx, d.Lease, s, true))
	}
	return err
}

// checkServices is an error for other services than those of the Manifest that is there: a tenant can neither add,
// remove nor rename one.
func (p Provider) checkServices(ctx context.Context, d Deployment) error {
	live, err := p.get(ctx, Manifests, p.options.ManifestNamespace, d.Lease.Namespace())
	if err != nil || live == nil {
		return err
	}
	var had, has []string
	services, _, _ := unstructured.NestedSlice(live.Object, "spec", "group", "services")
	for _, s := range services {
		had = append(had, fmt.Sprint(s.(map[string]any)["name"]))
	}
	for _, s := range d.Services {
		has = append(has, s.Name)
	}
	slices.Sort(had)
	slices.Sort(has)
	if !slices.Equal(had, has) {
		return fmt.Errorf("%w: %q, not %q", ErrRename, had, has)
	}
	return nil
}

// serve makes the Service of a workload: a NodePort for its global ports that are no ingress, a ClusterIP for the
// others. Its labels are not those of a lease, and one that has no port any more stays.
func (p Provider) serve(ctx context.Context, id lease.ID, s Service, global bool) error {
	name, kind := s.Name, "ClusterIP"
	if global {
		name, kind = s.Name+"-np", "NodePort"
	}
	var ports []string
	added := map[uint16]bool{}
	for i, e := range s.Expose {
		if (e.Global && !e.ingress()) != global || added[e.external()] { // whatever the protocol
			continue
		}
		added[e.external()] = true
		ports = append(ports, fmt.Sprintf("{name: %d-%d, port: %d, targetPort: %d, protocol: %s}", i, e.external(), e.external(), e.Port, e.Protocol))
	}
	if len(ports) == 0 {
		return nil
	}
	of := fmt.Sprintf(`%s: "true", akash.network/namespace: %s, %s: %s`, lease.LabelManaged, id.Namespace(), lease.LabelService, s.Name)
	return p.put(ctx, Services, object(`{apiVersion: v1, kind: Service, metadata: {name: %s, namespace: %s, labels: {%s, akash.network/manifest.resource.version: "1"}},
		spec: {type: %s, selector: {%s}, ports: [%s]}}`, name, id.Namespace(), of, kind, of, strings.Join(ports, ", ")))
}

// String is what the Manifest has of the options: what is zero is left out.
func (h *HTTPOptions) String() string {
	if h == nil {
		h = &HTTPOptions{MaxBodySize: 1048576, ReadTimeout: 60000, SendTimeout: 60000, NextTries: 3, NextCases: []string{"error", "timeout"}}
	}
	var fields []string
	for _, f := range []struct {
		name  string
		value int64
	}{{"max_body_size", h.MaxBodySize}, {"read_timeout", h.ReadTimeout}, {"send_timeout", h.SendTimeout}, {"next_tries", h.NextTries}, {"next_timeout", h.NextTimeout}} {
		if f.value != 0 {
			fields = append(fields, fmt.Sprintf("%s: %d", f.name, f.value))
		}
	}
	if len(h.NextCases) > 0 {
		fields = append(fields, fmt.Sprintf(`next_cases: ["%s"]`, strings.Join(h.NextCases, `", "`)))
	}
	return "{" + strings.Join(fields, ", ") + "}"
}
