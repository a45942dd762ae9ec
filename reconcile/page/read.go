package page

import (
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/akash-net/kubectl-akash-net/apply/book"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/diagnosis"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// resourcesEvery is how old the resources get at most: they are computed from all pods and nodes.
const resourcesEvery = 30 * time.Second

// Reader reads what the page shows of a cluster. Its calls follow each other.
type Reader struct {
	Cluster *cluster.Cluster
	Config  *config.ProviderConfig
	// CrashedAfter is after which time without a write a command counts as crashed.
	CrashedAfter time.Duration

	resources []view.ResourceRow
	note      string
	at        time.Time
}

// Read reads it: hosts, addresses, leases, pools, orders and commands, or it fails; problems and resources if it may.
func (r *Reader) Read(ctx context.Context) (*Seen, error) {
	var s Seen
	var problems []state.Problem
	var unknown error
	group, all := parallel.WithContext(ctx)
	group.Go(func() error {
		subjects := append(slices.Clone(view.Holdings), view.SubjectOrders, view.SubjectEndpoints)
		if r.Config.Workloads.Enabled {
			subjects = append(subjects, view.SubjectWorkloads)
		}
		b, err := book.Read(all, r.Cluster, r.Config, subjects...)
		if mayNot(err) && r.Config.Workloads.Enabled {
			s.Notes = append(s.Notes, "The state of workloads is not shown: "+err.Error())
			b, err = book.Read(all, r.Cluster, r.Config, subjects[:len(subjects)-1]...)
		}
		if err == nil {
			s.Book = *b
		}
		return err
	})
	group.Go(func() (err error) {
		s.Runs, err = ledger.New(r.Cluster, r.Config.LedgerNamespace).Announcements(all)
		s.Runs = append([]*state.Announcement{}, s.Runs...) // known, if there are none
		return err
	})
	group.Go(func() error {
		problems, unknown = diagnosis.Problems(all, r.Cluster, r.Config, r.CrashedAfter, "")
		return nil
	})
	group.Go(func() error { r.readResources(all); return nil })
	if err := group.Wait(); err != nil {
		return nil, err
	}
	s.At = r.Cluster.Now()
	if s.Book.Problems = append([]state.Problem{}, problems...); unknown != nil {
		s.Book.Problems = nil
		s.Notes = append(s.Notes, "Problems are not shown: "+unknown.Error())
	}
	if s.Book.Resources = r.resources; r.note != "" {
		s.Notes = append(s.Notes, r.note)
	}
	return &s, nil
}

// readResources reads the resources, unless they were read a moment ago.
func (r *Reader) readResources(ctx context.Context) {
	if time.Since(r.at) < resourcesEvery {
		return
	}
	b, err := book.Read(ctx, r.Cluster, r.Config, view.SubjectResources)
	if r.resources, r.note = nil, ""; err != nil {
		r.note = "Resources are not shown: " + err.Error()
		return
	}
	r.resources, r.at = b.Resources, time.Now()
}

// mayNot reports whether a right is missing.
func mayNot(err error) bool {
	_, role := errors.AsType[*cluster.RoleError](err)
	return role || apierrors.IsForbidden(err)
}
