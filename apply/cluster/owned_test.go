package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a manager owns is read out of maps, of lists by key and of lists by value; what others have
// written beside it is not among it.
func TestOwned(t *testing.T) {
	live := liveService()
	live.SetFinalizers([]string{"ours", "theirs"})
	entries := live.GetManagedFields()
	entries[1].FieldsV1 = fields(`{"f:metadata":{"f:annotations":{".":{},"f:ours":{},"f:gone":{}},"f:finalizers":{"v:\"ours\"":{}}},` +
		`"f:spec":{"f:type":{},"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:name":{},"f:port":{},"f:protocol":{}}}}}`)
	live.SetManagedFields(entries)
	identity := map[string]any{"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "web", "namespace": "ns"}}
	for name, want := range map[string]map[string]any{
		"akash-net": {
			"apiVersion": "v1", "kind": "Service",
			"metadata": map[string]any{"name": "web", "namespace": "ns", "annotations": map[string]any{"ours": "1"}, "finalizers": []any{"ours"}},
			"spec": map[string]any{
				"type":  "LoadBalancer",
				"ports": []any{map[string]any{"name": "http", "port": int64(80), "protocol": "TCP"}},
			},
		},
		"metallb": identity, // owns its fields by Update
		"nobody":  identity,
	} {
		got, err := Owned(live, name)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	entries[1].FieldsV1 = fields(`{"spec":{}}`)
	live.SetManagedFields(entries)
	if _, err := Owned(live, "akash-net"); err == nil {
		t.Error("managed fields of no known form are understood")
	}
}
