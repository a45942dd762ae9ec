package apply

import (
	"testing"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Drift is what others have set otherwise: who it was decides how it is mended, and what Akash's provider sets is none. What is gone was removed by hand
// unless the provider writes the object, or the object was rendered from another definition.
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
	const again = "apply the lease again, or change its definition"
	const byKubectl = `.spec.service_name: "api", set by kubectl-edit since 2026-11-18 09:01:00 UTC; the lease wants "web"`
	for name, tt := range map[string]struct {
		fields               []plan.Field
		byHand, shared       bool
		message, mend, since string
	}{
		"by kubectl":                            {[]plan.Field{set("kubectl-edit", 1)}, true, false, byKubectl, "apply the lease again with --force-conflicts, or change its definition", "09:01"},
		"by a controller":                       {[]plan.Field{set("flux", 2)}, false, false, `.spec.service_name: "api", set by flux since 2026-11-18 09:02:00 UTC; the lease wants "web"`, "let flux drop the fields, and apply the lease again", "09:02"},
		"by Akash's provider":                   {[]plan.Field{set(managed.Akash, 1)}, false, false, "", "", ""},
		"by both":                               {[]plan.Field{set(managed.Akash, 0), set("kubectl-edit", 1)}, false, false, byKubectl, "let kubectl-edit drop the fields, and apply the lease again", "09:01"},
		"a change of the lease's":               {[]plan.Field{free}, false, false, "", "", ""},
		"removed":                               {[]plan.Field{removed}, false, false, `.spec.service_name is not set; the lease wants "web"`, again, "00:00"},
		"set and removed":                       {[]plan.Field{set("kubectl-edit", 1), removed}, true, false, byKubectl + `; .spec.service_name is not set; the lease wants "web"`, "apply the lease again with --force-conflicts, or change its definition", "09:01"},
		"not in the object of Akash's provider": {[]plan.Field{removed}, false, true, "", "", ""},
		"of another configuration":              {[]plan.Field{free, removed}, false, false, "", "", ""},
		"no longer wanted":                      {[]plan.Field{{Path: plan.Path{"spec", "old"}, Before: "x", Owners: free.Owners}, removed}, false, false, "", "", ""},
		"without its mark":                      {[]plan.Field{{Path: hash.Path, After: "b"}, removed}, false, false, "", "", ""},
		"without Akash's label":                 {[]plan.Field{{Path: plan.Path{"metadata", "labels", lease.LabelManaged}, After: "true"}}, false, false, "", "", ""},
		"of another definition":                 {[]plan.Field{hash, removed}, false, false, "", "", ""},
		"the time of a write":                   {[]plan.Field{{Path: plan.Path{"metadata", "annotations", lease.AnnotationUpdatedAt}, After: "now"}}, false, false, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			found := driftOf(plan.Plan{Leases: []plan.Lease{{Lease: "o/1/1/1/p", Changes: []plan.Change{
				{Action: plan.Update, Kind: "providerhost", Namespace: "lease", Name: "a.example.com", Fields: tt.fields, ByHand: tt.byHand},
			}}}}, map[string]bool{"providerhost/lease/a.example.com": !tt.shared})
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
