//go:build linux

package traffic

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// port is that of every backend.
const port = 8080

// listen starts a backend in the pods' network, and returns its address; with a certificate it
// speaks TLS. It answers every request with its name and the URL that it was asked for, and sends
// back the headers that begin with X-Echo-.
func listen(t *testing.T, name string, certificates ...tls.Certificate) (address string) {
	t.Helper()
	listener, address, err := pods.listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for header, values := range r.Header {
			if strings.HasPrefix(header, "X-Echo-") {
				w.Header()[header] = values
			}
		}
		scheme := cmp.Or(r.Header.Get("X-Forwarded-Proto"), "https") // without a router only over TLS
		fmt.Fprintf(w, "%s %s://%s%s", name, scheme, r.Host, r.RequestURI)
	})}
	if len(certificates) == 0 {
		go server.Serve(listener) //nolint:errcheck // ends with Close
	} else {
		server.TLSConfig = &tls.Config{Certificates: certificates, MinVersion: tls.VersionTLS12}
		go server.ServeTLS(listener, "", "") //nolint:errcheck // ends with Close
	}
	t.Cleanup(func() { _ = server.Close() })
	return address
}

// deploy makes the Service of a lease's workload with a backend, as the provider does. The lease's
// namespace is there already: its first apply made it.
func deploy(t *testing.T, id lease.ID, service, name string) {
	t.Helper()
	deployAt(t, id, service, listen(t, name))
}

// deployAt does the same with backends that run already.
func deployAt(t *testing.T, id lease.ID, service string, addresses ...string) {
	t.Helper()
	var endpoints []string
	for _, address := range addresses {
		endpoints = append(endpoints, "{addresses: ["+address+"], conditions: {ready: true}}")
	}
	create(t, fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: %[1]s, namespace: %[2]s}
spec: {ports: [{port: 80, targetPort: %[3]d}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: %[1]s-1, namespace: %[2]s, labels: {kubernetes.io/service-name: %[1]s}}
addressType: IPv4
endpoints: [%[4]s]
ports: [{name: "", port: %[3]d}]
`, service, id.Namespace(), port, strings.Join(endpoints, ", ")))
}

// create makes objects, in YAML, as the provider or its administrator does.
func create(t *testing.T, objects string) {
	t.Helper()
	if err := kubectl(t.Context(), objects, "create", "-f", "-"); err != nil {
		t.Fatal(err)
	}
}
