// Package leaselogs reads the logs of a lease's containers, of all its pods at once.
package leaselogs

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
)

// Role is the ClusterRole that allows reading logs.
const Role = "akash-net-logs"

// Options select which logs are read, like kubectl's flags of the same names.
type Options struct {
	// Pod are those of each container. Follow also reads pods that start later, until the context ends or the lease is closed.
	Pod corev1.PodLogOptions
	// Service is the service whose containers are read; empty for all of the lease.
	Service string
	// Streams is how many containers are followed at a time.
	Streams int
	// Prefix selects whether lines begin with their source; nil means if there are several sources.
	Prefix *bool
}

// Errors of a lease, or of a service of it, that has no logs.
var (
	ErrNoPods    = errors.New("it has no pods")
	ErrNoService = errors.New("it has no service")
)

// TooManyError reports that more containers are to be followed than --max-log-requests allows.
type TooManyError struct{ Containers, Streams int }

func (e *TooManyError) Error() string {
	return fmt.Sprintf("--max-log-requests is %d, and this command would follow %s", e.Streams, lease.Count(e.Containers, "container"))
}

// reader reads the logs of one lease.
type reader struct {
	cluster   *cluster.Cluster
	namespace string
	pods      metav1.ListOptions
	opts      Options
	// note reports to the user what is missing in the logs.
	note func(format string, args ...any)

	// mu guards the output and what follows here.
	mu  sync.Mutex
	out io.Writer
	// seen is true once there was a source, several once more than one had logs.
	seen, several bool
	// begun has the keys of sources that are or were followed, of which reading have not ended.
	begun   sets.Set[string]
	reading int
}

// Stream writes the logs of a lease's containers. It notes a log that cannot be read, goes on with the others, and
// returns an error in the end. With Follow it returns when the context ends or the lease is closed. It returns
// ErrNoPods, an ErrNoService or a cluster.RoleError.
func Stream(ctx context.Context, c *cluster.Cluster, id lease.ID, opts Options, out io.Writer, note func(string)) error {
	r := &reader{cluster: c, namespace: id.Namespace(), opts: opts, out: out, begun: sets.New[string]()}
	r.note = func(format string, args ...any) { note(fmt.Sprintf(format, args...)) }
	r.pods.LabelSelector = lease.LabelManaged + "=true"
	if opts.Service != "" {
		r.pods.LabelSelector += "," + lease.LabelService + "=" + opts.Service
	}
	read := r.once
	if opts.Pod.Follow {
		read = r.follow
	}
	return cluster.NeedsRoleIn(read(ctx), r.namespace, Role)
}

// once reads the existing logs, pod by pod.
func (r *reader) once(ctx context.Context) error {
	found, err := r.cluster.Objects(ctx, kinds.Pod.Resource(), r.namespace, r.pods)
	if err != nil {
		return err
	}
	sources, err := sourcesOf(found)
	if len(sources) == 0 {
		return cmp.Or(err, r.checkService(ctx), ErrNoPods)
	}
	r.several = len(sources) > 1
	failed, read := 0, 0
	for _, s := range sources {
		if s.waits != "" {
			r.note("%s has no logs: %s", s.name(), s.waits)
			continue
		}
		switch err := r.read(ctx, s, r.opts.Pod); {
		case err == nil:
			read++
		case !isContainerError(err):
			return err
		default:
			r.note("%s: %s", s.name(), err)
			failed++
		}
	}
	if failed > 0 && (read == 0 || !r.opts.Pod.Previous) { // with --previous, not every container has an earlier log
		return fmt.Errorf("the logs of %d of %d containers cannot be read", failed, len(sources))
	}
	return nil
}

// errClosed ends the following of a lease when nothing remains that could write logs.
var errClosed = errors.New("the lease is closed")

// follow reads the logs of the existing containers and of those that start later, until the lease is closed.
func (r *reader) follow(ctx context.Context) error {
	group, ctx := parallel.WithContext(ctx)
	places, opts, first := make(chan struct{}, r.opts.Streams), r.opts.Pod, true
	group.Go(func() error {
		return r.cluster.Follow(ctx, kinds.Pod.Resource(), r.namespace, r.pods, func(pods []*unstructured.Unstructured, _ bool) error {
			sources, err := sourcesOf(pods)
			if err == nil && first && len(sources) == 0 {
				if err = r.checkService(ctx); err == nil {
					r.note("The lease has no pods yet.")
				}
			}
			started := r.begin(sources)
			switch {
			case err != nil:
				return err
			case first && len(started) > r.opts.Streams:
				return &TooManyError{len(started), r.opts.Streams}
			}
			for _, s := range sources {
				if first && s.waits != "" {
					r.note("%s has no logs yet: %s", s.name(), s.waits)
				}
			}
			for _, s := range started {
				opts := opts
				group.Go(func() error { return r.followOne(ctx, places, s, opts) })
			}
			first, opts.TailLines = false, nil // all counts that a container prints which has started after the command
			return nil
		})
	})
	group.Go(func() error { return r.awaitClosed(ctx) })
	err := group.Wait()
	if errors.Is(err, errClosed) {
		r.note("The logs have ended: the pods are gone, and so is what made them.")
		return nil
	}
	return err
}

// begin returns the sources that have started and are not followed yet, and counts them as followed.
func (r *reader) begin(sources []source) (started []source) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = r.seen || len(sources) > 0
	for _, s := range sources {
		if s.waits == "" && !r.begun.Has(s.key) {
			r.begun.Insert(s.key)
			r.reading++
			started = append(started, s)
		}
	}
	r.several = r.several || r.begun.Len() > 1
	return started
}

// followOne follows one container to its end, when there is a free place.
func (r *reader) followOne(ctx context.Context, places chan struct{}, s source, opts corev1.PodLogOptions) error {
	select {
	case places <- struct{}{}:
	default:
		r.note("%s waits: this command follows %s at a time; --max-log-requests allows more", s.name(), lease.Count(r.opts.Streams, "container"))
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
	}
	err := r.read(ctx, s, opts)
	<-places
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reading--
	switch {
	case err == nil || ctx.Err() != nil:
		return nil
	case !isContainerError(err):
		return err
	case apierrors.IsBadRequest(err): // the log was not ready: try again when the pod changes
		r.begun.Delete(s.key)
	}
	r.note("%s: %s", s.name(), err)
	return nil
}

// awaitClosed returns errClosed once all followed logs have ended, and neither pods nor workloads remain that would make any. It waits for
// a lease that has had no pods yet.
func (r *reader) awaitClosed(ctx context.Context) error {
	idle := func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.seen && r.reading == 0
	}
	err := wait.PollUntilContextCancel(ctx, 500*time.Millisecond, false, func(ctx context.Context) (bool, error) {
		if !idle() {
			return false, nil
		}
		found, err := cluster.ListMetas(ctx, r.cluster, kinds.Pod.Resource(), r.namespace, r.pods, func(meta *metav1.ObjectMeta) (string, bool) { return meta.Name, true })
		if err == nil && len(found) == 0 {
			found, err = r.services(ctx, r.pods)
		}
		if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
			return false, err
		}
		return err == nil && len(found) == 0 && idle(), nil // otherwise it is asked again
	})
	switch {
	case err == nil:
		return errClosed
	case ctx.Err() == nil:
		r.note("Cannot see whether the lease ends: %s", cluster.NeedsRoleIn(err, r.namespace, Role))
	}
	return nil
}

// services returns the services that the lease runs, as far as they are selected and not being deleted.
func (r *reader) services(ctx context.Context, selected metav1.ListOptions) (names []string, _ error) {
	for _, kind := range []kinds.Kind{kinds.Deployment, kinds.StatefulSet} {
		found, err := cluster.ListMetas(ctx, r.cluster, kind.Resource(), r.namespace, selected, func(meta *metav1.ObjectMeta) (string, bool) {
			return meta.Labels[lease.LabelService], meta.DeletionTimestamp == nil
		})
		if names = append(names, found...); err != nil {
			return nil, err
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil // one may be on its way from one kind to the other
}

// checkService returns an error for a service without pods, if the lease runs other services. It returns nil if the lease runs nothing yet
// or the user may not read what it runs.
func (r *reader) checkService(ctx context.Context) error {
	if r.opts.Service == "" {
		return nil
	}
	names, err := r.services(ctx, metav1.ListOptions{LabelSelector: lease.LabelManaged + "=true"})
	switch {
	case apierrors.IsForbidden(err), err == nil && (len(names) == 0 || slices.Contains(names, r.opts.Service)):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("%w %q: it has %s", ErrNoService, r.opts.Service, strings.Join(names, ", "))
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

// sourcesOf returns the containers of pods, sorted by the pods' names and in the order of their specs, init containers first.
func sourcesOf(pods []*unstructured.Unstructured) (out []source, _ error) {
	slices.SortFunc(pods, func(a, b *unstructured.Unstructured) int { return cmp.Compare(a.GetName(), b.GetName()) })
	for _, o := range pods {
		var p corev1.Pod
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &p); err != nil {
			return nil, fmt.Errorf("pod %s cannot be read: %w", o.GetName(), err)
		}
		statuses := map[string]corev1.ContainerStatus{}
		for _, status := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
			statuses[status.Name] = status
		}
		for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
			status, known := statuses[c.Name]
			s := source{pod: p.Name, container: c.Name, key: fmt.Sprintf("%s/%s/%d", p.UID, c.Name, status.RestartCount)}
			switch waiting := status.State.Waiting; {
			case known && (waiting == nil || status.LastTerminationState.Terminated != nil):
			case known && waiting.Reason != "":
				s.waits = "it is waiting: " + waiting.Reason
			case p.Spec.NodeName != "":
				s.waits = "it has not started yet"
			default:
				s.waits = "it is not scheduled yet"
			}
			out = append(out, s)
		}
	}
	return out, nil
}

// read writes the log of one container, line by line, as kubectl does.
func (r *reader) read(ctx context.Context, s source, opts corev1.PodLogOptions) error {
	opts.Container = s.container
	body, err := r.cluster.PodLog(ctx, r.namespace, s.pod, &opts)
	if err != nil {
		return err
	}
	defer body.Close() //nolint:errcheck // only read
	return r.copy(s.name(), body)
}

// copy writes what a source returns until its end.
func (r *reader) copy(source string, in io.Reader) error {
	for lines := bufio.NewReader(in); ; {
		line, err := lines.ReadBytes('\n')
		if wrong := r.write(source, line); wrong != nil {
			return wrong
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// errOut reports that the reader of the output is gone, or the disk full.
var errOut = errors.New("the output cannot be written")

// isContainerError reports whether an error concerns one container rather than the whole command.
func isContainerError(err error) bool {
	return !errors.Is(err, errOut) && !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) && !errors.Is(err, context.Canceled)
}

// write writes a line of a source. Of several sources each has an end, so that they do not run into each other.
func (r *reader) write(source string, line []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(line) == 0 {
		return nil
	}
	if r.several || r.opts.Prefix != nil && *r.opts.Prefix {
		if r.opts.Prefix == nil || *r.opts.Prefix {
			line = append([]byte("["+source+"] "), line...)
		}
		line = append(bytes.TrimSuffix(line, []byte("\n")), '\n')
	}
	if _, err := r.out.Write(line); err != nil {
		return fmt.Errorf("%w: %w", errOut, err)
	}
	return nil
}
