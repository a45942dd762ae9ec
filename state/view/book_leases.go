package view

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/rollout"
)

// LeaseRow is one lease that holds a host or an address, or runs workloads.
type LeaseRow struct {
	*Tenant `json:",inline"`
	Hosts   []string `json:"hosts"`
	// Addresses are sorted. Addresses that are not granted yet are missing.
	Addresses []string `json:"addresses"`
	// State is the state of all that the lease holds, if they agree. Otherwise it is Claiming if a run has not ended,
	// Partial if something is Active, and Pending if nothing is. It is empty for a lease that only runs workloads.
	State string `json:"state"`
	// Since is since when the lease has what it has had longest. It is zero if all is withheld, or was another lease's before.
	Since metav1.Time `json:"since"`
	// Suspended is true if the reconciler leaves the lease as it is.
	Suspended bool `json:"suspended,omitempty"`
	// Workloads is the rollout state. It is nil if it was not requested or nothing runs.
	Workloads *rollout.Rollout `json:"workloads,omitempty"`
}

func (r LeaseRow) key() string { return r.Lease }

// leaseRows returns the leases of the rows, sorted. It skips rows without a complete lease.
func leaseRows(hosts []HostRow, ips []IPRow) []LeaseRow {
	leases := map[string]*LeaseRow{}
	states := map[string][]string{}
	of := func(t *Tenant, state string, since metav1.Time, moved bool) *LeaseRow {
		if t.Lease == "" {
			return nil
		}
		row := leases[t.Lease]
		if row == nil {
			row = &LeaseRow{Tenant: t, Hosts: []string{}, Addresses: []string{}}
			leases[t.Lease] = row
		}
		if !moved && !since.IsZero() && (row.Since.IsZero() || since.Before(&row.Since)) {
			row.Since = since
		}
		if !slices.Contains(states[t.Lease], state) {
			states[t.Lease] = append(states[t.Lease], state)
		}
		return row
	}
	for _, h := range hosts {
		if row := of(h.Tenant, h.State, h.Since, h.From != ""); row != nil && h.State != StateWithheld {
			row.Hosts = appendNew(row.Hosts, h.Host)
		}
	}
	for _, ip := range ips {
		if row := of(ip.Tenant, ip.State, ip.Since, ip.State == StateTransferring); row != nil && ip.Address.IsValid() && ip.State != StateWithheld {
			row.Addresses = appendNew(row.Addresses, ip.Address.String())
		}
	}
	rows := make([]LeaseRow, 0, len(leases))
	for id, row := range leases {
		row.State = CombineStates(states[id])
		rows = append(rows, *row)
	}
	sortLeases(rows)
	return rows
}

func sortLeases(rows []LeaseRow) {
	slices.SortFunc(rows, func(a, b LeaseRow) int { return a.ID().Compare(b.ID()) })
}

// appendNew appends to a sorted list unless it ends with the same element.
func appendNew(list []string, s string) []string {
	if len(list) > 0 && list[len(list)-1] == s {
		return list
	}
	return append(list, s)
}

// ID returns the lease, as far as it is known.
func (t *Tenant) ID() lease.ID {
	return lease.ID{Owner: t.Owner, DSeq: t.DSeq, GSeq: t.GSeq, OSeq: t.OSeq, Provider: t.Provider}
}

// CombineStates returns the state that several things have together, as that of LeaseRow.
func CombineStates(states []string) string {
	switch {
	case len(states) == 1:
		return states[0]
	case slices.Contains(states, StateClaiming):
		return StateClaiming
	case slices.Contains(states, StateActive):
		return StatePartial
	}
	return StatePending
}
