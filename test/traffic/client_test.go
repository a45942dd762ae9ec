//go:build linux

package traffic

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/hack/testbed"
)

// patience bounds the wait for what the router does. Traefik takes up changes at most every two
// seconds, which is its default.
const patience = time.Minute

// front is where clients reach the cluster: every host name leads to Traefik.
type front struct{ client *http.Client }

// newFront makes a client whose requests have a connection each, or share what is open: what a
// connection was opened for, as TLS that is passed through, it stays.
func newFront(at *testbed.Traefik, ca authority, share bool) front {
	ports := map[string]int{"80": at.HTTP, "443": at.HTTPS}
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	return front{client: &http.Client{
		Timeout:       10 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			TLSClientConfig:     &tls.Config{RootCAs: ca.pool, MinVersion: tls.VersionTLS12},
			DisableKeepAlives:   !share,
			MaxIdleConnsPerHost: clients,
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				_, port, err := net.SplitHostPort(address)
				if err != nil {
					return nil, err
				}
				return dialer.DialContext(ctx, network, net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[port])))
			},
		},
	}}
}

// ask is what comes of asking for a URL: the name of the backend that answered (and the URL as it
// saw it, where that is another one), or a status other than 200 with the place that it leads to, or
// why there was no answer.
func (f front) ask(ctx context.Context, url string) string {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err.Error()
	}
	response, err := f.client.Do(request)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close() //nolint:errcheck // only read
	body, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return err.Error()
	case response.StatusCode != http.StatusOK:
		return strings.TrimSpace(fmt.Sprint(response.StatusCode, " ", response.Header.Get("Location")))
	}
	return strings.TrimSuffix(string(body), " "+url)
}

// answers waits until a URL is answered as wanted: the router takes up changes when it has seen
// them.
func answers(t *testing.T, url, want string) {
	t.Helper()
	var got string
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		got = edge.ask(t.Context(), url)
		return got == want, nil
	})
	if err != nil {
		t.Fatalf("%s answers %q, not %q", url, got, want)
	}
}
