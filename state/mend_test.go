package state

import (
	"fmt"
	"testing"
)

// A repair is announced for each deployment group that it names, and for those that own what it deletes.
func TestMendWritesFor(t *testing.T) {
	a, b := wordLease(t, "A/1").Group(), wordLease(t, "B/2").Group()
	claim := &Claim{Parts: []Part{{Key: "x", Lease: wordLease(t, "A/1")}}, Waits: []Part{{Key: "y", Lease: wordLease(t, "B/2")}}}
	parts := ClaimParts{Claim: claim, Group: b, Keys: []string{"y"}}
	route := []ObjectRef{{Kind: "ingress", Name: "r"}}
	for name, tt := range map[string]struct {
		mend Mend
		want string
	}{
		"a definition":                  {ApplyDefinition{Group: a}, fmt.Sprint([]any{a}, nil)},
		"routes that move":              {MoveRoutes{Group: a}, fmt.Sprint([]any{a}, nil)},
		"a kept definition":             {ForgetDefinition{Group: a}, fmt.Sprint([]any{a}, nil)},
		"a run":                         {EndRun{Parts: parts}, fmt.Sprint([]any{b}, nil)},
		"parts and their objects":       {LeaveParts{Parts: parts, Delete: route}, fmt.Sprint([]any{b}, route)},
		"all that wait for the claim":   {ReleaseClaim{Claim: claim}, fmt.Sprint([]any{a, b}, nil)},
		"all whose parts it owns":       {OwnParts{Claim: claim}, fmt.Sprint([]any{a, b}, nil)},
		"both leases of a move":         {FollowMove{Parts: parts, Declared: route}, fmt.Sprint([]any{a, b, b}, route)},
		"the groups of an announcement": {DropAnnouncement{Of: claim.Writers()}, fmt.Sprint([]any{a, b}, nil)},
		"objects":                       {DeleteObjects{Delete: route, Reserve: parts}, fmt.Sprint([]any{b}, route)},
		"routes of others":              {RejectObjects{Reject: route, Group: a}, fmt.Sprint([]any{a}, route)},
		"marks":                         {RestoreMarks{Group: a}, fmt.Sprint([]any{a}, nil)},
		"addresses of several leases": {FreeAddresses{Leave: []LeaveParts{{Parts: ClaimParts{Group: a}}, {Parts: parts, Delete: route}}},
			fmt.Sprint([]any{a, b}, route)},
		"a pool": {MakePool{}, fmt.Sprint([]any{}, nil)},
	} {
		groups, objects := tt.mend.WritesFor()
		var have any
		if objects != nil {
			have = objects
		}
		if got := fmt.Sprint(groups, have); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}
