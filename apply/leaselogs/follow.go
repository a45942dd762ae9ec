package leaselogs

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
)

// TooManyError says that more containers are to be followed at once than are allowed.
type TooManyError struct{ Containers, Streams int }

func (e *TooManyError) Error() string {
	return fmt.Sprintf("%d containers are to be followed, and --max-log-requests is %d", e.Containers, e.Streams)
}

// following are the containers that are followed.
type following struct {
	*reader
	group  *parallel.Group
	places chan struct{}

	mu sync.Mutex
	// begun are the sources that are, or were, read; noted those that were said to wait.
	begun, noted map[string]bool
	// reading are how many are to be read, and have not ended.
	reading int
	// seen is true once there was a pod.
	seen bool
	// first is true until the pods have been listed once.
	first bool
}

// follow reads the containers that are there and those that start later, each until it ends. It ends with the lease.
func (r *reader) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	group, streams := parallel.WithContext(ctx)
	f := &following{reader: r, group: group, places: make(chan struct{}, r.opts.Streams), begun: map[string]bool{}, noted: map[string]bool{}, first: true}
	group.Go(func() error {
		return r.cluster.Follow(streams, kinds.Pod.Resource(), r.namespace, r.pods(), func(pods []*unstructured.Unstructured) error {
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

// see begins to follow the containers of pods that have started and are not followed yet.
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
				defer f.ends()
				return f.run(ctx, s, first)
			})
		case first && !f.noted[s.key]:
			f.noted[s.key] = true
			f.note(fmt.Sprintf("%s has no logs yet: %s", s.name(), s.waits))
		}
	}
	return nil
}

// run follows one container to its end, when it is its turn. Of one that has started since, all that it has printed counts.
func (f *following) run(ctx context.Context, s source, first bool) error {
	select {
	case f.places <- struct{}{}:
	default:
		f.note(fmt.Sprintf("%s waits: %d containers are followed; --max-log-requests allows more", s.name(), f.opts.Streams))
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
	case !isOf(err):
		return err
	}
	f.note(fmt.Sprintf("%s: %s", s.name(), err))
	if apierrors.IsBadRequest(err) { // it was not ready to be read: its next change is another chance
		f.mu.Lock()
		delete(f.begun, s.key)
		f.mu.Unlock()
	}
	return nil
}
