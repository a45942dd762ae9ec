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
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/akash-net/kubectl-akash-net/hack/testbed"
	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
)

var (
	// plane is the control plane of all tests.
	plane *testbed.ControlPlane
	// binary is the program.
	binary string
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
	os.Exit(testbed.Main(m, setup))
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

// setup builds the program, starts Traefik beside the control plane, and installs.
func setup(ctx context.Context, p *testbed.ControlPlane) error {
	plane, binary = p, filepath.Join(p.Dir, "kubectl-akash_net")
	var err error
	if pods, err = newNetwork(ctx); err != nil {
		return err
	}
	if ca, err = newAuthority(); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "../../cmd/kubectl-akash_net").CombinedOutput()
		if err != nil {
			return fmt.Errorf("go build: %w\n%s", err, out)
		}
		return nil
	})
	group.Go(func() error { return startEdge(context.WithoutCancel(ctx), p) })
	if err := group.Wait(); err != nil {
		return err
	}
	for _, r := range routers {
		text := "{apiVersion: net.akash.network/v1alpha1, kind: ProviderConfig, metadata: {name: provider}, spec: " + r.spec + "}\n"
		if err := os.WriteFile(r.config(), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return akashNet(context.Background(), "install")
}

// startEdge starts Traefik and makes the classes and the Gateway that it serves.
func startEdge(ctx context.Context, p *testbed.ControlPlane) error {
	if err := p.StartControllerManager(ctx); err != nil {
		return err
	}
	traefik, err := p.StartTraefik(ctx)
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
	return command(exec.CommandContext(ctx, binary, args...), "")
}

// kubectl is the administrator's, with a text on its standard input.
func kubectl(ctx context.Context, stdin string, args ...string) error {
	path, err := programs.Path("kubectl")
	if err != nil {
		return err
	}
	return command(exec.CommandContext(ctx, path, args...), stdin)
}

// command runs a program on the cluster. The error holds all that it printed.
func command(cmd *exec.Cmd, stdin string) error {
	cmd.Env = append(os.Environ(), "KUBECONFIG="+plane.Kubeconfig)
	cmd.Stdin = strings.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return nil
}
