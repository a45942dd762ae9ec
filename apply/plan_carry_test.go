package apply

import (
	"testing"

	"github.com/akash-net/kubectl-akash-net/plan"
)

// A plan that somebody has edited, with a field that stands nowhere, is no plan with a password.
func TestFieldWithoutAPath(t *testing.T) {
	edited := plan.Plan{Leases: []plan.Lease{{Changes: []plan.Change{{Action: plan.Update, Kind: "secret", Name: "x", Fields: []plan.Field{{}}}}}}}
	if err := withoutPasswords(edited); err != nil {
		t.Error(err)
	}
}
