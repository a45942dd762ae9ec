package operators

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// ipOperator makes a LoadBalancer Service of each ProviderLeasedIP.
type ipOperator struct {
	operator
	// present is what is leased, as this turn of the loop knows it, by a key that has no protocol.
	present map[string]leasedPort
}

// leasedPort is one port of an IP endpoint. What is restored from a Service lacks Port and Protocol.
type leasedPort struct {
	lease               lease.ID
	service, sharingKey string
	port, externalPort  int64
	protocol            string
}

// stateKey leaves the protocol out, as the operator does.
func (p leasedPort) stateKey() string {
	return fmt.Sprintf("%s-%s-%d", p.lease.Owner, p.sharingKey, p.externalPort)
}

// object is the name of the port's Service.
func (p leasedPort) object() string {
	return strings.ToLower(fmt.Sprintf("%s-ip-%d-%s", p.service, p.externalPort, p.protocol))
}

func (o *ipOperator) run(ctx context.Context, synced func()) {
	o.loop(ctx, synced, func(ctx context.Context) error {
		if err := o.restore(ctx); err != nil {
			return err
		}
		return follow(ctx, &o.operator, synced, source[leasedPort]{resource: LeasedIPs, read: portOf, handle: o.handle})
	})
}

func (o *ipOperator) handle(ctx context.Context, event watch.EventType, p leasedPort) error {
	switch {
	case event == watch.Deleted:
		return o.deleted(ctx, p)
	case o.ignores(p.lease):
		return nil
	}
	err := o.applied(ctx, p)
	o.failed(p.lease, apierrors.IsNotFound(err))
	return err
}

// restore reads what is leased from the Services. One of another form stops the operator.
func (o *ipOperator) restore(ctx context.Context) error {
	o.present = map[string]leasedPort{}
	list, err := o.client.Resource(Services).List(ctx, metav1.ListOptions{LabelSelector: o.selector(lease.LabelServiceTarget + "=" + lease.ServiceTargetMetalLB)})
	if err != nil {
		return err
	}
	for i := range list.Items {
		s := &list.Items[i]
		if s.GetLabels()[lease.LabelOwner] == "" {
			continue
		}
		id, labelled := lease.IDFromLabels(s.GetLabels())
		kind, _, _ := unstructured.NestedString(s.Object, "spec", "type")
		ports, _, _ := unstructured.NestedSlice(s.Object, "spec", "ports")
		service, _, _ := unstructured.NestedString(s.Object, "spec", "selector", lease.LabelService)
		if !labelled || kind != "LoadBalancer" || len(ports) != 1 || service == "" {
			return fmt.Errorf("service %s/%s is invalid", s.GetNamespace(), s.GetName())
		}
		external, _ := ports[0].(map[string]any)["port"].(int64)
		p := leasedPort{lease: id, service: service, sharingKey: s.GetAnnotations()["metallb.universe.tf/allow-shared-ip"], externalPort: external}
		o.present[p.stateKey()] = p
	}
	return nil
}

// portOf reads a ProviderLeasedIP. Addresses, number and protocol have to be right.
func portOf(plip *unstructured.Unstructured) (leasedPort, error) {
	spec, _, _ := unstructured.NestedMap(plip.Object, "spec")
	text := func(path ...string) string {
		s, _, _ := unstructured.NestedString(spec, path...)
		return s
	}
	number := func(path ...string) int64 {
		n, _, _ := unstructured.NestedInt64(spec, path...)
		return n
	}
	p := leasedPort{
		lease: lease.ID{
			Owner: text("lease_id", "owner"), GSeq: uint32(number("lease_id", "gseq")), OSeq: uint32(number("lease_id", "oseq")), Provider: text("lease_id", "provider"),
		},
		service: text("service_name"), sharingKey: text("sharing_key"), port: number("port"), externalPort: number("external_port"),
	}
	var malformed error
	switch protocol := strings.ToUpper(text("protocol")); protocol {
	case "":
		p.protocol = "TCP"
	case "TCP", "UDP":
		p.protocol = protocol
	default:
		malformed = fmt.Errorf("unsupported protocol %q", protocol)
	}
	dseq, err := strconv.ParseUint(text("lease_id", "dseq"), 10, 64)
	p.lease.DSeq = dseq
	return p, errors.Join(address(p.lease.Owner), address(p.lease.Provider), err, malformed)
}

// applied makes the Service of a port that is new or has changed. That of a former service name stays. So does that of
// another lease which was restored: the name under which it is deleted lacks the protocol.
func (o *ipOperator) applied(ctx context.Context, p leasedPort) error {
	before, known := o.present[p.stateKey()]
	switch {
	case known && before == p:
		return nil
	case known && before.lease != p.lease:
		if err := o.purge(ctx, before); err != nil {
			return err
		}
		delete(o.present, p.stateKey())
	}
	if err := o.write(ctx, p); err != nil {
		return err
	}
	o.present[p.stateKey()] = p
	return nil
}

// write makes the Service, or writes the whole of it over the one that is there, whoever made it.
func (o *ipOperator) write(ctx context.Context, p leasedPort) error {
	pool := ""
	if o.options.Pool != "default" {
		pool = ", metallb.universe.tf/address-pool: " + o.options.Pool
	}
	made := object(`{apiVersion: v1, kind: Service,
		metadata: {name: %s, namespace: %s, labels: {%s, %s: %s}, annotations: {metallb.universe.tf/allow-shared-ip: %s%s}},
		spec: {type: LoadBalancer, selector: {%s: "true", %s: %s}, ports: [{name: %s, protocol: %s, port: %d, targetPort: %d}]}}`,
		p.object(), p.lease.Namespace(), labels(p.lease), lease.LabelServiceTarget, lease.ServiceTargetMetalLB, p.sharingKey, pool,
		lease.LabelManaged, lease.LabelService, p.service, p.object(), p.protocol, p.externalPort, p.port)
	return o.put(ctx, Services, made)
}

func (o *ipOperator) deleted(ctx context.Context, p leasedPort) error {
	if err := o.purge(ctx, p); err != nil {
		return err
	}
	delete(o.present, p.stateKey())
	return nil
}

func (o *ipOperator) purge(ctx context.Context, p leasedPort) error {
	err := o.client.Resource(Services).Namespace(p.lease.Namespace()).Delete(ctx, p.object(), metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
