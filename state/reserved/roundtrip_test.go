package reserved_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

const (
	owner    = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h"
	provider = "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"
)

var (
	order = lease.Order{Owner: owner, DSeq: 8438017, GSeq: 1, OSeq: 2}
	now   = time.Date(2026, 11, 23, 4, 0, 0, 0, time.UTC)
)

// stored returns a claim as the API server keeps it.
func stored(c *reserved.Claim) *metav1.ObjectMeta {
	ac := c.Configuration("akash-net")
	return &metav1.ObjectMeta{Name: *ac.Name, Namespace: *ac.Namespace, Labels: ac.Labels, Annotations: ac.Annotations,
		UID: c.UID, ResourceVersion: c.ResourceVersion, CreationTimestamp: metav1.NewTime(c.Created)}
}

func drawPart(t *rapid.T, label string) *reserved.Part {
	if !rapid.Bool().Draw(t, label) {
		return nil
	}
	amount := rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(0, 10))
	amounts := rapid.Custom(func(t *rapid.T) inventory.Amounts {
		return inventory.Amounts{CPU: amount.Draw(t, "cpu"), GPU: amount.Draw(t, "gpu"), Memory: amount.Draw(t, "memory"), EphemeralStorage: amount.Draw(t, "disk"), Pods: amount.Draw(t, "pods")}
	})
	p := &reserved.Part{
		Asked: rapid.StringN(1, 60, -1).Draw(t, "asked"),
		Hold: inventory.Hold{
			Nodes:     rapid.MapOfN(rapid.StringMatching(`[a-z0-9.-]{1,20}`), amounts, 0, 5).Draw(t, "nodes"),
			Storage:   rapid.MapOfN(rapid.String(), amount, 0, 3).Draw(t, "storage"),
			Addresses: amount.Draw(t, "addresses"),
		},
		HTTP: amount.Draw(t, "http"), By: rapid.String().Draw(t, "by"), Run: rapid.String().Draw(t, "run"),
		Params: rapid.MapOfN(rapid.Uint32(), rapid.Custom(func(t *rapid.T) *lease.SchedulerParams {
			return &lease.SchedulerParams{RuntimeClass: "nvidia", Resources: &lease.SchedulerResources{GPU: &lease.SchedulerGPU{Vendor: "nvidia", Model: rapid.String().Draw(t, "model")}}}
		}), 0, 3).Draw(t, "params"),
	}
	for node := range p.Hold.Nodes {
		if rapid.Bool().Draw(t, "cards") {
			p.Hold.Cards = map[string]map[string]uint64{node: {"nvidia/t4": rapid.Uint64Min(1).Draw(t, "t4"), "amd/mi100": rapid.Uint64Min(1).Draw(t, "mi100")}}
			break
		}
	}
	if rapid.Bool().Draw(t, "won") {
		p.Provider = provider
	}
	if rapid.Bool().Draw(t, "expires") {
		p.Expires = now.Add(time.Duration(rapid.Int32().Draw(t, "seconds")) * time.Second).Format(time.RFC3339)
	}
	return p
}

// Reading a written claim returns the same claim, to the last amount.
func TestClaimsAreReadAsTheyAreWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := &reserved.Claim{
			Order:           lease.Order{Owner: owner, DSeq: rapid.Uint64Min(1).Draw(t, "dseq"), GSeq: rapid.Uint32Min(1).Draw(t, "gseq"), OSeq: rapid.Uint32Min(1).Draw(t, "oseq")},
			ResourceVersion: "7", UID: types.UID("u"), Created: now,
			Bound: drawPart(t, "bound"), Pending: drawPart(t, "pending"),
		}
		want.ObjectName = reserved.Name(want.Order)
		if want.Part() == nil {
			return
		}
		meta := stored(want)
		got, ok := reserved.Read(meta)
		if !ok || got.Unreadable != "" {
			t.Fatalf("read: %t, %s", ok, got.Unreadable)
		}
		utf8 := cmp.Transformer("valid", func(s string) string { return strings.ToValidUTF8(s, "\uFFFD") })
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), utf8); diff != "" {
			t.Fatalf("(-written +read):\n%s", diff)
		}
		if errs := validation.IsDNS1123Subdomain(meta.Name); len(errs) > 0 {
			t.Errorf("%s: %v", meta.Name, errs)
		}
		for key := range meta.Annotations {
			if errs := validation.IsQualifiedName(key); len(errs) > 0 {
				t.Errorf("%s: %v", key, errs)
			}
		}
		if _, isClaim := state.ReadClaim(meta); isClaim {
			t.Error("it is taken for a claim on a host")
		}
	})
}

// What a former version has written is read: its GPUs are of the one model that it has chosen, and nothing is known of two. A
// former version reads what is written: the amounts of nodes have no key that it does not know.
func TestFormerVersions(t *testing.T) {
	chosen := func(models ...string) map[uint32]*lease.SchedulerParams {
		out := map[uint32]*lease.SchedulerParams{}
		for i, m := range models {
			out[uint32(i)] = &lease.SchedulerParams{Resources: &lease.SchedulerResources{GPU: &lease.SchedulerGPU{Vendor: "nvidia", Model: m}}}
		}
		return out
	}
	for name, c := range map[string]struct {
		params map[uint32]*lease.SchedulerParams
		want   map[string]map[string]uint64
	}{
		"one model": {chosen("t4", "t4"), map[string]map[string]uint64{"n1": {"nvidia/t4": 2}}}, "two models": {chosen("t4", "a100"), nil}, "no GPU": {nil, nil},
	} {
		was := &reserved.Claim{Order: order, Bound: &reserved.Part{Asked: "a", Params: c.params, Hold: inventory.Hold{
			Nodes: map[string]inventory.Amounts{"n1": {GPU: 2, Pods: 2}, "n2": {CPU: 1}}, Cards: map[string]map[string]uint64{"n1": {"nvidia/a100": 2}}}}}
		meta := stored(was)
		if text := meta.Annotations[reserved.AnnotationBound]; strings.Contains(text, "pods") || strings.Contains(text, "ards") {
			t.Errorf("%s: a former version cannot read %s", name, text)
		}
		delete(meta.Annotations, reserved.AnnotationBoundNodes)
		got, _ := reserved.Read(meta)
		if got.Unreadable != "" || !cmp.Equal(got.Bound.Hold.Cards, c.want, cmpopts.EquateEmpty()) {
			t.Errorf("%s: %s, %v", name, got.Unreadable, got.Bound)
		}
	}
}

// A write is pinned to the claim that was read. A new claim is not pinned.
func TestWritesArePinned(t *testing.T) {
	c := reserved.Claim{Order: order, Bound: &reserved.Part{Asked: "a"}}
	if ac := c.Configuration("akash-net"); ac.UID != nil || ac.ResourceVersion != nil {
		t.Error("a claim that is to be made is pinned")
	}
	c.UID, c.ResourceVersion = "u", "7"
	ac := c.Configuration("akash-net")
	if *ac.UID != "u" || *ac.ResourceVersion != "7" || *ac.Spec.HolderIdentity != owner {
		t.Errorf("got %+v", ac)
	}
	if _, pending := ac.Annotations[reserved.AnnotationPending]; pending {
		t.Error("what is not pending is written")
	}
}

func TestWhatCannotBeRead(t *testing.T) {
	good := func() *metav1.ObjectMeta {
		return stored(&reserved.Claim{Order: order, Bound: &reserved.Part{Asked: "a", Hold: inventory.Hold{Addresses: 1}}})
	}
	set := func(key, value string) func(*metav1.ObjectMeta) {
		return func(m *metav1.ObjectMeta) { m.Annotations[key] = value }
	}
	bound := func(text string) func(*metav1.ObjectMeta) { return set(reserved.AnnotationBound, text) }
	for name, c := range map[string]struct {
		spoil func(*metav1.ObjectMeta)
		says  string
	}{
		"another version":     {set(state.AnnotationLedger, "v9"), `version "v9"`},
		"no order":            {func(m *metav1.ObjectMeta) { delete(m.Annotations, reserved.AnnotationOrder) }, "is not of the form"},
		"another order":       {set(reserved.AnnotationOrder, owner+"/8438017/1/3"), "its name is not that of order"},
		"a lease":             {set(reserved.AnnotationOrder, owner+"/8438017/1/2/"+provider), "is not of the form"},
		"another name":        {func(m *metav1.ObjectMeta) { m.Name = "rs--x" }, "its name is not that of order"},
		"no kind":             {func(m *metav1.ObjectMeta) { m.Labels[state.LabelKind] = "host" }, "is not resources"},
		"another owner":       {func(m *metav1.ObjectMeta) { m.Labels[state.LabelOwner] = provider }, "is not the owner of the order"},
		"nothing":             {func(m *metav1.ObjectMeta) { delete(m.Annotations, reserved.AnnotationBound) }, "says nothing of what it reserves"},
		"no JSON":             {bound("x"), reserved.AnnotationBound},
		"an unknown key":      {bound(`{"asked":"a","hold":{},"x":1}`), `unknown field "x"`},
		"a key twice":         {bound(`{"asked":"a","hold":{},"hold":{}}`), "duplicate"},
		"a key in capitals":   {bound(`{"asked":"a","HOLD":{}}`), "unknown field"},
		"a negative amount":   {bound(`{"asked":"a","hold":{"addresses":-1}}`), "cannot unmarshal"},
		"an amount too large": {bound(`{"asked":"a","hold":{"addresses":18446744073709551616}}`), "cannot unmarshal"},
		"a fraction":          {bound(`{"asked":"a","hold":{"addresses":1.5}}`), "cannot unmarshal"},
		"nothing asked":       {bound(`{"hold":{}}`), "what was asked for"},
		"no time":             {bound(`{"asked":"a","hold":{},"expires":"tomorrow"}`), `"tomorrow" is no time`},
		"no provider":         {bound(`{"asked":"a","hold":{},"provider":"me"}`), "not an Akash address"},
	} {
		t.Run(name, func(t *testing.T) {
			meta := good()
			c.spoil(meta)
			got, ok := reserved.Read(meta)
			if !ok || !strings.Contains(got.Unreadable, c.says) {
				t.Fatalf("want %q, got %t, %q", c.says, ok, got.Unreadable)
			}
			if got.Bound != nil || got.Pending != nil || len(got.Pieces(now, same)) > 0 || got.Over(now) {
				t.Error("what cannot be read says something")
			}
		})
	}
	// What is bound counts as far as it can be read.
	spoilt := good()
	set(reserved.AnnotationPending, "{")(spoilt)
	if c, ok := reserved.Read(spoilt); !ok || !strings.Contains(c.Unreadable, reserved.AnnotationPending) || c.Pending != nil || c.Hold().Addresses != 1 {
		t.Errorf("with a pending part that cannot be read it is %+v", c)
	}
	if c, ok := reserved.Read(good()); !ok || c.Unreadable != "" {
		t.Errorf("what is good cannot be read: %+v", c)
	}
	for name, meta := range map[string]*metav1.ObjectMeta{
		"a host": {Name: "shop.example.com", Labels: map[string]string{state.LabelKind: "host"}}, "a run": {Name: "run--x", Labels: map[string]string{state.LabelKind: "run"}}, "another's": {Name: "leader"},
	} {
		if _, ok := reserved.Read(meta); ok {
			t.Errorf("%s is taken for a reservation", name)
		}
	}
	// An object with the label of a reservation and another name is in no other list, so Read must return it.
	if c, ok := reserved.Read(&metav1.ObjectMeta{Name: "shop.example.com", Labels: map[string]string{state.LabelKind: state.KindResources}}); !ok || !strings.HasSuffix(c.Unreadable, "is resources, and its name is not that of a reservation") {
		t.Error("what has the label and not the name is not seen")
	}
}

// Reading an arbitrary object ends, and every method works on the result.
func FuzzRead(f *testing.F) {
	f.Add(reserved.Name(order), order.String(), `{"asked":"a","hold":{"nodes":{"n1":{"cpu":1}},"addresses":1},"expires":"2026-11-23T04:00:00Z"}`, `{"asked":"b","hold":{"storage":{"beta2":18446744073709551615}}}`)
	f.Add(reserved.Name(order), order.String(), `{"asked":"a","hold":null,"params":{"1":null}}`, "")
	f.Add("rs--", "", "", "\x00")
	f.Fuzz(func(t *testing.T, name, order, bound, pending string) {
		meta := &metav1.ObjectMeta{Name: name, Labels: map[string]string{state.LabelKind: state.KindResources, state.LabelOwner: owner},
			Annotations: map[string]string{state.AnnotationLedger: state.LedgerVersion, reserved.AnnotationOrder: order, reserved.AnnotationBound: bound}}
		if pending != "" {
			meta.Annotations[reserved.AnnotationPending] = pending
		}
		c, ok := reserved.Read(meta)
		if !ok {
			t.Fatal("what has the label is not seen")
		}
		c.Hold().Total()
		for _, p := range c.Pieces(now, same) {
			p.Hold.Total()
		}
		c.Own("a", now)
		if part := c.Part(); part != nil {
			part.Models()
			if again, _ := reserved.Read(stored(c)); again.Unreadable != "" {
				t.Errorf("what was read cannot be read again: %s", again.Unreadable)
			}
		}
	})
}
