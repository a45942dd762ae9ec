//go:build linux

// Package traffic shows that what this program writes serves real requests: the real binary writes
// Ingresses and HTTPRoutes to a real API server, Traefik reads them there, and clients reach
// backends through it. `make test-traffic` runs it: it needs Traefik, which takes minutes to build,
// and the rights to make a network namespace.
package traffic

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

var (
	// edge is where clients reach the cluster; crowd are clients that keep their connections.
	edge, crowd front
	// ca signs the certificates that the clients trust.
	ca authority
	// pods is where the backends are.
	pods *network
)

func TestMain(m *testing.M) {
	if os.Getenv("TRAFFIC") == "" {
		fmt.Println("test/traffic: not asked for; run `make test-traffic`")
		os.Exit(0)
	}
	os.Exit(harness.Main(m, harness.Setup{Controllers: true, Binary: true, Then: setup}))
}

// provider is what the cluster's administrator has made for Traefik. All hosts of the tests are
// below the domain of the Gateway's certificate.
const provider = `
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: traefik}
spec: {controller: traefik.io/ingress-controller}
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: nginx}
spec: {controller: k8s.io/ingress-nginx}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: traefik}
spec: {controllerName: traefik.io/gateway-controller}
---
apiVersion: v1
kind: Namespace
metadata: {name: edge}
---
%s
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: edge}
spec:
  gatewayClassName: traefik
  listeners:
  - {name: http, port: %d, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}
  - name: https
    port: %d
    protocol: HTTPS
    tls: {certificateRefs: [{name: certificate}]}
    allowedRoutes: {namespaces: {from: All}}
`

// setup starts Traefik beside the control plane, and installs.
func setup(ctx context.Context) (err error) {
	if pods, err = newNetwork(ctx); err != nil {
		return err
	}
	if ca, err = newAuthority(); err != nil {
		return err
	}
	if err := startEdge(ctx); err != nil {
		return err
	}
	for _, r := range routers {
		text := "{apiVersion: net.akash.network/v1alpha1, kind: ProviderConfig, metadata: {name: provider}, spec: " + r.spec + "}\n"
		if err := os.WriteFile(r.config(), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return akashNet(ctx, "install")
}

// startEdge starts Traefik and makes the classes and the Gateway that it serves.
func startEdge(ctx context.Context) error {
	traefik, err := harness.Plane.StartTraefik(ctx)
	if err != nil {
		return err
	}
	edge, crowd = newFront(traefik, ca, false), newFront(traefik, ca, true)
	secret, err := ca.secret("edge", "certificate", "*."+domain)
	if err != nil {
		return err
	}
	return kubectl(ctx, fmt.Sprintf(provider, secret, traefik.HTTP, traefik.HTTPS), "create", "-f", "-")
}

// akashNet runs the program to its end. It is an error when its exit code is not 0.
func akashNet(ctx context.Context, args ...string) error {
	return harness.Succeed(harness.Command(ctx, harness.Plane.Kubeconfig, args...))
}

// kubectl is the administrator's, with a text on its standard input.
func kubectl(ctx context.Context, stdin string, args ...string) error {
	return harness.Kubectl(ctx, stdin, nil, args...)
}
