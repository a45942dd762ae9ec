package operators

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/lease"
)

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

// CloseLease ends a lease in the order in which the provider does: the Manifest, what it has declared, the namespace. What is gone is no
// error, because it does all of it again until nothing fails.
func (p Provider) CloseLease(ctx context.Context, id lease.ID) error {
	err := p.client.Resource(Manifests).Namespace(p.options.ManifestNamespace).Delete(ctx, id.Namespace(), metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if err := p.PurgeDeclaredHostnames(ctx, id); err != nil {
		return err
	}
	if err := p.deleteAll(ctx, LeasedIPs, leaseSelector(id), ""); err != nil {
		return err
	}
	err = p.client.Resource(Namespaces).Delete(ctx, id.Namespace(), metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (p Provider) deleteAll(ctx context.Context, resource schema.GroupVersionResource, labels, fields string) error {
	return p.client.Resource(resource).Namespace(p.options.ManifestNamespace).DeleteCollection(ctx, metav1.DeleteOptions{},
		metav1.ListOptions{LabelSelector: labels, FieldSelector: fields})
}
