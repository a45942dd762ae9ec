package operators

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// Provider makes the calls with which Akash's provider writes its objects. It looks at nobody's claims.
type Provider struct{ *Operators }

// NewProvider is the provider whose purges of addresses reach the objects of one owner, or all where the
// owner is empty, as those of the real one do.
func NewProvider(config *rest.Config, owner string) (Provider, error) {
	client, err := dynamic.NewForConfig(config)
	return Provider{&Operators{client: client, options: Options{Owner: owner, ManifestNamespace: "lease"}}}, err
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
}

// ErrAlreadyExists is the answer to a port that is declared already.
var ErrAlreadyExists = errors.New("the leased IP exists already")

// Deploy does what a tenant's manifest makes the provider do: the namespace, the Manifest, a ProviderHost
// for each host, and a ProviderLeasedIP for each leased port that has none.
func (p Provider) Deploy(ctx context.Context, d Deployment) error {
	if err := p.SendManifest(ctx, d); err != nil {
		return err
	}
	for _, s := range d.Services {
		for _, e := range s.Expose {
			for _, host := range e.Hosts {
				if err := p.DeclareHostname(ctx, d.Lease, host, s.Name, e.As); err != nil {
					return err
				}
			}
			if e.IP == "" {
				continue
			}
			err := p.DeclareIP(ctx, d.Lease, s.Name, e.Port, e.As, e.Protocol, lease.SharingKey(d.Lease.Owner, e.IP), false)
			if err != nil && !errors.Is(err, ErrAlreadyExists) { // a withheld endpoint is a line in its log
				return err
			}
		}
	}
	return nil
}

// SendManifest writes the namespace and the Manifest of a lease, and nothing else.
func (p Provider) SendManifest(ctx context.Context, d Deployment) error {
	name := d.Lease.Namespace()
	namespace := object(`{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {%s, akash.network/namespace: %s}}}`, name, labels(d.Lease), name)
	if err := p.create(ctx, Namespaces, namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	var services []string
	for _, s := range d.Services {
		var exposes []string
		for i, e := range s.Expose {
			exposes = append(exposes, fmt.Sprintf(`{port: %d, external_port: %d, proto: %s, global: %v, hosts: [%s], ip: %q, endpoint_sequence_number: %d}`,
				e.Port, e.As, e.Protocol, e.Global, strings.Join(e.Hosts, ", "), e.IP, i))
		}
		services = append(services, fmt.Sprintf(`{name: %s, image: nginx, count: 1, expose: [%s]}`, s.Name, strings.Join(exposes, ", ")))
	}
	return p.put(ctx, Manifests, object(`{apiVersion: akash.network/v2beta2, kind: Manifest,
		metadata: {name: %s, namespace: %s, labels: {%s, akash.network/namespace: %s}},
		spec: {lease_id: {owner: %s, dseq: "%d", gseq: %d, oseq: %d, provider: %s}, group: {name: dcloud, services: [%s]}}}`,
		name, p.options.ManifestNamespace, labels(d.Lease), name, d.Lease.Owner, d.Lease.DSeq, d.Lease.GSeq, d.Lease.OSeq, d.Lease.Provider, strings.Join(services, ", ")))
}

// DeclareHostname makes the ProviderHost of a host, or writes labels and spec over one that is there,
// whoever has it.
func (p Provider) DeclareHostname(ctx context.Context, id lease.ID, host, service string, externalPort uint16) error {
	made := object(`{apiVersion: akash.network/v2beta2, kind: ProviderHost,
		metadata: {name: %q, namespace: %s, labels: {%s}, annotations: {%s: %q}},
		spec: {owner: %s, provider: %s, hostname: %q, dseq: %d, gseq: %d, oseq: %d, service_name: %s, external_port: %d}}`,
		host, p.options.ManifestNamespace, labels(id), lease.AnnotationUpdatedAt, time.Now().UTC().Format(time.RFC3339),
		id.Owner, id.Provider, host, id.DSeq, id.GSeq, id.OSeq, service, externalPort)
	live, err := p.get(ctx, Hosts, p.options.ManifestNamespace, host)
	switch {
	case err != nil:
		return err
	case live == nil:
		return p.create(ctx, Hosts, made)
	}
	annotations := live.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[lease.AnnotationUpdatedAt] = made.GetAnnotations()[lease.AnnotationUpdatedAt]
	live.SetAnnotations(annotations)
	live.SetLabels(made.GetLabels())
	live.Object["spec"] = made.Object["spec"]
	return p.replace(ctx, Hosts, live, live)
}

// TransferHostname is what a migration does to a host of another deployment of its owner.
func (p Provider) TransferHostname(ctx context.Context, id lease.ID, host, service string, externalPort uint16) error {
	return p.DeclareHostname(ctx, id, host, service, externalPort)
}

// DeclareIP makes the ProviderLeasedIP of a port. One that is there is an error, unless it is overwritten.
func (p Provider) DeclareIP(ctx context.Context, id lease.ID, service string, port, externalPort uint16, protocol, sharingKey string, overwrite bool) error {
	name := strings.ToLower(fmt.Sprintf("%s-%s-%d", sharingKey, protocol, externalPort))
	live, err := p.get(ctx, LeasedIPs, p.options.ManifestNamespace, name)
	if err != nil {
		return err
	}
	made := object(`{apiVersion: akash.network/v2beta2, kind: ProviderLeasedIP,
		metadata: {name: %s, namespace: %s, labels: {%s, service-name: %s, external-port: "%d", proto: %s}},
		spec: {lease_id: {owner: %s, dseq: "%d", gseq: %d, oseq: %d, provider: %s}, service_name: %s, port: %d, external_port: %d, sharing_key: %s, protocol: %s}}`,
		name, p.options.ManifestNamespace, labels(id), service, externalPort, protocol,
		id.Owner, id.DSeq, id.GSeq, id.OSeq, id.Provider, service, port, externalPort, sharingKey, protocol)
	switch {
	case live == nil:
		return p.create(ctx, LeasedIPs, made)
	case !overwrite:
		return ErrAlreadyExists
	}
	return p.replace(ctx, LeasedIPs, live, made)
}

// PurgeDeclaredHostname deletes the ProviderHost of a host of a lease.
func (p Provider) PurgeDeclaredHostname(ctx context.Context, id lease.ID, host string) error {
	return p.deleteAll(ctx, Hosts, leaseSelector(id), "metadata.name="+host)
}

// PurgeDeclaredHostnames deletes the ProviderHosts of a lease.
func (p Provider) PurgeDeclaredHostnames(ctx context.Context, id lease.ID) error {
	return p.deleteAll(ctx, Hosts, leaseSelector(id), "")
}

// PurgeDeclaredIP deletes every ProviderLeasedIP, whichever lease and port it is called for: the provider
// builds a selector and does not use it.
func (p Provider) PurgeDeclaredIP(ctx context.Context) error {
	return p.deleteAll(ctx, LeasedIPs, p.selector(), "")
}

// TeardownLease deletes a lease's namespace and its Manifest.
func (p Provider) TeardownLease(ctx context.Context, id lease.ID) error {
	err := p.client.Resource(Namespaces).Delete(ctx, id.Namespace(), metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	err = p.client.Resource(Manifests).Namespace(p.options.ManifestNamespace).Delete(ctx, id.Namespace(), metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (p Provider) deleteAll(ctx context.Context, resource schema.GroupVersionResource, labels, fields string) error {
	return p.client.Resource(resource).Namespace(p.options.ManifestNamespace).DeleteCollection(ctx, metav1.DeleteOptions{},
		metav1.ListOptions{LabelSelector: labels, FieldSelector: fields})
}

func (p Provider) put(ctx context.Context, resource schema.GroupVersionResource, made *unstructured.Unstructured) error {
	live, err := p.get(ctx, resource, made.GetNamespace(), made.GetName())
	switch {
	case err != nil:
		return err
	case live == nil:
		return p.create(ctx, resource, made)
	}
	return p.replace(ctx, resource, live, made)
}
