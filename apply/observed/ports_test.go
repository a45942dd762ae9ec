package observed_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/observed"
	ot "github.com/akash-net/kubectl-akash-net/apply/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/lease"
)

// leasedIP is a ProviderLeasedIP of a service.
func leasedIP(id lease.ID, service string) *unstructured.Unstructured {
	return labelled(ot.ProviderLeasedIP(id, 443), "service-name", service)
}

func labelled(o *unstructured.Unstructured, name, value string) *unstructured.Unstructured {
	labels := o.GetLabels()
	labels[name] = value
	o.SetLabels(labels)
	return o
}

// A port moves to another service only where this program has written its ProviderLeasedIP for the same group.
func TestNamesAnother(t *testing.T) {
	for name, c := range map[string]struct {
		live *unstructured.Unstructured
		want bool
	}{
		"none is there":          {nil, false},
		"the same service":       {ot.Ours(leasedIP(ot.Next, "game")), false},
		"another service":        {ot.Ours(leasedIP(ot.Next, "web")), true},
		"of another lease":       {ot.Ours(leasedIP(ot.Shop, "web")), false},
		"nobody has written it":  {leasedIP(ot.Next, "web"), false},
		"Akash's provider has":   {ot.ByAkash(leasedIP(ot.Next, "web")), false},
		"Akash's has made it so": {ot.Ours(ot.ByAkash(leasedIP(ot.Next, "web"))), false},
	} {
		o, objects := rendered(leasedIP(ot.Next, "game")), []*unstructured.Unstructured(nil)
		if c.live != nil {
			c.live.SetNamespace(o.Namespace)
			objects = append(objects, c.live)
		}
		if got := observed.NamesAnother(ot.Snapshot(nil, objects...), ot.Next.Group(), o); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

// The operator's Services that are in the way of a port are those of another service or of another endpoint, not of both.
func TestFormerServices(t *testing.T) {
	service := func(id lease.ID, port uint16, name, endpoint string) *unstructured.Unstructured {
		o := ot.Annotated(ot.Service(id, port, address), "metallb.universe.tf/allow-shared-ip", lease.SharingKey(id.Owner, endpoint))
		o.Object["spec"].(map[string]any)["selector"] = map[string]any{lease.LabelService: name}
		return o
	}
	for name, c := range map[string]struct {
		live *unstructured.Unstructured
		want bool
	}{
		"the port's own":           {ot.ByAkash(service(ot.Next, 443, "game", "public")), false},
		"another service":          {ot.ByAkash(service(ot.Next, 443, "web", "public")), true},
		"another endpoint":         {ot.ByAkash(service(ot.Next, 443, "game", "private")), true},
		"another of both":          {ot.ByAkash(service(ot.Next, 443, "web", "private")), false},
		"another port":             {ot.ByAkash(service(ot.Next, 80, "web", "public")), false},
		"another protocol":         {udp(ot.ByAkash(service(ot.Next, 443, "web", "public"))), false},
		"of another lease":         {ot.ByAkash(service(ot.Shop, 443, "web", "public")), false},
		"this program has written": {ot.Ours(service(ot.Next, 443, "web", "public")), false},
	} {
		got := observed.FormerServices(ot.Snapshot(nil, c.live), ot.Next.Group(), rendered(leasedIP(ot.Next, "game")))
		if (len(got) == 1) != c.want {
			t.Errorf("%s: %v, want %t", name, got, c.want)
		}
	}
}
