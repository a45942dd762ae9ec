package testbed

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
)

// Traefik is a running Traefik, which serves the cluster's Ingresses and HTTPRoutes.
type Traefik struct {
	// HTTP and HTTPS are ports of the loopback address. A Gateway's listener has to name one.
	HTTP, HTTPS int
}

// StartTraefik installs the Gateway API's CRDs, starts Traefik and waits until it runs. It serves
// the classes whose controllers are traefik.io/ingress-controller, k8s.io/ingress-nginx and
// traefik.io/gateway-controller; the caller makes them.
func (p *ControlPlane) StartTraefik(ctx context.Context) (*Traefik, error) {
	path, err := programs.Path("traefik")
	if err != nil {
		return nil, err
	}
	crds, err := programs.GatewayAPICRDs(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.InstallCRDs(crds); err != nil {
		return nil, err
	}
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	http, https, ping := ports[0], ports[1], ports[2]
	// It asks nobody outside the machine for anything. Prefixes match whole elements of a path, as Kubernetes says of
	// Ingresses; what is not said here is as Traefik has it.
	cmd := exec.Command(path, //nolint:gosec // a program that Build made
		"--global.checknewversion=false",
		"--global.sendanonymoususage=false",
		fmt.Sprint("--entrypoints.web.address=127.0.0.1:", http),
		"--entrypoints.web.asdefault=true",
		fmt.Sprint("--entrypoints.websecure.address=127.0.0.1:", https),
		"--entrypoints.websecure.asdefault=true",
		"--entrypoints.websecure.http.tls=true",
		fmt.Sprint("--entrypoints.ping.address=127.0.0.1:", ping),
		"--ping.entrypoint=ping",
		"--providers.kubernetesingress=true",
		"--providers.kubernetesingress.strictprefixmatching=true",
		"--providers.kubernetesingressnginx=true",
		"--providers.kubernetesgateway=true")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+p.Kubeconfig)
	cmd.Dir = p.Dir // it reads a traefik.yml of its working directory
	traefik, err := p.children.run(ctx, cmd)
	if err != nil {
		return nil, err
	}
	if err := WaitHealthy(traefik.running, fmt.Sprintf("http://127.0.0.1:%d/ping", ping)); err != nil {
		return nil, fmt.Errorf("traefik: %w\n%s", err, tail(traefik.log))
	}
	return &Traefik{HTTP: http, HTTPS: https}, nil
}
