package guard_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// Whoever writes is known to the API server by a field manager, and may name another's.
var (
	sibling  = lease.ID{Owner: alice, DSeq: 9, GSeq: 1, OSeq: 1, Provider: provider}
	own      = aliceLease.Group().FieldManager()
	another  = sibling.Group().FieldManager()
	stranger = bobLease.Group().FieldManager()
	order    = reservation.Order.FieldManager()
	program  = lease.FieldManager
	person   = "kubectl-edit"
	managers = []string{own, another, stranger, order, program, person}
	nobody   []string
	anybody  = managers
)

// touch is one write of one field, and under which field managers the guard lets it pass.
type touch struct {
	name  string
	write write
	may   []string
}

// Objects with every field that the ledger has, beside those that the program has made for the examples.
var (
	fieldsHost = &state.Claim{Kind: state.Host, Thing: "fields.example.com", Owner: alice, Parts: []state.Part{
		{Key: state.RouteKey("/"), Lease: aliceLease, Path: "/", Service: "web", Port: 80, Run: "3a3l2dqngtg4w", From: sibling.Group().String(), Applied: true},
		{Key: state.RouteKey("/hold"), Lease: aliceLease, Path: "/hold", Service: "web", Port: 80, Run: "3a3l2dqngtg4w", Expires: "2099-01-01T00:00:00Z"},
	}}
	fieldsWildcard = &state.Claim{Kind: state.Wildcard, Thing: "*.fields.example.com", Owner: alice, Parts: []state.Part{
		{Key: state.RouteKey("/"), Lease: aliceLease, Path: "/", Service: "web", Port: 80, Bound: true},
	}}
	fieldsEndpoint = &state.Claim{Kind: state.Endpoint, Thing: alice + "-ip-fields", Owner: alice, SharingKey: alice + "-ip-fields", Parts: []state.Part{
		{Key: state.PortKey(lease.TCP, 25), Lease: aliceLease, Service: "web", Port: 80},
		{Key: state.PortKey(lease.TCP, 26), Lease: aliceLease, Service: "web", Port: 80},
	}}
	fieldsOrder = &reserved.Claim{
		Order:   lease.Order{Owner: alice, DSeq: 8, GSeq: 1, OSeq: 1},
		Bound:   &reserved.Part{Asked: "a", Hold: inventory.Hold{Addresses: 1}, By: "alice@laptop", Run: "3a3l2dqngtg4w"},
		Pending: &reserved.Part{Asked: "b", Hold: inventory.Hold{Addresses: 2}, By: "alice@laptop", Run: "3a3l2dqngtg4w", Expires: seconds(0)},
	}

	hostWithFields     = ref{leases, "akash-net", fieldsHost.Name()}
	wildcardWithFields = ref{leases, "akash-net", fieldsWildcard.Name()}
	endpointWithFields = ref{leases, "akash-net", fieldsEndpoint.Name()}
	orderWithFields    = ref{leases, "akash-net", reserved.Name(fieldsOrder.Order)}
)

// makeFields makes the objects, before there is a guard.
func makeFields(ctx context.Context) error {
	for _, c := range []*state.Claim{fieldsHost, fieldsWildcard, fieldsEndpoint} {
		if err := applied(ctx, c.Name(), own, c.Configuration("akash-net", c.Parts)); err != nil {
			return err
		}
	}
	return applied(ctx, orderWithFields.name, fieldsOrder.Order.FieldManager(), fieldsOrder.Configuration("akash-net"))
}

// meta is the metadata of an object as the program reads it.
func meta(o *unstructured.Unstructured) *metav1.ObjectMeta {
	var typed metav1.PartialObjectMetadata
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &typed); err != nil {
		panic(err)
	}
	return &typed.ObjectMeta
}

// held changes a part as the program would write it.
func held(key string, change func(*state.Part)) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) {
		claim, _ := state.ReadClaim(meta(o))
		part := state.Part{Key: key, Lease: aliceLease}
		if is := claim.Part(key); is != nil {
			part = *is
		}
		change(&part)
		annotate(key, claim.Configuration("", []state.Part{part}).Annotations[key])(o)
	}
}

// ordered changes what an order has reserved.
func ordered(change func(*reserved.Claim)) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) {
		claim, _ := reserved.Read(meta(o))
		change(claim)
		annotations := o.GetAnnotations()
		delete(annotations, reserved.AnnotationBound)
		delete(annotations, reserved.AnnotationPending)
		for key, value := range claim.Configuration("").Annotations {
			annotations[key] = value
		}
		o.SetAnnotations(annotations)
	}
}

// ofEachClaim are the fields that every claim has.
func ofEachClaim(r ref, other string) []touch {
	label := func(key string) []string { return []string{"metadata", "labels", key} }
	return []touch{
		{"kind changes", update(r, set(other, label(state.LabelKind)...)), nobody},
		{"kind goes", update(r, unset(label(state.LabelKind)...)), nobody},
		{"owner changes", update(r, set(bob, label(state.LabelOwner)...)), nobody},
		{"owner goes", update(r, unset(label(state.LabelOwner)...)), nobody},
		{"the label of a definition comes", update(r, set(alice, label(kept.Label)...)), nobody},
		{"a label that means nothing comes", update(r, set("x", label("example.com/x")...)), anybody},
		{"ledger changes", update(r, annotate(state.AnnotationLedger, "v2")), nobody},
		{"ledger goes", update(r, unset("metadata", "annotations", state.AnnotationLedger)), nobody},
		{"an annotation that means nothing comes", update(r, annotate("example.com/x", "y")), anybody},
		{"holderIdentity changes", update(r, set(bob, "spec", "holderIdentity")), nobody},
		{"holderIdentity goes", update(r, unset("spec", "holderIdentity")), nobody},
		{"leaseDurationSeconds, which means nothing, comes", update(r, set(int64(1), "spec", "leaseDurationSeconds")), anybody},
		{"renewTime, which means nothing, comes", update(r, set("2020-01-01T00:00:00.000000Z", "spec", "renewTime")), anybody},
		{"a finalizer comes", update(r, finalizer), nobody},
		{"an owner comes", update(r, ownedBy("gone")), nobody},
	}
}

func claimTouches() []touch {
	const holdPath, newPath = "/hold", "/new"
	root, hold, fresh := state.RouteKey("/"), state.RouteKey(holdPath), state.RouteKey(newPath)
	is := func(name, key string, may []string, change func(*state.Part)) touch {
		return touch{name, update(hostWithFields, held(key, change)), may}
	}
	note := fieldsHost.Parts[0].Wait(lease.Hash("definition"), nil)
	noteOf := func(id lease.ID) func(*unstructured.Unstructured) {
		n := note
		n.Lease = id
		return annotate(n.Key, fieldsHost.Configuration("", []state.Part{n}).Annotations[n.Key])
	}
	gone := func(key string) func(*unstructured.Unstructured) { return unset("metadata", "annotations", key) }
	pends := func(end string) func(*unstructured.Unstructured) {
		return held(root, func(p *state.Part) { p.Bound, p.Expires = false, end })
	}
	pendsToo := func(end string) func(*unstructured.Unstructured) {
		return held(fresh, func(p *state.Part) { p.Path, p.Expires = newPath, end })
	}
	touches := []touch{
		is("a part comes", fresh, []string{own}, func(p *state.Part) { p.Path = newPath }),
		is("a part of a sibling comes", fresh, []string{another}, func(p *state.Part) { p.Lease, p.Path = sibling, newPath }),
		is("a hold comes", fresh, []string{own}, func(p *state.Part) { p.Path, p.Expires = newPath, "2099-01-01T00:00:00Z" }),
		{"a part goes", update(hostWithFields, gone(root)), []string{own}},
		{"a hold goes", update(hostWithFields, gone(hold)), []string{own}},
		{"a note comes", update(hostWithFields, noteOf(aliceLease)), []string{own}},
		{"a note of a sibling comes", update(hostWithFields, noteOf(sibling)), []string{another}},

		is("order changes", root, []string{own}, func(p *state.Part) { p.Lease.OSeq = 2 }),
		is("provider changes", root, []string{own}, func(p *state.Part) { p.Lease.Provider = bob }),
		is("deployment changes", root, []string{another}, func(p *state.Part) { p.Lease = sibling }),
		is("service changes", root, []string{own}, func(p *state.Part) { p.Service = "other" }),
		is("service goes", root, []string{own}, func(p *state.Part) { p.Service = "" }),
		is("port changes", root, []string{own}, func(p *state.Part) { p.Port = 81 }),
		is("port goes", root, []string{own}, func(p *state.Part) { p.Port = 0 }),
		is("run changes", root, []string{own}, func(p *state.Part) { p.Run = "bbbbbbbbbbbbb" }),
		is("run goes", root, []string{own}, func(p *state.Part) { p.Run = "" }),
		is("run is no nonce", root, nobody, func(p *state.Part) { p.Run = "a b" }),
		is("from changes", root, []string{own}, func(p *state.Part) { p.From = alice + "/10/1" }),
		is("from goes", root, []string{own}, func(p *state.Part) { p.From = "" }),
		is("from is another owner's", root, nobody, func(p *state.Part) { p.From = bobLease.Group().String() }),
		is("from is no group", root, nobody, func(p *state.Part) { p.From = alice + "/x" }),
		is("applied goes", root, []string{own}, func(p *state.Part) { p.Applied = false }),
		is("path goes", hold, nobody, func(p *state.Part) { p.Path = "" }),
		is("text-direction in a service", root, nobody, func(p *state.Part) { p.Service = "web\u202egro" }),
		is("a control character in a service", root, nobody, func(p *state.Part) { p.Service = "web\u009b2J" }),
		is("an end comes to a permanent part", root, nobody, func(p *state.Part) { p.Expires = "2099-01-01T00:00:00Z" }),
		is("an end that is over comes to a permanent part", root, nobody, func(p *state.Part) { p.Expires = "2020-01-01T00:00:00Z" }),
		is("an end comes with a transfer", root, nobody, func(p *state.Part) { p.Lease, p.Expires = sibling, "2020-01-01T00:00:00Z" }),
		is("the end of a hold changes", hold, []string{own}, func(p *state.Part) { p.Expires = "2098-01-01T00:00:00Z" }),
		is("the end of a hold goes", hold, []string{own}, func(p *state.Part) { p.Expires = "" }),
		is("the end of a hold is no time", hold, nobody, func(p *state.Part) { p.Expires = "tomorrow" }),
		is("the end of a hold is in the year 9999", hold, nobody, func(p *state.Part) { p.Expires = "9999-01-01T00:00:00Z" }),
		{"another definition's hash", update(hostWithFields, annotate(root, part(aliceLease, `,"path":"/","definition":"x"`))), []string{own}},

		{"a bound wildcard becomes pending", update(wildcardWithFields, held(root, func(p *state.Part) { p.Bound, p.Expires = false, "2020-01-01T00:00:00Z" })), nobody},
		{"a bound wildcard is not bound any more", update(wildcardWithFields, held(root, func(p *state.Part) { p.Bound = false })), nobody},

		{"a wildcard comes that is pending for a minute", create(wildcardWithFields, "wc--any.new.example.com", pends(seconds(time.Minute))), []string{own, program, person}},
		{"a wildcard comes that is pending for years", create(wildcardWithFields, "wc--any.new.example.com", pends("2199-12-31T23:59:59Z")), nobody},
		{"a wildcard comes that is bound and ends in years", create(wildcardWithFields, "wc--any.new.example.com", held(root, func(p *state.Part) { p.Expires = "2199-12-31T23:59:59Z" })), []string{own, program, person}},
		{"a pending path of a wildcard comes", update(wildcardWithFields, pendsToo(seconds(time.Minute))), []string{own}},
		{"a path of a wildcard comes that is pending for an hour", update(wildcardWithFields, pendsToo(seconds(time.Hour))), nobody},

		{"the port of an address comes", update(aliceAddress, held(state.PortKey(lease.TCP, 25), func(p *state.Part) { p.Service, p.Port = "web", 25 })), []string{own}},
		{"the service of an address' port changes", update(aliceAddress, held(state.PortKey(lease.TCP, 443), func(p *state.Part) { p.Service = "other" })), []string{own}},
		{"the sharing key of an address changes", update(aliceAddress, annotate(state.AnnotationSharingKey, alice+"-ip-other")), nobody},
		{"the sharing key of an address goes", update(aliceAddress, gone(state.AnnotationSharingKey)), nobody},
		{"the sharing key of an endpoint goes", update(endpointWithFields, gone(state.AnnotationSharingKey)), nobody},
		{"the port of an endpoint goes", update(endpointWithFields, gone(state.PortKey(lease.TCP, 25))), []string{own}},

		// Who writes under no group's name may bring back what a backup has.
		{"a claim is made", create(aliceClaim, "new.example.com", same), []string{own, program, person}},
	}
	for r, other := range map[ref]string{hostWithFields: "wildcard", wildcardWithFields: "host", endpointWithFields: "address", aliceAddress: "endpoint", orderWithFields: "host"} {
		for _, each := range ofEachClaim(r, other) {
			each.name = r.name + ": " + each.name
			touches = append(touches, each)
		}
	}
	return touches
}

func orderTouches() []touch {
	is := func(name string, may []string, change func(*reserved.Claim)) touch {
		return touch{name, update(orderWithFields, ordered(change)), may}
	}
	mine, text := []string{fieldsOrder.Order.FieldManager()}, func(key, value string) write { return update(orderWithFields, annotate(key, value)) }
	return []touch{
		is("what is bound changes", nobody, func(c *reserved.Claim) { c.Bound.Hold.Addresses = 9 }),
		is("what was asked for changes", nobody, func(c *reserved.Claim) { c.Bound.Asked = "c" }),
		is("what is bound goes", nobody, func(c *reserved.Claim) { c.Bound = nil }),
		is("what is bound gets an end", nobody, func(c *reserved.Claim) { c.Bound.Expires = "2020-01-01T00:00:00Z" }),
		is("it becomes what was announced, and ends", nobody, func(c *reserved.Claim) { c.Bound, c.Pending = c.Pending, nil }),
		is("it becomes what was announced", mine, func(c *reserved.Claim) { c.Bound, c.Pending = c.Pending, nil; c.Bound.Expires = "" }),
		is("the order is won", mine, func(c *reserved.Claim) { c.Bound.Provider = provider }),
		is("the provider is none", nobody, func(c *reserved.Claim) { c.Bound.Provider = "me" }),
		is("by changes", mine, func(c *reserved.Claim) { c.Bound.By = `COMPANY\bob@laptop` }),
		is("text-direction in by", nobody, func(c *reserved.Claim) { c.Bound.By = "bob\u202e@laptop" }),
		is("run changes", mine, func(c *reserved.Claim) { c.Bound.Run = "bbbbbbbbbbbbb" }),
		is("something else is announced", mine, func(c *reserved.Claim) {
			c.Pending.Hold = inventory.Hold{Nodes: map[string]inventory.Amounts{"params": {CPU: 1}, "http": {GPU: 1}}, Storage: map[string]uint64{"http": 1, "by": 2}}
			c.Pending.Params = map[uint32]*inventory.SchedulerParams{1: {RuntimeClass: "nvidia"}, 12: {}}
			c.Pending.HTTP = 2
		}),
		is("what is announced goes", mine, func(c *reserved.Claim) { c.Pending = nil }),
		is("what is announced does not end", nobody, func(c *reserved.Claim) { c.Pending.Expires = "" }),
		is("what is announced is renewed", mine, func(c *reserved.Claim) { c.Pending.Expires = seconds(time.Minute) }),
		is("what is announced ends in an hour", nobody, func(c *reserved.Claim) { c.Pending.Expires = seconds(time.Hour) }),
		is("what is announced ends in the year 9999", nobody, func(c *reserved.Claim) { c.Pending.Expires = "9999-01-01T00:00:00Z" }),
		{"bound has a key twice", text(reserved.AnnotationBound, `{"asked":"a","hold":{"addresses":1},"by":"x","by":"y"}`), nobody},
		{"pending has an unknown key", text(reserved.AnnotationPending, `{"asked":"a","hold":{"more":1},"expires":"2099-01-01T00:00:00Z"}`), nobody},
		{"pending takes more than a number", text(reserved.AnnotationPending, `{"asked":"a","hold":{"addresses":184467440737095516150},"expires":"2099-01-01T00:00:00Z"}`), nobody},
		{"a part of a host comes", text(rootPath, part(aliceLease, "")), nobody},
	}
}

func definitionTouches() []touch {
	change := func(name string, may []string, change func(*unstructured.Unstructured)) touch {
		return touch{"definition: " + name, update(aliceDefinition, change), may}
	}
	return []touch{
		change("its text changes", []string{own}, func(o *unstructured.Unstructured) {
			annotate(kept.AnnotationText, strings.Replace(o.GetAnnotations()[kept.AnnotationText], shop, "other.example.com", 1))(o)
		}),
		change("its text goes", nobody, unset("metadata", "annotations", kept.AnnotationText)),
		change("its hash changes", []string{own}, annotate(lease.AnnotationDefinition, "x")),
		change("its hash goes", []string{own}, unset("metadata", "annotations", lease.AnnotationDefinition)),
		change("its run changes", []string{own}, annotate(kept.AnnotationRun, "bbbbbbbbbbbbb")),
		change("its run goes", []string{own}, unset("metadata", "annotations", kept.AnnotationRun)),
		change("an annotation that means nothing comes", anybody, annotate("example.com/x", "y")),
		// Who writes under no group's name may bring back what a backup has.
		{"definition: one is made", create(aliceDefinition, kept.Name(sibling.Group()), func(o *unstructured.Unstructured) {
			text := strings.Replace(o.GetAnnotations()[kept.AnnotationText], fmt.Sprintf(`"dseq":%d`, aliceLease.DSeq), fmt.Sprintf(`"dseq":%d`, sibling.DSeq), 1)
			all(annotate(kept.AnnotationText, text), set(sibling.Group().String(), "spec", "holderIdentity"))(o)
		}), []string{another, program, person}},
		{"definition: one is made by a name that is no hash", create(aliceDefinition, "df--zzz", same), nobody},
	}
}

func runTouches() []touch {
	const fresh = "run--ccccccccccccc"
	change := func(name string, may []string, change func(*unstructured.Unstructured)) touch {
		return touch{"run: " + name, update(aliceRun, change), may}
	}
	groups := func(text string) func(*unstructured.Unstructured) { return annotate(state.AnnotationGroups, text) }
	fence := all(annotate(state.AnnotationPhase, "fenced"), annotate(state.AnnotationFencedBy, "bbbbbbbbbbbbb"))
	closing := all(annotate(state.AnnotationPhase, "closing"), groups(""))
	now := all(set(at(0), "spec", "acquireTime"), set(at(0), "spec", "renewTime"))
	mine := []string{program}
	return []touch{
		change("it is renewed", mine, set("2026-09-21T14:14:00.000000Z", "spec", "renewTime")),
		change("its renewTime goes", nobody, unset("spec", "renewTime")),
		change("its acquireTime goes", nobody, unset("spec", "acquireTime")),
		change("it lasts for a moment more", mine, set(int64(2), "spec", "leaseDurationSeconds")),
		change("its holder goes", nobody, unset("spec", "holderIdentity")),
		change("it names other groups", nobody, groups(bobLease.Group().String()+" "+alice+"/1/1")),
		change("it names fewer groups", nobody, groups(alice+"/1/1")),
		change("it names more groups", nobody, groups(alice+"/1/1 "+alice+"/2/1 "+alice+"/3/1")),
		change("it names what is no number", nobody, groups(alice+"/99999999999999999999999/1")),
		change("it gives back", mine, annotate(state.AnnotationPhase, "undoing")),
		change("it is fenced", mine, fence),
		change("it is fenced, and names its groups in another order", mine, all(fence, groups(alice+"/2/1 "+alice+"/1/1"))),
		change("it is fenced, and names more groups", nobody, all(fence, groups(alice+"/1/1 "+alice+"/2/1 "+alice+"/3/1"))),
		change("it is fenced, and some of its groups are done", mine, all(fence, groups(alice+"/1/1"))),
		change("its phase goes", nobody, unset("metadata", "annotations", state.AnnotationPhase)),
		change("its version changes", mine, annotate(state.AnnotationVersion, "v2")),
		change("its owner changes", nobody, set(alice, "metadata", "labels", state.LabelOwner)),
		{"run: one that is over names fewer groups", update(deadRun, groups(alice+"/1/1")), mine},

		{"run: one begins", create(aliceRun, fresh, announced(now)), mine},
		{"run: an uninstall begins", create(aliceRun, fresh, announced(all(now, closing))), mine},
		{"run: one begins for what is no number", create(aliceRun, fresh, announced(all(now, groups(alice+"/99999999999999999999999/1")))), nobody},
		{"run: one begins for 68 years", create(aliceRun, fresh, announced(all(now, set(int64(2147483647), "spec", "leaseDurationSeconds")))), nobody},
		{"run: one begins in the year 9999", create(aliceRun, fresh, announced(all(now, set("9999-01-01T00:00:00.000000Z", "spec", "renewTime")))), nobody},
		{"run: one begins tomorrow", create(aliceRun, fresh, announced(all(set(at(24*time.Hour), "spec", "acquireTime"), set(at(24*time.Hour), "spec", "renewTime")))), nobody},
	}
}

// at is a time of a renewal.
func at(from time.Duration) string {
	return time.Now().Add(from).UTC().Format("2006-01-02T15:04:05.000000Z")
}

// seconds is a time from now as the end of a part.
func seconds(from time.Duration) string { return time.Now().Add(from).UTC().Format(time.RFC3339) }

// announced gives a new announcement the spec of the one that it is like.
func announced(change func(*unstructured.Unstructured)) func(*unstructured.Unstructured) {
	return all(set("alice@laptop", "spec", "holderIdentity"), set(int64(15), "spec", "leaseDurationSeconds"), change)
}

func akashTouches() []touch {
	host := func(name string, may []string, change func(*unstructured.Unstructured)) touch {
		return touch{"ProviderHost: " + name, update(aliceHost, change), may}
	}
	port := func(name string, may []string, change func(*unstructured.Unstructured)) touch {
		return touch{"ProviderLeasedIP: " + name, update(alicePort, change), may}
	}
	key := func(name string, may []string, change func(*unstructured.Unstructured)) touch {
		return touch{"Service: " + name, update(bobsService, change), may}
	}
	namespace := func(name string, may []string, change func(*unstructured.Unstructured)) touch {
		return touch{"Namespace: " + name, update(ref{namespaces, "", bobLease.Namespace()}, change), may}
	}
	label := func(name string) []string { return []string{"metadata", "labels", "akash.network/lease.id." + name} }
	return []touch{
		host("owner changes", nobody, set(bob, "spec", "owner")), host("owner goes", nobody, unset("spec", "owner")),
		host("hostname changes", nobody, set("other.example.com", "spec", "hostname")), host("hostname goes", nobody, unset("spec", "hostname")),
		host("the owner's label changes", nobody, set(bob, label("owner")...)), host("the owner's label goes", nobody, unset(label("owner")...)),
		// Akash's provider moves a host between services and leases of its owner, under a name of its own.
		host("service_name changes", anybody, set("other", "spec", "service_name")), host("dseq changes", anybody, set(int64(9), "spec", "dseq")),
		host("the label of dseq changes", anybody, set("9", label("dseq")...)),
		port("owner changes", nobody, set(bob, "spec", "lease_id", "owner")), port("owner goes", nobody, unset("spec", "lease_id", "owner")),
		port("sharing_key changes", nobody, set(alice+"-ip-other", "spec", "sharing_key")), port("sharing_key goes", nobody, unset("spec", "sharing_key")),
		port("protocol changes", nobody, set("UDP", "spec", "protocol")), port("external_port changes", nobody, set(int64(25), "spec", "external_port")),
		port("the owner's label changes", nobody, set(bob, label("owner")...)), port("the owner's label goes", nobody, unset(label("owner")...)),
		port("service_name changes", anybody, set("other", "spec", "service_name")), port("port changes", anybody, set(int64(9), "spec", "port")),
		key("a sharing key of another owner", nobody, asAlice("metallb.io")), key("a sharing key of its owner", anybody, annotate("metallb.io/allow-shared-ip", bob+"-ip-x")),
		key("its sharing key goes", anybody, unset("metadata", "annotations", "metallb.universe.tf/allow-shared-ip")),
		namespace("its owner changes", nobody, labelled(alice)), namespace("its owner goes", nobody, labelled("")),
		namespace("another label comes", anybody, set("y", "metadata", "labels", "example.com/x")),
	}
}

func touches() []touch {
	return slices.Concat(claimTouches(), orderTouches(), definitionTouches(), runTouches(), akashTouches())
}

// Each field of each kind of object that the guard is for: it is made, changed and removed under each field manager; in the short run under
// one who may and one who may not, drawn anew by the date.
func fields(t *testing.T) {
	managers := append(slices.Clone(managers), fieldsOrder.Order.FieldManager())
	for i, w := range touches() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			may := func(manager string) bool { return slices.Contains(w.may, manager) || len(w.may) == len(anybody) }
			tried := map[bool]bool{}
			for n := range managers {
				manager := managers[(i+n+today)%len(managers)]
				if may := may(manager); !tried[may] || harness.Long() {
					tried[may] = true
					err := w.write.send(t, manager)
					if refused := err != nil && strings.Contains(err.Error(), "'akash-net-"); refused == may || err != nil && !refused {
						t.Errorf("%s: want %t, got %v", manager, may, err)
					}
				}
			}
		})
	}
}
