package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// HeldError says that a claim of a backup was not restored, because somebody else has the thing now.
type HeldError struct {
	Record string
	// Owner is who has it by the backup, By who has it now.
	Owner, By string
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("%s was held by owner %s, and is %s now: it stays so", e.Record, e.Owner, e.By)
}

// ExitCode says how a command ends with the error.
func (*HeldError) ExitCode() int { return report.ExitHeld }

// Restorer brings the records of a backup back. It writes what is not there, and changes nothing that is: running it again finishes what
// an earlier one has begun.
type Restorer struct {
	Cluster *cluster.Cluster
	// Namespace is the ledger's, Concurrency how many records are written at a time.
	Namespace   string
	Concurrency int
	// Report receives the events, one at a time.
	Report func(report.Event)

	reporting sync.Mutex
	// there are the objects of the ledger, and seen the claims and what uses things without one.
	there map[string]*unstructured.Unstructured
	seen  *observed.Snapshot
}

// Restore writes the records. A record that cannot be restored stops no other.
func (r *Restorer) Restore(ctx context.Context, records []Record) error {
	all, err := r.Cluster.Objects(ctx, cluster.Leases, r.Namespace, metav1.ListOptions{})
	if err != nil {
		return r.Cluster.Explain(err, "list", cluster.Leases)
	}
	r.there = map[string]*unstructured.Unstructured{}
	for _, o := range all {
		r.there[o.GetName()] = o
	}
	if r.seen, err = reading.Read(ctx, r.Cluster, ledger.New(r.Cluster, r.Namespace), reading.Reading{Addresses: true}); err != nil {
		return err
	}
	errs := make([]error, len(records))
	for begin := 0; begin < len(records); {
		end := begin // claims first, definitions when all of them are there
		for end < len(records) && order(records[end]) == order(records[begin]) {
			end++
		}
		group := parallel.New(r.Concurrency)
		for i := begin; i < end; i++ {
			group.Go(func() error {
				if ctx.Err() == nil {
					errs[i] = r.restore(ctx, records[i])
				}
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		begin = end
	}
	return report.Gather(errs)
}

// restore writes a record, unless it is there.
func (r *Restorer) restore(ctx context.Context, x Record) error {
	if c := x.Claim; c != nil && (c.Unreadable != "" || c.Owner != x.Holder) {
		return fmt.Errorf("%s cannot be read as a claim of owner %q, and is not restored: %s", x, x.Holder, cmp.Or(c.Unreadable, "its label says "+c.Owner))
	}
	now := r.there[x.Object.GetName()]
	if now == nil {
		if err := r.taken(x); err != nil {
			return err
		}
		err := r.create(ctx, x)
		switch {
		case err == nil:
			if err := r.excluded(ctx, x); err != nil {
				return err
			}
			r.report(report.Created, x, "")
			return nil
		case !apierrors.IsAlreadyExists(err) && !cluster.IsUnclear(err) && !errors.Is(err, ledger.ErrAgain):
			return fmt.Errorf("%s: %w", x, r.Cluster.Explain(err, "create", cluster.Leases))
		}
		written := err
		if now, err = r.get(ctx, x.Object.GetName()); err != nil {
			return err
		}
		if now == nil {
			return fmt.Errorf("%s: %w", x, r.Cluster.Explain(written, "create", cluster.Leases))
		}
	}
	is, readable := recordOf(plain(now, r.Namespace))
	switch {
	case now.GetDeletionTimestamp() != nil:
		return fmt.Errorf("%s is being deleted; restore it again when it is gone", x)
	case !readable:
		return fmt.Errorf("%s: an object of kind Lease that is none of the ledger has its name, %s", x, now.GetName())
	case is.Holder != x.Holder:
		return &HeldError{Record: x.String(), Owner: x.Holder, By: "held by owner " + is.Holder}
	case reflect.DeepEqual(is.Object.Object, x.Object.Object):
		r.report(report.Unchanged, x, "")
	default:
		r.report(report.Unchanged, x, "it exists, and differs from the one in the backup")
	}
	return nil
}

// create writes a record that is not there. A definition is kept by the deployment group that it is of, which owns its fields from then on:
// else no later command could take one away.
func (r *Restorer) create(ctx context.Context, x Record) error {
	d, is := kept.Read(&metav1.ObjectMeta{Name: x.Object.GetName(), Labels: x.Object.GetLabels(), Annotations: x.Object.GetAnnotations()})
	if !is {
		return r.Cluster.Write(ctx, func(ctx context.Context) error {
			_, err := r.client().Create(ctx, x.Object, metav1.CreateOptions{FieldManager: lease.FieldManager})
			return err
		})
	}
	def, err := d.Decode()
	if err != nil {
		return err
	}
	l := ledger.New(r.Cluster, r.Namespace)
	now, err := l.Keep(ctx, d, def.Lease.Group(), nil)
	if err == nil && d.Suspended {
		err = l.Suspend(ctx, now, true)
	}
	return err
}

// excluded takes a claim back that was written while another owner claimed the wildcard over it, or a host below it: that is read after the
// write, as every command does it.
func (r *Restorer) excluded(ctx context.Context, x Record) error {
	if x.Claim == nil || x.Claim.Kind.HasPorts() {
		return nil
	}
	l := ledger.New(r.Cluster, r.Namespace)
	over, all := state.WildcardOver(x.Claim.Thing), []*state.Claim(nil)
	var err error
	if x.Claim.Kind == state.Wildcard {
		all, err = l.List(ctx, state.Host)
	} else if over != "" {
		var above *state.Claim
		if above, err = l.Get(ctx, state.HostName(over)); above != nil {
			all = append(all, above)
		}
	}
	if err != nil {
		return fmt.Errorf("%s was written, but the claims above and below it could not be read: run the restore again: %w", x, err)
	}
	for _, c := range all {
		if c.Owner == x.Claim.Owner || c.Deleting || x.Claim.Kind == state.Wildcard && state.WildcardOver(c.Thing) != x.Claim.Thing {
			continue
		}
		held := &HeldError{Record: x.String(), Owner: x.Holder, By: fmt.Sprintf("kept off by %s %s of owner %s", c.Kind, c.Thing, c.Owner)}
		mine, err := l.Get(ctx, x.Object.GetName())
		if mine == nil || err != nil || mine.Owner != x.Claim.Owner {
			return errors.Join(held, err)
		}
		return errors.Join(held, l.Objects.Delete(ctx, mine.Name(), mine.UID, mine.ResourceVersion))
	}
	return nil
}

// taken returns who else has what a claim was on: by a claim on a wildcard over it or a host below it, or by an object that serves it.
func (r *Restorer) taken(x Record) error {
	if x.Claim == nil {
		return nil
	}
	held := func(c *state.Claim) error {
		if c == nil || c.Deleting || c.Owner == x.Holder {
			return nil
		}
		return &HeldError{Record: x.String(), Owner: x.Holder, By: fmt.Sprintf("kept off by %s %s of owner %s", c.Kind, c.Thing, c.Owner)}
	}
	var uses []state.Use
	switch x.Claim.Kind {
	case state.Host:
		uses = r.seen.HostUses.At(x.Name)
		if over := state.WildcardOver(x.Name); over != "" {
			if err := held(r.seen.Claim(state.HostName(over))); err != nil {
				return err
			}
		}
	case state.Wildcard:
		uses = r.seen.HostUses.At(x.Name)
		for _, c := range r.seen.List() {
			if c.Kind == state.Host && state.WildcardOver(c.Thing) == x.Name {
				if err := held(c); err != nil {
					return err
				}
			}
		}
	case state.Address:
		uses = r.seen.Addresses.Services().At(x.Claim.Addr())
	}
	for _, u := range uses {
		if u.HasLease && u.Lease.Owner != x.Holder {
			return &HeldError{Record: x.String(), Owner: x.Holder,
				By: fmt.Sprintf("used by %s %s/%s of lease %s", strings.ToLower(u.Kind), u.Namespace, u.Name, u.Lease)}
		}
	}
	return nil
}

func (r *Restorer) get(ctx context.Context, name string) (o *unstructured.Unstructured, err error) {
	err = r.Cluster.Read(ctx, func() (err error) {
		o, err = r.client().Get(ctx, name, metav1.GetOptions{})
		return err
	})
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // absence is an answer
	}
	return o, r.Cluster.Explain(err, "get", cluster.Leases)
}

func (r *Restorer) client() dynamic.ResourceInterface {
	return r.Cluster.Dynamic.Resource(cluster.Leases).Namespace(r.Namespace)
}

func (r *Restorer) report(action report.Action, x Record, message string) {
	r.reporting.Lock()
	defer r.reporting.Unlock()
	r.Report(report.Event{Time: time.Now(), Action: action, Kind: x.Kind, Name: x.Name, Message: message})
}
