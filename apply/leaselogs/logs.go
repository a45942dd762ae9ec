package leaselogs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
)

// Role is the ClusterRole that allows to read logs.
const Role = "akash-net-logs"

// Options say what is read of which containers, as kubectl's flags of the same names do.
type Options struct {
	// Service is the one whose containers are read; empty for all of the lease.
	Service string
	// Follow goes on until the context or the lease ends, with the pods that start meanwhile.
	Follow bool
	// Log is what is asked of each container; Container and Follow are set here.
	Log corev1.PodLogOptions
	// Streams is how many containers are followed at a time.
	Streams int
	// Prefix says whether lines begin with their source; nil for where there are several.
	Prefix *bool
}

// ErrNoPods says that a lease has no pods of which anything could be read.
var ErrNoPods = errors.New("it has no pods")

// reader reads the logs of one lease.
type reader struct {
	cluster   *cluster.Cluster
	namespace string
	opts      Options
	mixer     mixer
	// several is true once there is more than one source.
	several bool
	// note tells the user what is not in the logs.
	note func(string)
}

// Stream writes the logs of a lease's containers. What cannot be read of one does not keep the others: it is noted, and
// fails in the end. With Follow it returns when the context ends, or
// when nothing is left of the lease that could print. It fails with ErrNoPods, with an
// UnknownServiceError, and with a cluster.RoleError.
func Stream(ctx context.Context, c *cluster.Cluster, id lease.ID, opts Options, out io.Writer, note func(string)) error {
	r := &reader{cluster: c, namespace: id.Namespace(), opts: opts, note: note}
	r.mixer.out, r.mixer.prefix = out, func() bool { return r.several }
	if opts.Prefix != nil {
		r.mixer.prefix = func() bool { return *opts.Prefix }
	}
	if opts.Follow {
		return cluster.NeedsRole(r.follow(ctx), Role)
	}
	return cluster.NeedsRole(r.once(ctx), Role)
}

// pods selects the pods that are read.
func (r *reader) pods() metav1.ListOptions {
	selector := lease.LabelManaged + "=true"
	if r.opts.Service != "" {
		selector += "," + lease.LabelService + "=" + r.opts.Service
	}
	return metav1.ListOptions{LabelSelector: selector}
}

// once reads what has been printed, pod by pod.
func (r *reader) once(ctx context.Context) error {
	found, err := r.cluster.Objects(ctx, kinds.Pod.Resource(), r.namespace, r.pods())
	if err != nil {
		return err
	}
	sources, err := r.sources(found)
	if err != nil {
		return err
	}
	if len(sources) == 0 {
		return cmp.Or(r.checkService(ctx), ErrNoPods)
	}
	r.several = len(sources) > 1
	failed, read := 0, 0
	for _, s := range sources {
		if s.waits != "" {
			r.note(fmt.Sprintf("%s has no logs: %s", s.name(), s.waits))
			continue
		}
		switch err := r.read(ctx, s, r.opts.Log); {
		case err == nil:
			read++
		case !isOf(err):
			return err
		default:
			r.note(fmt.Sprintf("%s: %s", s.name(), err))
			failed++
		}
	}
	if failed > 0 && (read == 0 || !r.opts.Log.Previous) { // not all containers have run before
		return fmt.Errorf("the logs of %d of %d containers cannot be read", failed, len(sources))
	}
	return nil
}

// sources are the containers of pods, in the order of the pods' names.
func (r *reader) sources(pods []*unstructured.Unstructured) ([]source, error) {
	slices.SortFunc(pods, func(a, b *unstructured.Unstructured) int { return cmp.Compare(a.GetName(), b.GetName()) })
	var out []source
	for _, p := range pods {
		sources, err := sourcesOf(p)
		if err != nil {
			return nil, err
		}
		out = append(out, sources...)
	}
	return out, nil
}

// read writes the log of one container.
func (r *reader) read(ctx context.Context, s source, opts corev1.PodLogOptions) error {
	opts.Container = s.container
	body, err := r.cluster.PodLog(ctx, r.namespace, s.pod, &opts)
	if err != nil {
		return err
	}
	defer body.Close() //nolint:errcheck // only read
	return r.mixer.copy(s.name(), body)
}

// isOf is true for an error that is of one container, and not of the command.
func isOf(err error) bool {
	_, out := errors.AsType[*errOut](err)
	return !out && !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) && !errors.Is(err, context.Canceled)
}
