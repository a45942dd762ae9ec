package programs

import (
	"net"
	"strconv"
)

// ServiceRange holds the addresses of Services, IPv4 first: a dual-stack cluster, so that leases
// of both families can be tried.
const ServiceRange = "10.96.0.0/16,fd00:10:96::/112"

// MetalLBNamespace is where MetalLB's controller looks for its pools.
const MetalLBNamespace = "metallb-system"

// ControllerManagerFlags start kube-controller-manager with the controllers named, and nothing
// else: without namespace-controller a deleted namespace never goes. It answers on /healthz at
// the port.
func ControllerManagerFlags(kubeconfig, certDir string, port int, controllers string) []string {
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--controllers=" + controllers,
		"--leader-elect=false",
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port),
		"--cert-dir=" + certDir,
	}
}

// MetalLBFlags start MetalLB's controller alone: no webhook, no certificates. It would serve its
// metrics on all of the machine's addresses, so it gets a port that cannot be opened, which it
// notes in its log.
func MetalLBFlags(kubeconfig string) []string {
	return []string{
		"-kubeconfig=" + kubeconfig,
		"-namespace=" + MetalLBNamespace,
		"-webhook-mode=disabled",
		"-disable-cert-rotation",
		"-port=-1",
	}
}

// TraefikFlags start Traefik for Ingresses (its own, and those written for ingress-nginx) and for the
// Gateway API, on ports of the loopback address: http and https take requests, ping answers on
// /ping. It asks nobody outside the machine for
// anything. Prefixes match whole elements of a path, as Kubernetes says of Ingresses; what is not
// said here is as Traefik has it.
func TraefikFlags(http, https, ping int) []string {
	address := func(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
	return []string{
		"--global.checknewversion=false",
		"--global.sendanonymoususage=false",
		"--entrypoints.web.address=" + address(http),
		"--entrypoints.web.asdefault=true",
		"--entrypoints.websecure.address=" + address(https),
		"--entrypoints.websecure.asdefault=true",
		"--entrypoints.websecure.http.tls=true",
		"--entrypoints.ping.address=" + address(ping),
		"--ping.entrypoint=ping",
		"--providers.kubernetesingress=true",
		"--providers.kubernetesingress.strictprefixmatching=true",
		"--providers.kubernetesingressnginx=true",
		"--providers.kubernetesgateway=true",
	}
}

// FreePort is a TCP port of the loopback address that nobody listens on.
func FreePort() (int, error) {
	ports, err := FreePorts(1)
	if err != nil {
		return 0, err
	}
	return ports[0], nil
}

// FreePorts are different ones.
func FreePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer listener.Close() //nolint:errcheck // only listened
		ports[i] = listener.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}
