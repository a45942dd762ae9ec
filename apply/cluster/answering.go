package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// unanswered is how long a request may have no answer, or nothing more of one: an API server ends its own requests after 60 seconds at
// most, and nearly all after a part of one. A write of a command that was interrupted, or that has less time, gets no less than shortest.
const (
	unanswered = 30 * time.Second
	shortest   = 5 * time.Second
)

// SilentError reports that a request had no answer in time. Whether it took effect is unclear.
type SilentError struct{ Why string }

func (e *SilentError) Error() string { return "the API server has not answered " + e.Why }

// interruptKey is the context key of the context whose end shortens the wait for the answer to a write.
type interruptKey struct{}

// Within bounds how long a write may have no answer by the time that a command has. Call it before the first request.
func (c *Cluster) Within(d time.Duration) {
	if d > 0 {
		c.availability.writes.Store(int64(min(unanswered, max(d, shortest))))
	}
}

// answering ends a request that has no answer in time, or whose answer stops; but not a watch, nor a log that is followed.
func (r *availability) answering(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if query := request.URL.Query(); query.Has("watch") || query.Has("follow") {
			return next.RoundTrip(request)
		}
		after := unanswered
		if request.Method != http.MethodGet {
			after = time.Duration(r.writes.Load())
		}
		ctx, cancel := context.WithCancelCause(request.Context())
		silent := time.AfterFunc(after, func() { cancel(&SilentError{fmt.Sprintf("within %s", after)}) })
		stop := func() bool { return true }
		if interrupt, ok := ctx.Value(interruptKey{}).(context.Context); ok {
			stop = context.AfterFunc(interrupt, func() {
				if silent.Stop() {
					silent.Reset(min(after, shortest))
				}
			})
		}
		end := func() {
			stop()
			silent.Stop()
			cancel(nil)
		}
		response, err := next.RoundTrip(request.WithContext(ctx))
		if err != nil {
			err = because(ctx, err)
			end()
			return nil, err
		}
		response.Body = &answerBody{ReadCloser: response.Body, ctx: ctx, silent: silent, after: after, end: end}
		return response, nil
	})
}

// because returns the error of a request, which was ended because it had no answer in time if ctx says so.
func because(ctx context.Context, err error) error {
	if silent, ok := errors.AsType[*SilentError](context.Cause(ctx)); ok && err != nil {
		return silent
	}
	return err
}

// answerBody is the body of an answer. It has to go on within a time.
type answerBody struct {
	io.ReadCloser
	ctx    context.Context
	silent *time.Timer
	after  time.Duration
	end    func()
}

func (a *answerBody) Read(p []byte) (n int, err error) {
	n, err = a.ReadCloser.Read(p)
	if n > 0 && a.silent.Stop() {
		a.silent.Reset(a.after)
	}
	if err != nil && err != io.EOF { //nolint:errorlint // a reader's end is io.EOF itself
		err = because(a.ctx, err)
	}
	return n, err
}

func (a *answerBody) Close() error {
	defer a.end()
	return a.ReadCloser.Close()
}

// aloneAtMost is how often a resource may go unanswered while the rest of the API answers, before the server behind it
// counts as down. A load balancer with one unhealthy backend also gives such answers now and then.
const aloneAtMost = 3

// ownGroups are API groups that kube-apiserver always serves itself. If one of their resources is unavailable, so is
// the API server.
var ownGroups = []string{"", "apps", "coordination.k8s.io", "networking.k8s.io", "apiextensions.k8s.io"}

// isBehind reports whether the aggregation layer answered that the server of an APIService is unavailable.
func isBehind(resource schema.GroupVersionResource, err error) bool {
	status, ok := statusOf(err)
	return ok && resource.Resource != "" && !slices.Contains(ownGroups, resource.Group) &&
		slices.Contains([]int32{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}, status.Code)
}

// answers reports whether the API server itself can read from etcd. It lists namespaces, which every command reads.
func (c *Cluster) answers(ctx context.Context) bool {
	leave, err := c.enter(ctx)
	if err != nil {
		return false
	}
	defer leave()
	_, err = c.Metadata.Resource(Namespaces).List(ctx, metav1.ListOptions{Limit: 1})
	return !isSilent(err)
}

// behind describes the server of a resource and what is wrong with it, if the user may read the APIService.
func (c *Cluster) behind(ctx context.Context, resource schema.GroupVersionResource) string {
	name := resource.Version + "." + resource.Group
	services := schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	o, err := c.Dynamic.Resource(services).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Sprintf("APIService %s cannot be read (kubectl get apiservice %[1]s)", name)
	}
	namespace, _, _ := unstructured.NestedString(o.Object, "spec", "service", "namespace")
	service, aggregated, _ := unstructured.NestedString(o.Object, "spec", "service", "name")
	if !aggregated {
		return "the API server serves it itself (APIService " + name + " is Local)"
	}
	text := fmt.Sprintf("the server of APIService %s (service %s/%s) is down", name, namespace, service)
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, v := range conditions {
		if condition, _ := v.(map[string]any); condition["type"] == "Available" && condition["status"] != "True" {
			text += fmt.Sprintf(" (%v)", condition["reason"])
		}
	}
	return text + fmt.Sprintf("; start it, or, if it is gone for good, remove it: kubectl delete apiservice %s", name)
}

// gateKey is the context key of a Gate, anewKey that of a write that rests on something read after an earlier attempt.
type (
	gateKey struct{}
	anewKey struct{}
)

// Gate delays or refuses a write, and returns until when the write may take; the zero time sets no end. anew is true for
// a write that rests on something that was read after an earlier attempt (see Anew).
type Gate func(ctx context.Context, anew bool) (until time.Time, err error)

// WithGate returns a context whose writes call the gate first, and again before each further attempt, also those that
// the client library makes by itself; nil removes the gate. A dry run calls no gate.
func WithGate(ctx context.Context, gate Gate) context.Context {
	return context.WithValue(ctx, gateKey{}, gate)
}

// Anew returns a context for writes that rest on something that was read after an earlier attempt. Its version does not
// tell the command's writes from those of a successor, so the gate has to ask whether there is one.
func Anew(ctx context.Context) context.Context { return context.WithValue(ctx, anewKey{}, true) }

func gateOf(ctx context.Context) Gate {
	gate, _ := ctx.Value(gateKey{}).(Gate)
	return gate
}

// ask calls the gate of the context, if it has one, before the request takes a place among the concurrent ones: the
// gate may wait for other commands.
func (c *Cluster) ask(ctx context.Context) error {
	gate := gateOf(ctx)
	if gate == nil || c.drafts != nil {
		return nil
	}
	_, err := gate(ctx, false)
	return shut(ctx, err)
}

// shut returns the error of a gate as a ShutError. An interrupt says nothing about the gate, and stays what it is.
func shut(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return err
	}
	return &ShutError{Err: err}
}

// gated asks the gate before each attempt of a write, and ends the attempt at the time that the gate says.
func gated(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		gate := gateOf(r.Context())
		if gate == nil || r.Method == http.MethodGet || r.URL.Query().Has("dryRun") {
			return next.RoundTrip(r)
		}
		anew, _ := r.Context().Value(anewKey{}).(bool)
		until, err := gate(r.Context(), anew)
		if err != nil {
			if r.Body != nil {
				_ = r.Body.Close() // nothing of it is sent
			}
			return nil, shut(r.Context(), err)
		}
		if until.IsZero() {
			return next.RoundTrip(r)
		}
		ctx, cancel := context.WithDeadline(r.Context(), until)
		response, err := next.RoundTrip(r.WithContext(ctx))
		if err != nil {
			over := ctx.Err() != nil
			if cancel(); over && r.Context().Err() == nil {
				err = &SilentError{"while the command's announcement was valid"}
			}
			return nil, err
		}
		response.Body = &endedBody{response.Body, cancel}
		return response, nil
	})
}

// endedBody ends the context of its request when it is closed.
type endedBody struct {
	io.ReadCloser
	end context.CancelFunc
}

func (b *endedBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

// ShutError reports that a gate refused a write. The write was not sent, and sending it again would not help.
type ShutError struct{ Err error }

func (e *ShutError) Error() string { return e.Err.Error() }

// Unwrap returns the gate's error.
func (e *ShutError) Unwrap() error { return e.Err }

// IsShut reports whether a gate refused the write.
func IsShut(err error) bool {
	_, shut := errors.AsType[*ShutError](err)
	return shut
}
