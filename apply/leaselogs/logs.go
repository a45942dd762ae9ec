// Package leaselogs reads the logs of a lease's containers, of all its pods at once.
package leaselogs

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
)

// Role is the ClusterRole that allows reading logs.
const Role = "akash-net-logs"

// Options select which logs are read, like kubectl's flags of the same names.
type Options struct {
	// Service is the service whose containers are read; empty for all of the lease.
	Service string
	// Follow also reads pods that start later, until the context ends or the lease is closed.
	Follow bool
	// Log are the options for each container; Stream sets Container and Follow.
	Log corev1.PodLogOptions
	// Streams is how many containers are followed at a time.
	Streams int
	// Prefix selects whether lines begin with their source; nil means if there are several sources.
	Prefix *bool
}

// ErrNoPods reports that a lease has no pods to read logs of.
var ErrNoPods = errors.New("it has no pods")

// reader reads the logs of one lease.
type reader struct {
	cluster   *cluster.Cluster
	namespace string
	opts      Options
	mixer     mixer
	// several is true once there is more than one source.
	several bool
	// note reports to the user what is missing in the logs.
	note func(string)
}

// Stream writes the logs of a lease's containers. It notes a log that cannot be read, goes on with the others, and
// returns an error in the end. With Follow it returns when the context ends or the lease is closed. It returns
// ErrNoPods, an UnknownServiceError or a cluster.RoleError.
func Stream(ctx context.Context, c *cluster.Cluster, id lease.ID, opts Options, out io.Writer, note func(string)) error {
	r := &reader{cluster: c, namespace: id.Namespace(), opts: opts, note: note}
	r.mixer.out, r.mixer.prefix = out, func() bool { return r.several }
	if opts.Prefix != nil {
		r.mixer.prefix = func() bool { return *opts.Prefix }
	}
	if opts.Follow {
		return cluster.NeedsRoleIn(r.follow(ctx), r.namespace, Role)
	}
	return cluster.NeedsRoleIn(r.once(ctx), r.namespace, Role)
}

// pods returns the options that select the pods to read.
func (r *reader) pods() metav1.ListOptions {
	selector := lease.LabelManaged + "=true"
	if r.opts.Service != "" {
		selector += "," + lease.LabelService + "=" + r.opts.Service
	}
	return metav1.ListOptions{LabelSelector: selector}
}

// once reads the existing logs, pod by pod.
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
		case !isContainerError(err):
			return err
		default:
			r.note(fmt.Sprintf("%s: %s", s.name(), err))
			failed++
		}
	}
	if failed > 0 && (read == 0 || !r.opts.Log.Previous) { // with --previous, not every container has an earlier log
		return fmt.Errorf("the logs of %d of %d containers cannot be read", failed, len(sources))
	}
	return nil
}

// sources returns the containers of pods, sorted by the pods' names.
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

// isContainerError reports whether an error concerns one container rather than the whole command.
func isContainerError(err error) bool {
	_, out := errors.AsType[*errOut](err)
	return !out && !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) && !errors.Is(err, context.Canceled)
}

// UnknownServiceError reports that a lease has other services than the named one.
type UnknownServiceError struct {
	Service string
	// Has are the lease's services, sorted.
	Has []string
}

func (e *UnknownServiceError) Error() string {
	return fmt.Sprintf("it has no service %q: it has %s", e.Service, strings.Join(e.Has, ", "))
}

// checkService returns an UnknownServiceError for a service without pods, if the lease runs other services. It returns
// nil if the lease runs nothing yet or the user may not read what it runs.
func (r *reader) checkService(ctx context.Context) error {
	if r.opts.Service == "" {
		return nil
	}
	has := sets.New[string]()
	opts := metav1.ListOptions{LabelSelector: lease.LabelManaged + "=true"}
	for _, kind := range []kinds.Kind{kinds.Deployment, kinds.StatefulSet} {
		err := cluster.EachMeta(ctx, r.cluster, kind.Resource(), r.namespace, opts, func(meta *metav1.ObjectMeta) {
			has.Insert(meta.Labels[lease.LabelService])
		}, func() {})
		switch {
		case apierrors.IsForbidden(err):
			return nil
		case err != nil:
			return err
		}
	}
	if len(has) == 0 || has.Has(r.opts.Service) {
		return nil
	}
	return &UnknownServiceError{Service: r.opts.Service, Has: sets.List(has)}
}

// mixer writes the lines of several sources to one stream. It writes a line that does not fit the buffer in pieces, so
// that it never holds a whole line. If another source writes between two pieces, the line is broken there.
type mixer struct {
	out io.Writer
	// prefix reports whether lines begin with their source.
	prefix func() bool

	mu sync.Mutex
	// open is the source with an unfinished line; empty if there is none.
	open string
	// failed is the error after which nothing more can be written.
	failed error
}

// maxPiece is the size of the buffer for a line, in bytes.
const maxPiece = 32 << 10

// errOut reports that the output cannot be written: its reader is gone, or the disk is full.
type errOut struct{ err error }

func (e *errOut) Error() string { return "the output cannot be written: " + e.err.Error() }
func (e *errOut) Unwrap() error { return e.err }

// copy writes what a source returns until its end.
func (m *mixer) copy(source string, in io.Reader) error {
	r := bufio.NewReaderSize(in, maxPiece)
	for {
		piece, err := r.ReadSlice('\n')
		if len(piece) > 0 {
			if err := m.write(source, piece); err != nil {
				return err
			}
		}
		switch {
		case err == nil, errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return nil
		default:
			return err
		}
	}
}

// write writes a line of a source, or a piece of one.
func (m *mixer) write(source string, piece []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed != nil {
		return m.failed
	}
	var text []byte
	if m.open != "" && m.open != source {
		text = append(text, '\n')
		m.open = ""
	}
	if m.open == "" && m.prefix() {
		text = append(append(append(text, '['), source...), "] "...)
	}
	if len(text) > 0 {
		piece = append(text, piece...)
	}
	if _, err := m.out.Write(piece); err != nil {
		m.failed = &errOut{err}
		return m.failed
	}
	m.open = source
	if piece[len(piece)-1] == '\n' {
		m.open = ""
	}
	return nil
}
