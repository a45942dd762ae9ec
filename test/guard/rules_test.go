package guard_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/retry"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/manifests"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

// breach is a write that one rule refuses. It is sent as a dry run, which admission judges like
// any other write.
type breach struct {
	policy string
	// says is of the rule's message.
	says string
	// names is whom the message has to name; nobody where the object is to be created.
	names string
	name  string
	write write
}

// write is an object as it is to become. It changes the one that it is like, or makes a new one, which
// then has a name.
type write struct {
	like   ref
	name   string
	change func(*unstructured.Unstructured)
}

// update changes an object that exists.
func update(r ref, change func(*unstructured.Unstructured)) write {
	return write{like: r, change: change}
}

// create makes an object that is like another, but for its name and the change.
func create(like ref, name string, change func(*unstructured.Unstructured)) write {
	return write{like: like, name: name, change: change}
}

// object is what is to be written.
func (w write) object(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	o := w.like.get(t)
	if w.name != "" {
		was := o.Object["metadata"].(map[string]any)
		o.Object["metadata"] = map[string]any{"name": w.name, "labels": was["labels"], "annotations": was["annotations"]}
	}
	w.change(o)
	return o
}

// send writes the object in the plainest way, as a dry run, under a field manager. Controllers may write it meanwhile.
func (w write) send(t *testing.T, manager string) error {
	t.Helper()
	return retry.RetryOnConflict(retry.DefaultBackoff, func() (err error) {
		if o := w.object(t); w.name != "" {
			_, err = w.like.client().Create(t.Context(), o, metav1.CreateOptions{DryRun: dryRun, FieldManager: manager})
		} else {
			_, err = w.like.client().Update(t.Context(), o, metav1.UpdateOptions{DryRun: dryRun, FieldManager: manager})
		}
		return err
	})
}

func set(value any, path ...string) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
			panic(err)
		}
	}
}

func unset(path ...string) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) { unstructured.RemoveNestedField(o.Object, path...) }
}

func annotate(key, value string) func(*unstructured.Unstructured) {
	return set(value, "metadata", "annotations", key)
}

func all(changes ...func(*unstructured.Unstructured)) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) {
		for _, change := range changes {
			change(o)
		}
	}
}

const labelOwner = "akash.network/lease.id.owner"

// part is the value of a part: what comes after the lease may break the rules.
func part(id lease.ID, more string) string {
	return fmt.Sprintf(`{"lease":%q%s}`, id.String(), more)
}

var (
	rootPath  = state.RouteKey("/")
	otherPath = state.RouteKey("/other")
)

func finalizer(o *unstructured.Unstructured) { o.SetFinalizers([]string{"example.com/stays"}) }

func ownedBy(name string) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) {
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: name, UID: "00000000-0000-4000-8000-000000000000"}})
	}
}

// same changes nothing.
func same(*unstructured.Unstructured) {}

func claimBreaches() []breach {
	const claims, written = "akash-net-claims", "must be JSON as kubectl akash-net writes it"
	b := func(names, name, says string, write write) breach {
		return breach{policy: claims, names: names, name: name, says: says, write: write}
	}
	return []breach{
		b(alice, "another holder", "its spec.holderIdentity never changes", update(aliceClaim, all(
			set(bob, "spec", "holderIdentity"), set(bob, "metadata", "labels", state.LabelOwner), annotate(rootPath, part(bobLease, ""))))),
		b(alice, "no holder", "its spec.holderIdentity never changes", update(aliceClaim, unset("spec", "holderIdentity"))),
		b(alice, "no spec", "its spec.holderIdentity never changes", update(aliceClaim, unset("spec"))),
		b("", "new, no holder", "its spec.holderIdentity must be the wallet", create(aliceClaim, "new.example.com", unset("spec"))),
		b("", "new, a holder who is no wallet", "its spec.holderIdentity must be the wallet",
			create(aliceClaim, "new.example.com", set("some-node", "spec", "holderIdentity"))),
		b(alice, "another label", "its label net.akash.network/owner must be its holder",
			update(aliceClaim, set(bob, "metadata", "labels", state.LabelOwner))),
		b(alice, "no labels", "its label net.akash.network/owner must be its holder", update(aliceClaim, unset("metadata", "labels"))),
		b("", "new, another label", "its label net.akash.network/owner must be its holder",
			create(aliceClaim, "new.example.com", set(bob, "metadata", "labels", state.LabelOwner))),
		b(alice, "another kind", "must agree", update(aliceClaim, set("wildcard", "metadata", "labels", state.LabelKind))),
		b(alice, "an address that is a host", "must agree", update(aliceAddress, set("host", "metadata", "labels", state.LabelKind))),
		b(alice, "no kind", "must agree", update(aliceClaim, unset("metadata", "labels", state.LabelKind))),
		b("", "a host with a wildcard's name", "must agree", create(aliceClaim, "wc--any.example.com", same)),
		b("", "a host with an address's name", "must agree", create(aliceClaim, "ip--203-0-113-9", same)),
		b("", "a host with a reservation's name", "must agree", create(aliceClaim, "rs--0", same)),
		b("", "an IPv4 literal", "must agree", create(aliceClaim, "203.0.113.9", same)),
		b("", "an address with a host's name", "must agree", create(aliceAddress, "new.example.com", same)),
		b("", "IPv6 that is not written in full", "must agree", create(aliceAddress, "ip--2001-db8--7", same)),
		b("", "an address of IPv4 that is named as one of IPv6", "must agree", create(aliceAddress, "ip--0000-0000-0000-0000-0000-ffff-cb00-7109", same)),
		b(alice, "another version", "ledger must be v1", update(aliceClaim, annotate(state.AnnotationLedger, "v2"))),
		b(alice, "no annotations", "ledger must be v1", update(aliceClaim, unset("metadata", "annotations"))),
		b("", "new, another owner's sharing key", "must begin with its holder",
			create(aliceAddress, "ip--203-0-113-9", annotate(state.AnnotationSharingKey, bob+"-ip-public"))),
		b("", "new, no sharing key", "must begin with its holder",
			create(aliceAddress, "ip--203-0-113-9", unset("metadata", "annotations", state.AnnotationSharingKey))),
		b(alice, "another sharing key", "sharing-key does not change while a port is held",
			update(aliceAddress, annotate(state.AnnotationSharingKey, alice+"-ip-other"))),
		b(alice, "another order", "order never changes", update(aliceReserved, annotate(reserved.AnnotationOrder, alice+"/7/1/2"))),
		b(alice, "another owner's order", "must be an order of its holder", update(aliceReserved, annotate(reserved.AnnotationOrder, bob+"/7/1/1"))),
		b(alice, "no order", "must be an order of its holder", update(aliceReserved, unset("metadata", "annotations", reserved.AnnotationOrder))),
		b("", "new, what is no order", "must be an order of its holder", create(aliceReserved, reserved.Name(lease.Order{Owner: alice, DSeq: 7, GSeq: 1, OSeq: 9}), annotate(reserved.AnnotationOrder, alice+"/7/1"))),
		b(alice, "the last part goes", "at least one lease must hold a part",
			update(aliceClaim, unset("metadata", "annotations", rootPath))),
		b("", "new, without a part", "at least one lease must hold a part",
			create(aliceClaim, "new.example.com", unset("metadata", "annotations", rootPath))),
		b(alice, "a part that is no JSON", "must be JSON that begins with the lease", update(aliceClaim, annotate(otherPath, "x"))),
		b(alice, "a part that hides its lease", "must be JSON that begins with the lease",
			update(aliceClaim, annotate(otherPath, `{"x":`+part(aliceLease, "")+`}`))),
		b(alice, "a part of another owner", "belong to leases of its holder only", update(aliceClaim, annotate(otherPath, part(bobLease, "")))),
		b(alice, "a part passes to another owner", "belong to leases of its holder only", update(aliceClaim, annotate(rootPath, part(bobLease, "")))),
		b(alice, "another owner waits", "belong to leases of its holder only",
			update(aliceClaim, annotate("wait.net.akash.network/x", `{"for":"`+rootPath+`","lease":"`+bobLease.String()+`"}`))),
		b(alice, "another owner's port", "belong to leases of its holder only",
			update(aliceAddress, annotate("port.net.akash.network/tcp-25", part(bobLease, "")))),
		b("", "new, another owner's part", "belong to leases of its holder only",
			create(aliceClaim, "new.example.com", annotate(otherPath, part(bobLease, "")))),
		b(alice, "two leases", "names more than one lease", update(aliceClaim, annotate(otherPath, part(aliceLease, `,"lease":"`+bobLease.String()+`"`)))),
		b(alice, "two leases, one in other letters", "names more than one lease",
			update(aliceClaim, annotate(otherPath, part(aliceLease, `,"Lea`+"ſ"+`e" :"`+bobLease.String()+`"`)))),
		b(alice, "two leases, one escaped", "names more than one lease",
			update(aliceClaim, annotate(otherPath, part(aliceLease, `,"\u006cease":"`+bobLease.String()+`"`)))),
		b(alice, "text after a part", written, update(aliceClaim, annotate(otherPath, part(aliceLease, "")+`x`))),
		b(alice, "a second value after a part", written, update(aliceClaim, annotate(otherPath, part(aliceLease, "")+` {}`))),
		b(alice, "a line after a part", written, update(aliceClaim, annotate(otherPath, part(aliceLease, "")+"\n"))),
		b(alice, "a part that does not end", written, update(aliceClaim, annotate(otherPath, strings.TrimSuffix(part(aliceLease, ""), "}")+`,`))),
		b(alice, "a key twice", written, update(aliceClaim, annotate(otherPath, part(aliceLease, `,"run":"a","run":"b"`)))),
		b(alice, "a key twice, one in other letters", written, update(aliceClaim, annotate(otherPath, part(aliceLease, `,"run":"a","RUN":"b"`)))),
		b(alice, "keys in another order", written, update(aliceClaim, annotate(otherPath, part(aliceLease, `,"port":80,"path":"/"`)))),
		b(alice, "an unknown key", written, update(aliceClaim, annotate(otherPath, part(aliceLease, `,"more":"x"`)))),
		b(alice, "a port that is none", written, update(aliceClaim, annotate(otherPath, part(aliceLease, `,"port":65536`)))),
		b(alice, "a deployment that is no number", written, update(aliceClaim, annotate(otherPath, `{"lease":"`+alice+`/18446744073709551616/1/1/`+provider+`"}`))),
		b(alice, "a control character", written, update(aliceClaim, annotate(otherPath, part(aliceLease, ",\"path\":\"/\x1b[2J\"")))),
		b(alice, "options that are no JSON", written, update(aliceClaim, annotate(otherPath, part(aliceLease, `,"http":{"maxBodySize":1,}`)))),
		b(alice, "options that begin with a comma", written, update(aliceClaim, annotate(otherPath, part(aliceLease, `,"http":{,"maxBodySize":1}`)))),
		b(alice, "two leases, on two lines", "names more than one lease", update(aliceClaim, annotate(otherPath, part(aliceLease, ",\n\"lease\":\""+bobLease.String()+"\"")))),
		b(alice, "a port of a host", "are named route.net.akash.network/HASH", update(aliceClaim, annotate("port.net.akash.network/tcp-25", part(aliceLease, "")))),
		b(alice, "a path of an address", "are named port.net.akash.network/", update(aliceAddress, annotate(rootPath, part(aliceLease, "")))),
		b(alice, "a port above 65535", "are named port.net.akash.network/", update(aliceAddress, annotate("port.net.akash.network/tcp-65536", part(aliceLease, "")))),
		b(alice, "a port that is no number", "are named port.net.akash.network/", update(aliceAddress, annotate("port.net.akash.network/tcp-x", part(aliceLease, "")))),
		b(alice, "an owner that is not there", "may have no new ownerReferences", update(aliceClaim, ownedBy("gone"))),
		b("", "new, an owner that is not there", "may have no new ownerReferences", create(aliceClaim, "new.example.com", ownedBy("gone"))),
		b(alice, "a finalizer", "may have no new finalizers", update(aliceClaim, finalizer)),
		b("", "new, a finalizer", "may have no new finalizers", create(aliceClaim, "new.example.com", finalizer)),
		b("", "a host that ends in a number", "must agree", create(aliceClaim, "1.2.3", same)),
		b("", "a reservation whose name is no hash", "must agree", create(aliceReserved, "rs--zzz", same)),
		b("", "an address that is none", "must agree", create(aliceAddress, "ip--203-0-113-256", same)),
		b(alice, "a text direction", written, update(aliceClaim, annotate(otherPath, part(aliceLease, ",\"service\":\"\u202e\"")))),
		b("", "a wildcard that is pending for years", "is pending for five minutes at most",
			create(wildcardWithFields, "wc--any.new.example.com", annotate(rootPath, part(aliceLease, `,"path":"/","expires":"2199-12-31T23:59:59Z"`)))),
		b(alice, "a reservation that is announced for years", "announces ends within five minutes",
			update(orderWithFields, annotate(reserved.AnnotationPending, `{"asked":"b","hold":{"addresses":2},"expires":"2199-12-31T23:59:59Z"}`))),
		b(alice, "an end that is no time", "expires must be a time", update(aliceClaim, annotate(otherPath, part(aliceLease, `,"expires":"x"`)))),
		b(alice, "a host that is reserved like resources", "a reservation of an order, and nothing else", update(aliceClaim, annotate(reserved.AnnotationBound, "x"))),
		b(alice, "bound is x", "bound must be as", update(aliceReserved, annotate(reserved.AnnotationBound, "x"))),
		b(alice, "pending is x", "pending must be as", update(aliceReserved, annotate(reserved.AnnotationPending, "x"))),
		b(alice, "another sharing key of an endpoint", "of an endpoint never changes", update(endpointWithFields, annotate(state.AnnotationSharingKey, alice+"-ip-other"))),
		b(alice, "another path", "the path of a part never changes", update(aliceClaim, annotate(rootPath, part(aliceLease, `,"path":"/x"`)))),
		b(alice, "a claim becomes a hold", "never gets one: a claim does not become a hold",
			update(aliceClaim, annotate(rootPath, part(aliceLease, `,"path":"/","expires":"2020-01-01T00:00:00Z"`)))),
		b(alice, "a wildcard becomes pending", "stays bound", update(wildcardWithFields, annotate(rootPath, part(aliceLease, `,"path":"/"`)))),
		b(alice, "a reservation becomes a hold", "a reservation without an end never gets one",
			update(aliceReserved, annotate(reserved.AnnotationBound, `{"asked":"group","hold":{"addresses":1},"by":"x","expires":"2020-01-01T00:00:00Z"}`))),
		b(alice, "more is reserved", "changes only to what", update(aliceReserved, annotate(reserved.AnnotationBound, `{"asked":"group","hold":{"addresses":2}}`))),
		b(alice, "somebody writes a part", "writes a part", update(aliceClaim, annotate(otherPath, part(aliceLease, `,"path":"/other"`)))),
		b(alice, "somebody removes a part", "removes a part", update(hostWithFields, unset("metadata", "annotations", rootPath))),
		b(alice, "somebody gives a host a sharing key", "change its annotation net.akash.network/sharing-key", update(aliceClaim, annotate(state.AnnotationSharingKey, alice+"-ip-x"))),
		b(alice, "somebody reserves", "changes what is reserved", update(orderWithFields, unset("metadata", "annotations", reserved.AnnotationPending))),
		b(alice, "a claim that is not listed", "may not have the label net.akash.network/definition-of",
			update(aliceClaim, set(alice, "metadata", "labels", kept.Label))),
		b(alice, "stripped managed fields", "the managed fields of a lease", update(aliceClaim, set([]any{map[string]any{}}, "metadata", "managedFields"))),
		b(alice, "forged managed fields", "the managed fields of a lease", update(aliceClaim, func(o *unstructured.Unstructured) {
			fields := o.GetManagedFields()
			for i := range fields {
				fields[i].Manager = bobLease.Group().FieldManager()
			}
			o.SetManagedFields(fields)
		})),
	}
}

// serviceWith makes a Service with a sharing key.
func serviceWith(namespace, prefix, key string) write {
	like := bobsService
	like.namespace = namespace
	if namespace == "default" {
		like.name = "kubernetes"
	}
	return create(like, "new", func(o *unstructured.Unstructured) { o.Object = guessing("new", prefix, key, "").Object })
}

// asAlice makes a Service share the address of alice's endpoint.
func asAlice(prefix string) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) {
		annotations := o.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[prefix+"/allow-shared-ip"] = alice + "-ip-public"
		o.SetAnnotations(annotations)
	}
}

// labelled gives an object an owner.
func labelled(owner string) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) {
		labels := o.GetLabels()
		delete(labels, labelOwner)
		if owner != "" {
			labels[labelOwner] = owner
		}
		o.SetLabels(labels)
	}
}

func otherBreaches() []breach {
	const hostRules, portRules, keyRules = "akash-net-hosts", "akash-net-leased-ips", "akash-net-sharing-keys"
	const namespaceRules = "akash-net-namespaces"
	owner := set(bob, "metadata", "labels", labelOwner)
	bobsNamespace, system := ref{namespaces, "", bobLease.Namespace()}, ref{namespaces, "", "kube-system"}
	return []breach{
		{hostRules, "its spec.owner never changes", alice, "another owner", update(aliceHost, all(set(bob, "spec", "owner"), owner))},
		{hostRules, "its spec.owner never changes", alice, "no owner", update(aliceHost, unset("spec", "owner"))},
		{hostRules, "lease.id.owner never changes", alice, "no labels", update(aliceHost, unset("metadata", "labels"))},
		{hostRules, "must be the same", "", "another label", create(aliceHost, "new.example.com", all(set("new.example.com", "spec", "hostname"), owner))},
		{hostRules, "its spec.hostname must be its name", alice, "another host", update(aliceHost, set("other.example.com", "spec", "hostname"))},
		{hostRules, "its spec.hostname must be its name", "", "new, another host", create(aliceHost, "new.example.com", func(*unstructured.Unstructured) {})},

		{portRules, "its spec.lease_id.owner never changes", alice, "another owner", update(alicePort, all(set(bob, "spec", "lease_id", "owner"), owner))},
		{portRules, "lease.id.owner never changes", alice, "no labels", update(alicePort, unset("metadata", "labels"))},
		{portRules, "must be the same", "", "another label", create(alicePort, alice+"-ip-public-tcp-25", all(set(int64(25), "spec", "external_port"), owner))},
		{portRules, "its spec.sharing_key must begin", "", "another owner's sharing key", create(alicePort, alice+"-ip-public-tcp-25", all(
			set(int64(25), "spec", "external_port"), set(bob, "spec", "lease_id", "owner"), owner))},
		{portRules, "its name must be", alice, "another port", update(alicePort, set(int64(25), "spec", "external_port"))},
		{portRules, "its name must be", alice, "another protocol", update(alicePort, set("UDP", "spec", "protocol"))},
		{portRules, "its name must be", "", "new, another name", create(alicePort, "new", func(*unstructured.Unstructured) {})},

		{namespaceRules, "lease.id.owner never changes", bob, "another owner's namespace", update(bobsNamespace, labelled(alice))},
		{namespaceRules, "lease.id.owner never changes", bob, "nobody's namespace", update(bobsNamespace, labelled(""))},
		{namespaceRules, "is not named as the namespace of a lease", "", "a namespace that is no lease's", update(system, labelled(alice))},
		{namespaceRules, "is not named as the namespace of a lease", "", "new, a namespace that is no lease's", create(bobsNamespace, "new", labelled(alice))},

		{keyRules, "must begin with " + bob, bob, "a tenant guesses a key", serviceWith(bobLease.Namespace(), "metallb.universe.tf", alice+"-ip-public")},
		{keyRules, "must begin with " + bob, bob, "a tenant uses a foreign key", serviceWith(bobLease.Namespace(), "metallb.io", "web")},
		{keyRules, "is held by " + alice, alice, "a key is guessed elsewhere", serviceWith("default", "metallb.universe.tf", alice+"-ip-public")},
		{keyRules, "must begin with " + bob, bob, "a tenant's Service takes a key", update(bobsService, asAlice("metallb.universe.tf"))},
		{keyRules, "must begin with " + bob, bob, "the same, another prefix", update(bobsService, asAlice("metallb.io"))},
		{keyRules, "is held by " + alice, alice, "a Service elsewhere takes a key", update(ref{services, "default", "kubernetes"}, asAlice("metallb.io"))},
		{keyRules, "is held by " + alice, alice, "the same, other prefix", serviceWith("default", "metallb.io", alice+"-ip-public")},
	}
}

// definitionBreaches are what nobody may do to the definition of a lease. Only what a field manager may not do depends
// on who asks.
func definitionBreaches() []breach {
	const text, agree = kept.AnnotationText, "its annotation net.akash.network/lease-definition must be"
	bobsText := func(o *unstructured.Unstructured) {
		annotate(text, strings.ReplaceAll(o.GetAnnotations()[text], alice, bob))(o)
	}
	b := func(names, name, says string, write write) breach {
		return breach{policy: "akash-net-definitions", names: names, name: name, says: says, write: write}
	}
	group, other := aliceLease.Group().String(), kept.Name(lease.Group{Owner: alice, DSeq: 9, GSeq: 9})
	return []breach{
		b(group, "of another lease", "its spec.holderIdentity never changes", update(aliceDefinition, all(
			set(bobLease.Group().String(), "spec", "holderIdentity"), set(bob, "metadata", "labels", kept.Label)))),
		b(group, "of nobody", "its spec.holderIdentity never changes", update(aliceDefinition, unset("spec", "holderIdentity"))),
		b("", "new, of nobody", "must be a deployment group", create(aliceDefinition, other, unset("spec"))),
		b("", "new, of a wallet", "must be a deployment group", create(aliceDefinition, other, set(alice, "spec", "holderIdentity"))),
		b("", "new, another name", "it must be named df--", create(aliceDefinition, "df--shop", same)),
		b(group, "another owner's label", "its label net.akash.network/definition-of", update(aliceDefinition, set(bob, "metadata", "labels", kept.Label))),
		b(group, "no labels", "its label net.akash.network/definition-of", update(aliceDefinition, unset("metadata", "labels"))),
		b(group, "a claim", "it is no claim", update(aliceDefinition, set("host", "metadata", "labels", state.LabelKind))),
		b(group, "a claim without a label", "it is no claim", update(aliceDefinition, annotate(state.AnnotationLedger, "v1"))),
		b(group, "another definition", "only the field manager of its deployment group", update(aliceDefinition, func(o *unstructured.Unstructured) {
			annotate(text, strings.Replace(o.GetAnnotations()[text], shop, "other.example.com", 1))(o)
		})),
		b(group, "another hash", "only the field manager of its deployment group", update(aliceDefinition, annotate(lease.AnnotationDefinition, "x"))),
		b(group, "a source, which would release it", "only the field manager of its deployment group", update(aliceDefinition, annotate(kept.AnnotationSource, "prod"))),
		b(group, "a compressed definition", "only the field manager of its deployment group", update(aliceDefinition, annotate(text, "H4sI"))),
		b("", "new, another owner's definition", agree, create(aliceDefinition, other, bobsText)),
		b("", "new, nothing", agree, create(aliceDefinition, other, unset("metadata", "annotations", text))),
		b(group, "an owner that is not there", "may have no new ownerReferences", update(aliceDefinition, ownedBy("gone"))),
		b(group, "a finalizer", "may have no new finalizers", update(aliceDefinition, finalizer)),
	}
}

// runBreaches are writes of announcements: by one nobody gets a claim, and nobody makes others wait for ever.
func runBreaches() []breach {
	const runs, another = "akash-net-runs", "run--ccccccccccccc"
	now := all(set(at(0), "spec", "acquireTime"), set(at(0), "spec", "renewTime"))
	b := func(name, says string, write write) breach {
		return breach{policy: runs, name: name, says: says, write: write}
	}
	return []breach{
		b("a claim with a run's name", "must be run", create(aliceClaim, another, same)),
		b("a run that becomes a claim", "must be run", update(aliceRun, set("host", "metadata", "labels", state.LabelKind))),
		b("no labels", "must be run", update(aliceRun, unset("metadata", "labels"))),
		b("a run that the LIST of others does not select", "net.akash.network/owner must be run", update(aliceRun, set("akash1x", "metadata", "labels", state.LabelOwner))),
		b("another version", "ledger must be v1", update(aliceRun, annotate(state.AnnotationLedger, "v2"))),
		b("no annotations", "ledger must be v1", update(aliceRun, unset("metadata", "annotations"))),
		b("a run with a part", "has no parts", update(aliceRun, annotate(rootPath, part(aliceLease, "")))),
		b("no groups", "must name deployment groups", update(aliceRun, annotate(state.AnnotationGroups, ""))),
		b("groups that are none", "must name deployment groups", create(aliceRun, another, annotate(state.AnnotationGroups, "everybody"))),
		b("a command that names no groups, as an uninstall does", "must name deployment groups", create(aliceRun, another, annotate(state.AnnotationGroups, ""))),
		b("another phase", "phase must be", update(aliceRun, annotate(state.AnnotationPhase, "asleep"))),
		b("fenced by nobody", "phase must be", update(aliceRun, annotate(state.AnnotationPhase, "fenced"))),
		b("active, and fenced by another", "phase must be", update(aliceRun, annotate(state.AnnotationFencedBy, "bbbbbbbbbbbbb"))),
		b("a dead run comes back", "must stay fenced", update(deadRun, all(annotate(state.AnnotationPhase, "active"), unset("metadata", "annotations", state.AnnotationFencedBy)))),
		b("no times", "it must say in its spec", create(aliceRun, another, unset("spec"))),
		b("no duration", "it must say in its spec", update(aliceRun, unset("spec", "leaseDurationSeconds"))),
		b("another's run", "must not change", update(aliceRun, set("bob@laptop", "spec", "holderIdentity"))),
		b("another beginning", "must not change", update(aliceRun, set("2026-01-01T00:00:00.000000Z", "spec", "acquireTime"))),
		b("a name that is no nonce", "must be named run--", create(aliceRun, "run--zzz", announced(now))),
		b("a text direction", "text that people can read", update(aliceRun, annotate(state.AnnotationVersion, "\u202e"))),
		b("a renewal in the year 9999", "renewTime must be of now", update(aliceRun, set("9999-01-01T00:00:00.000000Z", "spec", "renewTime"))),
		b("a duration of 68 years", "at most 60 seconds", update(aliceRun, set(int64(2147483647), "spec", "leaseDurationSeconds"))),
		b("other groups", "groups stays as it is", update(aliceRun, annotate(state.AnnotationGroups, bobLease.Group().String()))),
		b("an uninstall that was none", "never back", update(aliceRun, all(annotate(state.AnnotationPhase, "closing"), unset("metadata", "annotations", state.AnnotationGroups)))),
		b("another successor", "has taken over from it stays the same", update(deadRun, annotate(state.AnnotationFencedBy, "ddddddddddddd"))),
		b("somebody writes it", "only the field manager akash-net writes it", update(aliceRun, annotate(state.AnnotationPhase, "undoing"))),
		b("an owner reference", "no ownerReferences", update(aliceRun, ownedBy("nobody"))),
		b("a finalizer", "no ownerReferences", update(aliceRun, finalizer)),
	}
}

func breaches() []breach {
	return slices.Concat(claimBreaches(), definitionBreaches(), runBreaches(), otherBreaches())
}

// Each breach is refused by its policy, with the words of its rule.
func rules(t *testing.T) {
	for _, b := range breaches() {
		t.Run(b.policy+"/"+b.name, func(t *testing.T) {
			t.Parallel()
			err := b.write.send(t, person)
			if !refusedBy(err, b.policy) || !strings.Contains(err.Error(), b.says) || !strings.Contains(err.Error(), b.names) {
				t.Errorf("want a refusal by %s that says %q and names %q, got %v", b.policy, b.says, b.names, err)
			}
		})
	}
}

// Each rule has a breach whose refusal says what no other rule of the policy says: without the rule it would not be refused so.
func TestEachRuleHasItsBreach(t *testing.T) {
	t.Parallel()
	objects, err := manifests.Guard(config.Default(), false)
	if err != nil {
		t.Fatal(err)
	}
	for _, policy := range objects {
		var of admissionv1.ValidatingAdmissionPolicy
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(policy.Object, &of); err != nil {
			t.Fatal(err)
		}
		said := map[int]bool{}
		for _, b := range breaches() {
			var by []int
			fragment := strings.TrimSuffix(strings.TrimSuffix(b.says, bob), alice) // the literal part
			for i, rule := range of.Spec.Validations {
				if strings.Contains(rule.MessageExpression, fragment) {
					by = append(by, i)
				}
			}
			if b.policy == policy.GetName() && len(by) == 1 {
				said[by[0]] = true
			}
		}
		for i, rule := range of.Spec.Validations {
			if !said[i] {
				t.Errorf("%s: nothing breaches the rule %s alone", policy.GetName(), rule.MessageExpression)
			}
		}
	}
}
