package watch

import (
	"context"
	"fmt"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/akash-net/kubectl-akash-net/reconcile"
	"github.com/akash-net/kubectl-akash-net/state"
)

// election is the Lease by which one of several reconcilers is elected (resourcelock.Interface). Who waits reads it every two seconds, and
// whoever is elected renews it: so each says who is elected when it learns of it, and sends no request of its own for that.
type election struct {
	lease resourcelock.Interface
	say   func(string)
	// events receives what a leader election tells of itself. It is there once the manager is.
	events recorder.EventRecorder
	// holder is who was elected when that was said last.
	holder string
}

// newElection returns the election in which this reconciler stands, under a name that no other has.
func newElection(opts reconcile.Watching) (*election, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	to := rest.CopyConfig(opts.Rest)
	to.Timeout = renewed / 2 // as resourcelock.NewFromKubeconfig: one that hangs is sent again in time
	client, err := coordinationv1.NewForConfig(to)
	if err != nil {
		return nil, err
	}
	e := &election{say: opts.Say}
	e.lease = &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: opts.Command.Config.LedgerNamespace, Name: state.ElectionName(opts.Set)}, Client: client,
		LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID()), EventRecorder: e},
		Labels:     map[string]string{state.LabelComponent: state.ComponentElection, state.LabelInstance: state.Instance(opts.Set)},
	}
	return e, nil
}

// elected says who is elected, unless that was said last. Nobody is while the name is empty.
func (e *election) elected(holder string) {
	switch {
	case holder == e.holder || holder == "":
		return
	case holder == e.Identity():
		e.say(fmt.Sprintf("reconciler %s is elected; it is this one", holder))
	default:
		e.say(fmt.Sprintf("reconciler %s is elected; this one stands by", holder))
	}
	e.holder = holder
}

// Get reads who is elected.
func (e *election) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := e.lease.Get(ctx)
	if err == nil {
		e.elected(record.HolderIdentity)
	}
	return record, raw, err
}

// Create makes this reconciler the elected one, the first time.
func (e *election) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return e.wrote(record, e.lease.Create(ctx, record))
}

// Update makes this reconciler the elected one, renews that, or gives it up.
func (e *election) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return e.wrote(record, e.lease.Update(ctx, record))
}

func (e *election) wrote(record resourcelock.LeaderElectionRecord, err error) error {
	if err == nil {
		e.elected(record.HolderIdentity)
	}
	return err
}

// RecordEvent tells of this reconciler in an event.
func (e *election) RecordEvent(what string) { e.lease.RecordEvent(what) }

// Eventf writes that event (resourcelock.EventRecorder).
func (e *election) Eventf(about runtime.Object, kind, reason, format string, args ...any) {
	e.events.Eventf(about, nil, kind, reason, "Elect", format, args...)
}

// Identity is the name under which this reconciler stands for election.
func (e *election) Identity() string { return e.lease.Identity() }

// Describe names the Lease.
func (e *election) Describe() string { return e.lease.Describe() }
