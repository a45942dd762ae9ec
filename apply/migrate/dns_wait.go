package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/apply/book"
	"github.com/akash-net/kubectl-akash-net/apply/live"
	"github.com/akash-net/kubectl-akash-net/apply/records"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/dns"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// awaitDNS waits until the records of a lease's hosts are served, including those that other deployments have, or external-dns has seen
// which routes it is to ignore. Until then its old routes stay.
func (m *leaseMigration) awaitDNS(ctx context.Context, external bool, settle time.Duration) error {
	for _, h := range m.hosts {
		if slices.ContainsFunc(h.routes, func(c *crossing) bool { return !c.ready }) {
			h.stay()
		}
	}
	if external {
		for _, h := range m.hosts {
			for _, c := range h.routes {
				if !h.ended && m.isHidden(c) {
					m.staysFor(c, lastApplied(c.old.Live).Add(timestampPrecision), records.ResidualTTL(c.old.Live), settle)
				}
			}
		}
		return nil
	}
	if len(m.hosts) == 0 || !m.x.Command.Options.Config.DNS.Records() {
		return nil
	}
	err := m.awaitRepointed(ctx, m.hosts)
	for _, h := range m.hosts {
		m.settleHost(h, settle)
	}
	return err
}

// awaitRepointed waits until the records of the hosts are served with their new targets.
func (m *leaseMigration) awaitRepointed(ctx context.Context, hosts []*hostMove) error {
	defer m.x.Waits("DNS controllers to serve the new targets of " + lease.Count(len(hosts), "host"))()
	var errs []error
	err := m.x.Command.WaitUntil(ctx, m.x.Command.Options.Wait, func(ctx context.Context) (bool, error) {
		all := true
		for _, h := range hosts {
			if h.ended || !h.follows || !h.since.IsZero() {
				continue
			}
			err := m.checkRecords(ctx, h)
			switch {
			case ctx.Err() != nil: // the deadline has ended the last read
				return false, err
			case err != nil:
				h.stay()
				errs = append(errs, err)
			}
			all = all && (h.ended || !h.since.IsZero())
		}
		return all, nil
	})
	if !errors.Is(err, report.ErrTimedOut) {
		return errors.Join(append(errs, stayAll(hosts, err))...)
	}
	var waiting []string
	for _, h := range hosts {
		if !h.ended && h.follows && h.since.IsZero() {
			waiting = append(waiting, h.missing)
			m.x.Event(report.Unconfirmed, "dns", "", h.host, "its old routes stay; waiting for "+h.missing)
			h.stay()
		}
	}
	if m.x.Command.Options.Wait > 0 {
		errs = append(errs, &report.TimeoutError{After: m.x.Command.Options.Wait, Waiting: waiting})
	}
	return errors.Join(errs...)
}

// checkRecords sets what a host's records lack or, if nothing, since when they are served.
func (m *leaseMigration) checkRecords(ctx context.Context, h *hostMove) error {
	kind := kinds.DNSEndpoint
	if m.x.Command.Options.Config.DNS.Form == config.DNSGardener {
		kind = kinds.DNSRecord
	}
	objects, err := m.x.Command.Cluster.Objects(ctx, kind.Resource(), h.namespace, metav1.ListOptions{LabelSelector: book.OfLeases})
	if err != nil {
		return err
	}
	var found []dns.Record
	var since time.Time
	var served []view.RecordObject
	h.missing = ""
	for _, o := range objects {
		if view.RecordHost(o) != h.host {
			continue
		}
		record := view.RecordObjectOf(o)
		switch record.State {
		case view.StateActive:
			if at := m.servedSince(o); at.After(since) {
				since = at
			}
			served = append(served, record)
		case view.StateFailed:
			return fmt.Errorf("%s %s/%s: the record was not made (%s): %s",
				kind.Singular, o.GetNamespace(), o.GetName(), record.Operation, record.Message)
		default:
			h.missing = live.Unserved(kind, record)
		}
		found = append(found, record.Records...)
	}
	if is := valuesOf(h.host, found); !slices.Equal(is, h.values) {
		h.missing = fmt.Sprintf("host %s to lead to %s, not to %s", h.host, listed(h.values), listed(is))
		if h.theirs != "" {
			h.missing += " (deployment " + h.theirs + " has its records: migrate its routes too)"
		}
	}
	if h.missing != "" {
		return nil
	}
	for _, record := range served {
		if m.x.Changed() {
			m.x.Event(report.Served, kind.Singular, record.Namespace, record.Name, live.ValuesText(record))
		}
	}
	if h.since = since; since.IsZero() {
		h.since = m.x.Command.Cluster.Now() // the host has no records
	}
	return nil
}

func listed(values []string) string { return cmp.Or(strings.Join(values, ", "), "nothing") }

// settleHost sets until when the old routes of a host stay. If another deployment has its records, the routes carry no
// note of the change.
func (m *leaseMigration) settleHost(h *hostMove, settle time.Duration) {
	for _, c := range h.routes {
		lag := records.ResidualTTL(c.old.Live)
		if h.theirs != "" {
			for _, o := range m.x.Snapshot.Records[h.host] {
				lag = max(lag, longestTTL(h.host, view.RecordObjectOf(o.Live)))
			}
		}
		if c.ready && lag > 0 {
			m.staysFor(c, h.since, lag, settle)
		}
	}
}
