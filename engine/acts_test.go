package engine_test

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/render"
)

// act does something to an object.
func (s *story) act(words []string) {
	l, kind, words := s.ledger, kinds.HTTPRoute, slices.Clone(words)
	switch words[0] {
	case "accept":
	case "address":
		kind = kinds.Ingress
	default:
		kind = kinds.Of(words[1])
		words = slices.Delete(words, 1, 2)
	}
	k := engine.Key{Kind: kind, Namespace: leaseOf(words[1]).Namespace(), Name: lease.RouteName(words[2], "")}
	if slices.Contains(kinds.ClaimLike, kind) {
		k.Namespace = l.cfg.ManifestNamespace
	}
	if endpoint, port, is := strings.Cut(words[2], ":"); is {
		k.Name = lease.SharingKey(leaseOf(words[1]).Owner, endpoint) + "-tcp-" + port
	}
	switch words[0] {
	case "write":
		l.edit(k, func(live *unstructured.Unstructured) {
			live.Object["status"] = map[string]any{"written": l.now.String()}
		})
	case "keep":
		l.edit(k, func(live *unstructured.Unstructured) { live.SetFinalizers([]string{"example.com/keeps"}) })
	case "free":
		l.edit(k, func(live *unstructured.Unstructured) { live.SetFinalizers(nil) })
		if l.objects[k].live.GetDeletionTimestamp() != nil {
			delete(l.objects, k)
		}
	case "delete":
		l.drop(k)
	case "hand":
		l.edit(k, func(live *unstructured.Unstructured) { live.SetLabels(leaseOf(words[3]).Labels()) })
	case "moves":
		l.edit(k, func(live *unstructured.Unstructured) {
			live.SetLabels(leaseOf(words[3]).Labels())
			live.SetManagedFields(append(live.GetManagedFields(), metav1.ManagedFieldsEntry{
				Manager: managed.Akash, Operation: metav1.ManagedFieldsOperationUpdate,
				FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{"f:` + lease.LabelDSeq + `":{}}}}`),
			}))
		})
	case "accept":
		if l.accept(k); slices.Contains(words, "unresolved") {
			l.edit(k, func(live *unstructured.Unstructured) {
				parents, _, _ := unstructured.NestedSlice(live.Object, "status", "parents")
				conditions, _, _ := unstructured.NestedSlice(parents[0].(map[string]any), "conditions")
				conditions[1].(map[string]any)["status"] = "False"
				parents[0].(map[string]any)["conditions"] = conditions
				live.Object["status"] = map[string]any{"parents": parents}
			})
		}
	case "address":
		l.edit(k, func(live *unstructured.Unstructured) {
			live.Object["status"] = map[string]any{"loadBalancer": map[string]any{"ingress": []any{map[string]any{"ip": "192.0.2.1"}}}}
		})
	default:
		panic(words[0])
	}
}

// transfer hands all parts of a claim on to a lease, as a transfer leaves them: the objects of the former holder still serve.
func (l *ledger) transfer(name string, to lease.ID) {
	c := *l.claims[name]
	c.Parts = slices.Clone(c.Parts)
	for i, p := range c.Parts {
		c.Parts[i].From, c.Parts[i].Lease = p.Lease.Group().String(), to
	}
	c.ResourceVersion = l.next(name)
	l.claims[name] = &c
}

// mark writes the mark of a run into all parts of a claim.
func (l *ledger) mark(name, run string) {
	c := *l.claims[name]
	c.Parts = slices.Clone(c.Parts)
	for i := range c.Parts {
		c.Parts[i].Run = run
	}
	c.ResourceVersion = l.next(name)
	l.claims[name] = &c
}

// ingress lets a manager have applied an Ingress of a host in a lease's namespace, without this program's marks.
func (l *ledger) ingress(id lease.ID, manager, name, host string, labels map[string]string) {
	l.serve(host, id, kinds.Ingress)
	was := engine.Key{Kind: kinds.Ingress, Namespace: id.Namespace(), Name: lease.RouteName(host, "")}
	body := l.objects[was].applied.DeepCopy()
	delete(l.objects, was)
	body.SetName(name)
	body.SetAnnotations(nil)
	body.SetLabels(labels)
	l.store(engine.Key{Kind: was.Kind, Namespace: was.Namespace, Name: name}, manager, body, nil)
}

// deploymentOf is what a lease runs in stories.
func deploymentOf(id lease.ID) render.Object {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicas": int64(1)}}}
	o.SetGroupVersionKind(kinds.Deployment.GroupVersionKind)
	o.SetNamespace(id.Namespace())
	o.SetName("web")
	o.SetLabels(id.Labels())
	return render.Object{Kind: kinds.Deployment, Namespace: id.Namespace(), Name: "web", Config: o}
}

// foreign lets another field manager have applied what a lease is to run, or an Ingress by a name for a host.
func (l *ledger) foreign(id lease.ID, manager string, route []string) {
	if len(route) > 0 {
		l.ingress(id, manager, route[0], route[1], nil)
		return
	}
	o := deploymentOf(id)
	body := render.Rendered(o)
	if labels := id.Labels(); manager == managed.Akash {
		labels[lease.LabelNamespace] = id.Namespace()
		body.SetLabels(labels)
	}
	l.store(namespaceKey(id.Namespace()), lease.FieldManager, render.Rendered(namespaceOf(id)), nil)
	l.store(engine.KeyOf(o), manager, body, nil)
}

// accept lets the Gateway say that a route serves.
func (l *ledger) accept(k engine.Key) {
	is := func(condition string) any {
		return map[string]any{"type": condition, "status": "True", "reason": condition, "message": "", "lastTransitionTime": l.now.Format(time.RFC3339)}
	}
	g := l.cfg.Gateway
	gateway := engine.Key{Kind: kinds.Gateway, Namespace: g.Namespace, Name: g.Name}
	l.store(gateway, "controller", &unstructured.Unstructured{Object: map[string]any{"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "metadata": map[string]any{"namespace": g.Namespace, "name": g.Name}}}, nil)
	l.edit(gateway, func(live *unstructured.Unstructured) {
		live.Object["status"] = map[string]any{"conditions": []any{is("Accepted"), is("Programmed")}}
	})
	l.edit(k, func(live *unstructured.Unstructured) {
		parents, _, _ := unstructured.NestedSlice(live.Object, "spec", "parentRefs")
		live.Object["status"] = map[string]any{"parents": []any{map[string]any{
			"parentRef": parents[0], "controllerName": "example.com/controller", "conditions": []any{is("Accepted"), is("ResolvedRefs")},
		}}}
	})
}

// records are those that lead a host of a lease to where it is reached.
func (l *ledger) records(id lease.ID, host string, ttl int64) []render.Object {
	l.cfg.DNS = config.DNS{Form: config.DNSGardener, Sources: []string{config.FromStatus}, TTL: ttl, Gardener: config.Gardener{Type: "aws-route53"}}
	out, err := render.Records(definition(id, []string{host, "httproute"}), l.cfg, nil, l.targets)
	if err != nil {
		panic(err)
	}
	return out.Objects
}

// record lets a lease have the records of a host, of which their controller says how far it is; and when, but for those of some types.
func (l *ledger) record(id lease.ID, host, state string, untimed ...string) {
	for _, o := range l.records(id, host, 300) {
		k, now := engine.KeyOf(o), metav1.NewTime(l.now)
		if slices.ContainsFunc(untimed, func(kind string) bool { return strings.HasSuffix(o.Name, "-"+kind) }) {
			now = metav1.Time{}
		}
		l.store(k, lease.FieldManager, render.Rendered(o), l.objects[k])
		l.edit(k, func(live *unstructured.Unstructured) {
			live.Object["status"] = map[string]any{"lastOperation": map[string]any{"type": "Reconcile", "state": state, "description": "so it says"}}
			live.SetManagedFields(append(live.GetManagedFields(), metav1.ManagedFieldsEntry{Manager: "extension", Operation: metav1.ManagedFieldsOperationUpdate, Subresource: managed.Status, Time: &now}))
		})
	}
}
