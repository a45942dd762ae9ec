package leaselogs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
)

// TooManyError reports that more containers are to be followed than --max-log-requests allows.
type TooManyError struct{ Containers, Streams int }

func (e *TooManyError) Error() string {
	return fmt.Sprintf("--max-log-requests is %d, and this command would follow %s", e.Streams, lease.Count(e.Containers, "container"))
}

// following is the state of following a lease's containers.
type following struct {
	*reader
	group  *parallel.Group
	places chan struct{}

	mu sync.Mutex
	// begun has the keys of sources that are or were read, noted those of sources reported as waiting.
	begun, noted map[string]bool
	// reading counts the sources that have begun and not ended.
	reading int
	// seen is true once there was a pod.
	seen bool
	// first is true until the pods have been listed once.
	first bool
}

// follow reads the logs of the existing containers and of those that start later, until the lease is closed.
func (r *reader) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	group, streams := parallel.WithContext(ctx)
	f := &following{
		reader: r, group: group, places: make(chan struct{}, r.opts.Streams),
		begun: map[string]bool{}, noted: map[string]bool{}, first: true,
	}
	group.Go(func() error {
		return r.cluster.Follow(streams, kinds.Pod.Resource(), r.namespace, r.pods(), func(pods []*unstructured.Unstructured, _ bool) error {
			return f.see(streams, pods)
		})
	})
	group.Go(func() error { return f.awaitClosed(streams) })
	err := group.Wait()
	if errors.Is(err, errClosed) {
		r.note("What was followed has ended: neither its pods nor what makes them are left.")
		return nil
	}
	return err
}

// see starts to follow the containers of pods that have started and are not followed yet.
func (f *following) see(ctx context.Context, pods []*unstructured.Unstructured) error {
	sources, err := f.sources(pods)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	first := f.first
	f.first, f.seen = false, f.seen || len(sources) > 0
	started := 0
	for _, s := range sources {
		if s.waits == "" && !f.begun[s.key] {
			started++
		}
	}
	switch {
	case first && started > f.opts.Streams:
		return &TooManyError{started, f.opts.Streams}
	case first && len(sources) == 0:
		if err := f.checkService(ctx); err != nil {
			return err
		}
		f.note("The lease has no pods yet.")
	}
	if len(f.begun)+started > 1 {
		f.mixer.mu.Lock()
		f.several = true
		f.mixer.mu.Unlock()
	}
	for _, s := range sources {
		switch {
		case f.begun[s.key]:
		case s.waits == "":
			f.begun[s.key] = true
			f.reading++
			f.group.Go(func() error {
				defer f.ended()
				return f.run(ctx, s, first)
			})
		case first && !f.noted[s.key]:
			f.noted[s.key] = true
			f.note(fmt.Sprintf("%s has no logs yet: %s", s.name(), s.waits))
		}
	}
	return nil
}

// run follows one container to its end, when there is a free place. It reads the whole log of a container that started
// after the command.
func (f *following) run(ctx context.Context, s source, first bool) error {
	select {
	case f.places <- struct{}{}:
	default:
		f.note(fmt.Sprintf("%s waits: this command follows %s at a time; --max-log-requests allows more", s.name(), lease.Count(f.opts.Streams, "container")))
		select {
		case f.places <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
	}
	defer func() { <-f.places }()
	opts := f.opts.Log
	opts.Follow = true
	if !first {
		opts.TailLines = nil
	}
	err := f.read(ctx, s, opts)
	switch {
	case err == nil || ctx.Err() != nil:
		return nil
	case !isContainerError(err):
		return err
	}
	f.note(fmt.Sprintf("%s: %s", s.name(), err))
	if apierrors.IsBadRequest(err) { // the log was not ready: try again when the pod changes
		f.mu.Lock()
		delete(f.begun, s.key)
		f.mu.Unlock()
	}
	return nil
}

// errClosed ends the following of a lease when nothing is left that could write logs.
var errClosed = errors.New("the lease is closed")

// firstCheck and lastCheck are the shortest and longest time between two checks whether the lease is closed.
const firstCheck, lastCheck = 500 * time.Millisecond, 10 * time.Second

// awaitClosed returns errClosed once all followed logs have ended, and neither pods nor workloads are left. It waits
// for a lease that has had no pods yet.
func (f *following) awaitClosed(ctx context.Context) error {
	pause := firstCheck
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		if !f.isIdle() {
			pause = firstCheck
			continue
		}
		closed, err := f.isClosed(ctx)
		switch {
		case closed && f.isIdle():
			return errClosed
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the command has ended
		case apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err):
			f.note("No end of the lease is noticed: " + cluster.NeedsRoleIn(err, f.namespace, Role).Error())
			return nil
		}
		pause = min(2*pause, lastCheck)
	}
}

// isIdle reports whether there were pods and no log is being read.
func (f *following) isIdle() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen && f.reading == 0
}

// isClosed reports whether there are neither pods nor workloads that would create any.
func (f *following) isClosed(ctx context.Context) (bool, error) {
	for _, kind := range []kinds.Kind{kinds.Pod, kinds.Deployment, kinds.StatefulSet} {
		remains := func(meta *metav1.ObjectMeta) (string, bool) {
			return meta.Name, kind == kinds.Pod || meta.DeletionTimestamp == nil
		}
		left, err := cluster.ListMetas(ctx, f.cluster, kind.Resource(), f.namespace, f.pods(), remains)
		if err != nil || len(left) > 0 {
			return false, err
		}
	}
	return true, nil
}

// ended records that the log of a container has ended.
func (f *following) ended() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reading--
}

// source is a container of a pod, between two restarts.
type source struct {
	pod, container string
	// key distinguishes it from the same container before and after a restart, and from a pod of the same name.
	key string
	// waits is why there is no log yet; empty if there is one.
	waits string
}

// name returns the source in the form of kubectl's line prefixes.
func (s source) name() string { return "pod/" + s.pod + "/" + s.container }

// sourcesOf returns the containers of a pod in the order of its spec, init containers first.
func sourcesOf(o *unstructured.Unstructured) ([]source, error) {
	var p corev1.Pod
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &p); err != nil {
		return nil, fmt.Errorf("pod %s cannot be read: %w", o.GetName(), err)
	}
	statuses := slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses)
	var out []source
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		s := source{pod: p.Name, container: c.Name, waits: "it is not scheduled yet"}
		if p.Spec.NodeName != "" {
			s.waits = "it has not started yet"
		}
		restarts := int32(0)
		if i := slices.IndexFunc(statuses, func(s corev1.ContainerStatus) bool { return s.Name == c.Name }); i >= 0 {
			status := statuses[i]
			restarts = status.RestartCount
			switch {
			case status.State.Waiting == nil, status.LastTerminationState.Terminated != nil:
				s.waits = ""
			case status.State.Waiting.Reason != "":
				s.waits = "it is waiting: " + status.State.Waiting.Reason
			}
		}
		s.key = fmt.Sprintf("%s/%s/%d", p.UID, c.Name, restarts)
		out = append(out, s)
	}
	return out, nil
}
