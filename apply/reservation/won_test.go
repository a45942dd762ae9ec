package reservation

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

// The reservation of a bid becomes that of the lease that has won, whatever its end was; what is not the bid's stays as it is.
func TestWonBy(t *testing.T) {
	id := lease.ID{Owner: "akash1a", DSeq: 7, GSeq: 1, OSeq: 2, Provider: "akash1p"}
	soon, past := time.Now().Add(10*time.Second).UTC().Format(time.RFC3339), "2020-01-01T00:00:00Z"
	part := func(provider, expires string) *reserved.Part {
		return &reserved.Part{Asked: "a", Provider: provider, Expires: expires, By: "bob@host", Run: "r"}
	}
	full := errors.New("forbidden")
	for name, tt := range map[string]struct {
		own   *reserved.Claim
		rooms map[string]bool
		err   error
		want  string
	}{
		"a hold":                      {own: &reserved.Claim{Bound: part("", soon)}, want: "won, pending false"},
		"a bid without an end":        {own: &reserved.Claim{Bound: part("", "")}, want: "won, pending false"},
		"a hold that has ended":       {own: &reserved.Claim{Bound: part("", past)}, want: "won, pending false"},
		"one that moves":              {own: &reserved.Claim{Bound: part("", soon), Pending: part("", soon)}, want: "won, pending true"},
		"one whose move has crashed":  {own: &reserved.Claim{Bound: part("", soon), Pending: part("", past)}, want: "won, pending false"},
		"won before":                  {own: &reserved.Claim{Bound: part("akash1p", "")}, err: full, want: "unchanged"},
		"won by another provider":     {own: &reserved.Claim{Bound: part("akash1q", "")}, want: "what order akash1a/7/1/2 has reserved is that of its lease with provider akash1q, and stays so"},
		"nothing":                     {want: "order akash1a/7/1/2 has reserved nothing, or not any more; reserve it: kubectl akash-net reserve --order akash1a/7/1/2 -f FILE"},
		"one that is being deleted":   {own: &reserved.Claim{Bound: part("", ""), Deleting: true}, want: "order akash1a/7/1/2 has reserved nothing, or not any more; reserve it: kubectl akash-net reserve --order akash1a/7/1/2 -f FILE"},
		"one that is announced":       {own: &reserved.Claim{Pending: part("", soon)}, want: "bob@host is about to reserve for order akash1a/7/1/2; send it again when that has ended"},
		"announced before a crash":    {own: &reserved.Claim{Pending: part("", past)}, want: "order akash1a/7/1/2 has reserved nothing, or not any more; reserve it: kubectl akash-net reserve --order akash1a/7/1/2 -f FILE"},
		"room that is gone":           {own: &reserved.Claim{Bound: part("", soon)}, rooms: map[string]bool{"rs--own": true}, want: "what order akash1a/7/1/2 has reserved no longer fits the cluster, and stays a bid; move it to other room: kubectl akash-net reserve --order akash1a/7/1/2 -f FILE"},
		"room of another one":         {own: &reserved.Claim{Bound: part("", soon)}, rooms: map[string]bool{"rs--other": true}, want: "won, pending false"},
		"room that is not to be seen": {own: &reserved.Claim{Bound: part("", soon)}, err: full, want: "forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			o := &Orders{nonce: "nonce", by: "me@host"}
			if tt.own != nil {
				tt.own.ObjectName = "rs--own"
			}
			claim, err := o.wonBy(tt.own, id, time.Now(), func() (map[string]bool, error) { return tt.rooms, tt.err })
			got := "unchanged"
			switch {
			case err != nil:
				got = err.Error()
			case claim != nil:
				got = fmt.Sprintf("won, pending %t", claim.Pending != nil)
				if b := claim.Bound; b.Provider != id.Provider || b.Expires != "" || b.Asked != "a" || b.Run != "nonce" || b.By != "me@host" || tt.own.Bound.Run != "r" {
					t.Errorf("it is %+v", b)
				}
			}
			if got != tt.want {
				t.Errorf("%s\nwant %s", got, tt.want)
			}
		})
	}
}
