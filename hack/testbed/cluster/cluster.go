//go:build unix

// Package cluster runs a control plane that outlives the command which started it: for the demo,
// for benchmarks, and for trying things by hand.
package cluster

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/akash-net/kubectl-akash-net/hack/testbed"
	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
)

// Cluster is a control plane whose data, logs and process ids live in one folder. Ports are
// chosen anew at each start, so that several clusters run side by side.
type Cluster struct {
	Dir string
}

// Kubeconfig is the path of the administrator's kubeconfig.
func (c Cluster) Kubeconfig() string { return filepath.Join(c.Dir, "kubeconfig") }

// path names something in the cluster's folder.
func (c Cluster) path(name string) string { return filepath.Join(c.Dir, name) }

// Up starts etcd, kube-apiserver, kube-controller-manager and MetalLB's controller, with the CRDs
// of MetalLB and Gateway API, and returns when all of them answer. A cluster that runs is left as
// it is; what is left of one that ran is removed first.
func (c Cluster) Up(ctx context.Context, w io.Writer) error {
	if c.runs(ctx) {
		fmt.Fprintf(w, "the cluster in %s runs already\n", c.Dir)
		return nil
	}
	if err := c.Down(w); err != nil {
		return err
	}
	for _, dir := range []string{"logs", "certificates", "processes"} {
		if err := os.MkdirAll(c.path(dir), 0o700); err != nil {
			return err
		}
	}
	start := time.Now()
	if err := c.start(ctx); err != nil {
		return fmt.Errorf("%w (see %s)", err, c.path("logs"))
	}
	fmt.Fprintf(w, "the cluster in %s is ready, %s\n", c.Dir, time.Since(start).Round(100*time.Millisecond))
	return nil
}

func (c Cluster) start(ctx context.Context) error {
	ports, err := programs.FreePorts(4)
	if err != nil {
		return err
	}
	etcd, peer, api, manager := ports[0], ports[1], ports[2], ports[3]
	running, err := c.run(ctx, "etcd", etcdFlags(c.path("etcd"), etcd, peer)...)
	if err != nil {
		return err
	}
	if err := testbed.WaitHealthy(running, fmt.Sprintf("http://127.0.0.1:%d/health", etcd)); err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	token, err := c.writeSecrets()
	if err != nil {
		return err
	}
	if running, err = c.run(ctx, "kube-apiserver", c.apiserverFlags(etcd, api)...); err != nil {
		return err
	}
	url := fmt.Sprintf("https://127.0.0.1:%d", api)
	if err := testbed.WaitHealthy(running, url+"/readyz"); err != nil {
		return fmt.Errorf("kube-apiserver: %w", err)
	}
	if err := c.writeKubeconfig(url, token); err != nil {
		return err
	}
	return c.startControllers(ctx, manager)
}

func (c Cluster) startControllers(ctx context.Context, port int) error {
	config, err := c.config()
	if err != nil {
		return err
	}
	flags := programs.ControllerManagerFlags(c.Kubeconfig(), c.path("certificates"), port, testbed.Controllers)
	manager, err := c.run(ctx, "kube-controller-manager", flags...)
	if err != nil {
		return err
	}
	if err := testbed.PrepareMetalLB(ctx, config); err != nil {
		return err
	}
	gateway, err := programs.GatewayAPICRDs(ctx)
	if err != nil {
		return err
	}
	if err := testbed.InstallCRDs(config, gateway); err != nil {
		return err
	}
	metallb, err := c.run(ctx, "metallb-controller", programs.MetalLBFlags(c.Kubeconfig())...)
	if err != nil {
		return err
	}
	if err := testbed.WaitHealthy(manager, fmt.Sprintf("https://127.0.0.1:%d/healthz", port)); err != nil {
		return fmt.Errorf("kube-controller-manager: %w", err)
	}
	return testbed.WaitMetalLB(metallb, config)
}

// runs tells whether all processes of the cluster live and the API server is ready.
func (c Cluster) runs(ctx context.Context) bool {
	for _, name := range order {
		if p, ok := c.recorded(name); !ok || !p.alive() {
			return false
		}
	}
	config, err := c.config()
	return err == nil && testbed.WaitHealthy(ctx, config.Host+"/readyz") == nil
}

func (c Cluster) config() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	return config, nil
}

func etcdFlags(dir string, port, peer int) []string {
	return []string{
		"--data-dir=" + dir,
		fmt.Sprintf("--listen-client-urls=http://127.0.0.1:%d", port),
		fmt.Sprintf("--advertise-client-urls=http://127.0.0.1:%d", port),
		fmt.Sprintf("--listen-peer-urls=http://127.0.0.1:%d", peer),
		"--unsafe-no-fsync", // the data need not survive the machine
	}
}

func (c Cluster) apiserverFlags(etcd, port int) []string {
	key := c.path("certificates/service-account.key")
	return []string{
		fmt.Sprintf("--etcd-servers=http://127.0.0.1:%d", etcd),
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port),
		"--cert-dir=" + c.path("certificates"),
		"--token-auth-file=" + c.path("certificates/tokens.csv"),
		"--authorization-mode=RBAC",
		"--service-cluster-ip-range=" + programs.ServiceRange,
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + key,
		"--service-account-signing-key-file=" + key,
		"--disable-admission-plugins=ServiceAccount", // no controller makes the accounts
	}
}

// writeSecrets writes what the API server reads at its start: the key of service accounts, and
// the administrator's token, which it returns.
func (c Cluster) writeSecrets() (string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return "", err
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	if err := os.WriteFile(c.path("certificates/service-account.key"), block, 0o600); err != nil {
		return "", err
	}
	token := rand.Text()
	line := token + ",admin,admin,system:masters\n"
	return token, os.WriteFile(c.path("certificates/tokens.csv"), []byte(line), 0o600)
}

func (c Cluster) writeKubeconfig(url, token string) error {
	ca, err := os.ReadFile(c.path("certificates/apiserver.crt"))
	if err != nil {
		return err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["testbed"] = &clientcmdapi.Cluster{Server: url, CertificateAuthorityData: ca}
	config.AuthInfos["admin"] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts["testbed"] = &clientcmdapi.Context{Cluster: "testbed", AuthInfo: "admin"}
	config.CurrentContext = "testbed"
	return clientcmd.WriteToFile(*config, c.Kubeconfig())
}
