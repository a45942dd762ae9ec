//go:build linux

package traffic

import (
	"crypto/tls"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// certify makes a Secret in the lease's namespace with a certificate for a host.
func certify(t *testing.T, id lease.ID, name, host string) {
	t.Helper()
	secret, err := ca.secret(id.Namespace(), name, host)
	if err != nil {
		t.Fatal(err)
	}
	create(t, secret)
}

// secure brings a lease to life whose host is served over TLS: with Ingresses by a certificate of
// the lease's, on the Gateway by the listener's. Clients trust no other.
func (r router) secure(t *testing.T, host, insecure string) {
	t.Helper()
	id, tls := newLease(t), "termination: edge, insecure: "+insecure
	if r.name != "httproute" {
		tls += ", secretName: certificate"
	}
	r.apply(t, id, service("web", []string{host}, "tls: {"+tls+"}"))
	certify(t, id, "certificate", host)
	deploy(t, id, "web", "web")
	answers(t, "https://"+host+"/cart", "web")
}

func TestTLS(t *testing.T) {
	each(t, routers, func(t *testing.T, r router) {
		host := newHost("shop")
		r.secure(t, host, "Allow")
		answers(t, "http://"+host+"/cart", "web")
	})
}

// Requests without TLS are sent to the same place with it.
func TestRedirectToTLS(t *testing.T) {
	each(t, routers[1:], func(t *testing.T, r router) { // Traefik's own reading of Ingresses knows no redirect
		host := newHost("shop")
		r.secure(t, host, "Redirect")
		status := map[string]string{"ingress-nginx": "308", "httproute": "301"}
		answers(t, "http://"+host+"/cart", status[r.name]+" https://"+host+"/cart")
	})
}

// Nobody answers requests without TLS.
func TestOnlyTLS(t *testing.T) {
	each(t, routers[2:], func(t *testing.T, r router) { // with Ingresses it is refused
		host := newHost("shop")
		r.secure(t, host, "None")
		answers(t, "http://"+host+"/cart", "404")
	})
}

// issued is a backend's certificate.
func issued(t *testing.T, by authority, hosts ...string) tls.Certificate {
	t.Helper()
	certificate, key, err := by.issue(hosts...)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// The client's TLS ends at the backend, whose certificate it sees.
func TestPassthrough(t *testing.T) {
	each(t, routers[1:2], func(t *testing.T, r router) { // TLSRoutes are experimental in Traefik
		id, host := newLease(t), newHost("shop")
		r.apply(t, id, service("web", []string{host}, "tls: {termination: passthrough}"))
		deployAt(t, id, "web", listen(t, "web", issued(t, ca, host)))
		answers(t, "https://"+host+"/cart", "web")
	})
}

// The router speaks TLS to the backend, and to none whose certificate is not by the authority that
// the definition names.
func TestReencrypt(t *testing.T) {
	each(t, routers[1:2], func(t *testing.T, r router) { // Traefik's BackendTLSPolicy takes no Secrets
		other, err := newAuthority()
		if err != nil {
			t.Fatal(err)
		}
		id, host, untrusted := newLease(t), newHost("shop"), newHost("untrusted")
		said := "tls: {termination: reencrypt, insecure: Redirect, secretName: certificate, destinationCASecretName: certificate}"
		r.apply(t, id, service("web", []string{host}, said), service("api", []string{untrusted}, said))
		secret, err := ca.secret(id.Namespace(), "certificate", host, untrusted)
		if err != nil {
			t.Fatal(err)
		}
		create(t, secret)
		deployAt(t, id, "web", listen(t, "web", issued(t, ca, "web."+id.Namespace()+".svc")))
		deployAt(t, id, "api", listen(t, "api", issued(t, other, "api."+id.Namespace()+".svc")))
		answers(t, "https://"+host+"/cart", "web")
		answers(t, "https://"+untrusted+"/cart", "500")
	})
}
