package orders

import (
	"net/http"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// through makes every request of a connection go through a function.
func through(pass func(*http.Request, http.RoundTripper) (*http.Response, error)) func(*rest.Config) {
	return func(to *rest.Config) {
		to.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) { return pass(r, next) })
		})
	}
}

// atWrite calls a function before the nth write is sent, or when it was answered.
func atWrite(n int64, answered bool, then func()) func(*rest.Config) {
	var writes atomic.Int64
	return through(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		is := r.Method != http.MethodGet && writes.Add(1) == n
		if is && !answered {
			then()
		}
		answer, err := next.RoundTrip(r)
		if is && answered {
			then()
		}
		return answer, err
	})
}

// groupOf is what an order's group asks for, as the inventory reads it.
func groupOf(t *testing.T, file string, o lease.Order) inventory.Group {
	t.Helper()
	return inventory.GroupOf(asked(t, file, leaseOf(o)))
}
