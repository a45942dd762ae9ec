package apply

import (
	"testing"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Drift is what others have set otherwise: who it was decides how it is mended, and what Akash's provider sets is none.
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
	const byKubectl = `.spec.service_name: "api", set by kubectl-edit since 2026-11-18 09:01:00 UTC; the lease wants "web"`
	for name, tt := range map[string]struct {
		fields               []plan.Field
		byHand               bool
		message, mend, since string
	}{
		"by kubectl":              {[]plan.Field{set("kubectl-edit", 1)}, true, byKubectl, "apply the lease again with --force-conflicts, or change its definition", "09:01"},
		"by a controller":         {[]plan.Field{set("flux", 2)}, false, `.spec.service_name: "api", set by flux since 2026-11-18 09:02:00 UTC; the lease wants "web"`, "let flux drop the fields, and apply the lease again", "09:02"},
		"by Akash's provider":     {[]plan.Field{set(managed.Akash, 1)}, false, "", "", ""},
		"by both":                 {[]plan.Field{set(managed.Akash, 0), set("kubectl-edit", 1)}, false, byKubectl, "let kubectl-edit drop the fields, and apply the lease again", "09:01"},
		"a change of the lease's": {[]plan.Field{free}, false, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			found := driftOf(plan.Plan{Leases: []plan.Lease{{Lease: "o/1/1/1/p", Changes: []plan.Change{
				{Action: plan.Update, Kind: "providerhost", Namespace: "lease", Name: "a.example.com", Fields: tt.fields, ByHand: tt.byHand},
			}}}})
			if tt.message == "" {
				if len(found) > 0 {
					t.Errorf("there is %+v", found)
				}
				return
			}
			if len(found) != 1 || found[0].Name() != state.Drift+"/providerhost/a.example.com" || found[0].Message != tt.message || found[0].Plan != tt.mend ||
				found[0].Since.Format("15:04") != tt.since {
				t.Errorf("there is %+v", found)
			}
		})
	}
}
