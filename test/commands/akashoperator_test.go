package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// akashOperators stands in for Akash's hostname and IP operators, which cannot be had as a Go module
// of this size: it does for one tenant what they do for all (provider: operator/hostname, operator/ip).
// Whatever would make them stop, or ignore a lease, is noted in faults.
type akashOperators struct {
	mu     sync.Mutex
	faults []error
	client dynamic.Interface
	// connected is the namespace in which a host is routed.
	connected map[string]string
}

// operate runs the operators for the owner until the test ends. Every fault fails the test.
func operate(t *testing.T, owner string) {
	t.Helper()
	o := &akashOperators{client: harness.Objects, connected: map[string]string{}}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	opts := metav1.ListOptions{LabelSelector: lease.LabelManaged + "=true," + lease.LabelOwner + "=" + owner}
	for resource, handle := range map[string]func(context.Context, watch.EventType, *unstructured.Unstructured) error{"hosts": o.host, "ips": o.ip} {
		gvr := hosts
		if resource == "ips" {
			gvr = leasedIPs
		}
		events, err := harness.Objects.Resource(gvr).Namespace(manifests).Watch(ctx, opts)
		if err != nil {
			t.Fatal(err)
		}
		done.Go(func() {
			for e := range events.ResultChan() {
				if object, ok := e.Object.(*unstructured.Unstructured); ok {
					o.note(handle(ctx, e.Type, object))
				}
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		done.Wait()
		for _, err := range o.faults {
			t.Errorf("Akash's operators: %v", err)
		}
	})
}

func (o *akashOperators) note(err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.faults = append(o.faults, err)
	}
}

// host does what the hostname operator does with an event of a ProviderHost.
func (o *akashOperators) host(ctx context.Context, event watch.EventType, ph *unstructured.Unstructured) error {
	name := ph.GetName()
	id, ok := lease.IDFromLabels(ph.GetLabels())
	if !ok {
		return fmt.Errorf("providerhost %s has not the five labels", name)
	}
	routes := o.client.Resource(ingresses)
	if event == watch.Deleted {
		delete(o.connected, name)
		return ignoreMissing(routes.Namespace(id.Namespace()).Delete(ctx, name, metav1.DeleteOptions{}))
	}
	service, _, _ := unstructured.NestedString(ph.Object, "spec", "service_name")
	port, _, _ := unstructured.NestedInt64(ph.Object, "spec", "external_port")
	manifest, err := o.client.Resource(akashManifests).Namespace(manifests).Get(ctx, id.Namespace(), metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("resource not found: manifest for %s: %w", id, err)
	}
	if body, _ := manifest.MarshalJSON(); !strings.Contains(string(body), fmt.Sprintf(`"name":%q`, service)) {
		return fmt.Errorf("service %s of providerhost %s is not in the manifest", service, name)
	}
	if before := o.connected[name]; before != "" && before != id.Namespace() {
		// Akash's operator fails when the Ingress of the old lease is not there.
		if err := routes.Namespace(before).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	o.connected[name] = id.Namespace()
	return o.upsert(ctx, fmt.Sprintf(`{apiVersion: networking.k8s.io/v1, kind: Ingress,
		metadata: {name: %s, namespace: %s, labels: %s},
		spec: {ingressClassName: akash-ingress-class, rules: [{host: %s, http: {paths: [
			{path: /, pathType: Prefix, backend: {service: {name: %s, port: {number: %d}}}}]}}]}}`,
		name, id.Namespace(), labelsOf(id), name, service, port))
}

// ip does what the IP operator does with an event of a ProviderLeasedIP.
func (o *akashOperators) ip(ctx context.Context, event watch.EventType, plip *unstructured.Unstructured) error {
	labels := plip.GetLabels()
	id, _ := lease.IDFromLabels(labels)
	port, _, _ := unstructured.NestedInt64(plip.Object, "spec", "port")
	key, _, _ := unstructured.NestedString(plip.Object, "spec", "sharing_key")
	name := strings.ToLower(labels["service-name"] + "-ip-" + labels["external-port"] + "-" + labels["proto"])
	if event == watch.Deleted {
		return ignoreMissing(o.client.Resource(services).Namespace(id.Namespace()).Delete(ctx, name, metav1.DeleteOptions{}))
	}
	return o.upsert(ctx, fmt.Sprintf(`{apiVersion: v1, kind: Service,
		metadata: {name: %s, namespace: %s, labels: %s, annotations: {metallb.universe.tf/allow-shared-ip: %s, metallb.universe.tf/address-pool: operators}},
		spec: {type: LoadBalancer, selector: {akash.network: "true", akash.network/manifest-service: %s},
			ports: [{name: %s, protocol: %s, port: %s, targetPort: %d}]}}`,
		name, id.Namespace(), strings.Replace(labelsOf(id), "{", "{akash.network/service-target: metal-lb, ", 1), key,
		labels["service-name"], name, labels["proto"], labels["external-port"], port))
}

// upsert writes an object whole, as Akash's provider does.
func (o *akashOperators) upsert(ctx context.Context, text string) error {
	object, err := parseObject(text)
	if err != nil {
		return err
	}
	resource := ingresses
	if object.GetKind() == "Service" {
		resource = services
	}
	in := o.client.Resource(resource).Namespace(object.GetNamespace())
	_, err = in.Create(ctx, object, metav1.CreateOptions{FieldManager: providerServices})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	live, err := in.Get(ctx, object.GetName(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	object.SetResourceVersion(live.GetResourceVersion())
	_, err = in.Update(ctx, object, metav1.UpdateOptions{FieldManager: providerServices})
	return err
}

func ignoreMissing(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
