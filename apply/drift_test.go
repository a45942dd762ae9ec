package apply

import (
	"fmt"
	"testing"
	"time"

	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

// Drift is what others have set otherwise: who it was decides how it is mended, and what Akash's provider sets is none. What is gone was
// removed by hand unless the provider writes the object, or the object was rendered from another definition. testdata/drift.golden has what is said.
func TestDriftOf(t *testing.T) {
	first := time.Date(2026, 11, 18, 9, 0, 0, 0, time.UTC)
	set := func(manager string, minute int) plan.Field {
		return plan.Field{
			Path: plan.Path{"spec", "service_name"}, Before: "api", After: "web", Conflict: true,
			Owners: []plan.Owner{{Manager: manager, Since: first.Add(time.Duration(minute) * time.Minute)}},
		}
	}
	free := set("kubectl-edit", 0)
	free.Conflict = false
	removed := plan.Field{Path: plan.Path{"spec", "service_name"}, After: "web"}
	hash := plan.Field{Path: plan.Path{"metadata", "annotations", lease.AnnotationDefinition}, Before: "a", After: "b"}
	said := golden.Cases{}
	for name, tt := range map[string]struct {
		fields         []plan.Field
		byHand, shared bool
	}{
		"by kubectl":                            {fields: []plan.Field{set("kubectl-edit", 1)}, byHand: true},
		"by a controller":                       {fields: []plan.Field{set("flux", 2)}},
		"by Akash's provider":                   {fields: []plan.Field{set(managed.Akash, 1)}},
		"by both":                               {fields: []plan.Field{set(managed.Akash, 0), set("kubectl-edit", 1)}},
		"a change of the lease's":               {fields: []plan.Field{free}},
		"removed":                               {fields: []plan.Field{removed}},
		"set and removed":                       {fields: []plan.Field{set("kubectl-edit", 1), removed}, byHand: true},
		"not in the object of Akash's provider": {fields: []plan.Field{removed}, shared: true},
		"of another configuration":              {fields: []plan.Field{free, removed}},
		"no longer wanted":                      {fields: []plan.Field{{Path: plan.Path{"spec", "old"}, Before: "x", Owners: free.Owners}, removed}},
		"without its mark":                      {fields: []plan.Field{{Path: hash.Path, After: "b"}, removed}},
		"without Akash's label":                 {fields: []plan.Field{{Path: plan.Path{"metadata", "labels", lease.LabelManaged}, After: "true"}}},
		"of another definition":                 {fields: []plan.Field{hash, removed}},
		"the time of a write":                   {fields: []plan.Field{{Path: plan.Path{"metadata", "annotations", lease.AnnotationUpdatedAt}, After: "now"}}},
	} {
		for _, p := range driftOf(plan.Plan{Leases: []plan.Lease{{Lease: "o/1/1/1/p", Changes: []plan.Change{
			{Action: plan.Update, Kind: "providerhost", Namespace: "lease", Name: "a.example.com", Fields: tt.fields, ByHand: tt.byHand},
		}}}}, map[string]bool{"providerhost/lease/a.example.com": !tt.shared}) {
			said[name] += fmt.Sprintf("%s: %s\n  since %s: %s\n", p.Name(), p.Message, p.Since.Format("15:04"), p.Plan)
		}
		if said[name] == "" {
			said[name] = "none\n"
		}
	}
	said.Check(t, "testdata/drift.golden")
}
