// Package testbed gives Go tests a real control plane: etcd and kube-apiserver by way of envtest,
// and when asked kube-controller-manager and MetalLB's controller. `make testbed` builds them.
//
// One control plane serves a test package, or several that share it one after another:
//
//	var plane *testbed.ControlPlane
//
//	func TestMain(m *testing.M) {
//		os.Exit(testbed.Main(m, testbed.Join, func(ctx context.Context, p *testbed.ControlPlane) error {
//			plane = p
//			return p.StartMetalLB(ctx)
//		}))
//	}
package testbed

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
)

// ControlPlane is a running API server with what was started beside it.
type ControlPlane struct {
	// Config is the administrator's, without the client's rate limit.
	Config *rest.Config
	// Kubeconfig is the path of a file with the same rights.
	Kubeconfig string
	// Etcd is where etcd answers, without TLS.
	Etcd string
	// Dir is a folder of this control plane's that Stop removes: data, certificates, logs.
	Dir string

	server   *rest.Config         // without a user
	env      *envtest.Environment // nil where another process has started it
	leave    func()               // ends the use of what is shared; may be nil
	children *children
	added    atomic.Int32 // users
}

// Tests are the tests of a package, as *testing.M has them: Run returns the exit code.
type Tests interface{ Run() int }

// Main begins a control plane (Start, Join), hands it to setup (which may be nil), runs the package's tests and
// ends the control plane, also when the tests are interrupted. It returns the exit code. On a machine where no control plane was built it
// says how to build one, and runs nothing.
func Main(m Tests, begin func(context.Context) (*ControlPlane, error), setup func(context.Context, *ControlPlane) error) int {
	flag.Parse()
	if list := flag.Lookup("test.list"); list != nil && list.Value.String() != "" {
		return m.Run() // names tests, runs none
	}
	if _, err := programs.Path("kube-apiserver"); err != nil && os.Getenv("CI") == "" {
		fmt.Println("skipped, for want of a control plane: make testbed builds it once (" + err.Error() + ")")
		return 0
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	plane, err := begin(ctx)
	if err == nil && setup != nil {
		err = setup(ctx, plane)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testbed:", errors.Join(err, plane.Stop()))
		return 1
	}
	done := make(chan int, 1)
	go func() { done <- m.Run() }()
	code := 1
	select {
	case code = <-done:
	case <-ctx.Done():
		fmt.Fprintln(os.Stderr, "testbed: interrupted")
	}
	if err := plane.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "testbed:", err)
		return 1
	}
	return code
}

// Start starts etcd and kube-apiserver: RBAC, Services of both address families, loopback only,
// ready when it returns. Stop ends it; should this process die first, its children die too.
func Start(ctx context.Context) (*ControlPlane, error) {
	plane, err := newPlane()
	if err != nil {
		return plane, err
	}
	if err := plane.start(ctx); err != nil {
		return plane, fmt.Errorf("starting the control plane: %w", err)
	}
	return plane, nil
}

// newPlane returns a control plane with its folder, of which nothing runs yet.
func newPlane() (*ControlPlane, error) {
	dir, err := os.MkdirTemp("", "akash-net-testbed-")
	if err != nil {
		return nil, err
	}
	plane := &ControlPlane{Dir: dir, Kubeconfig: filepath.Join(dir, "kubeconfig")}
	plane.children, err = watchChildren(dir)
	return plane, err
}

// serves notes where the API server and etcd answer.
func (p *ControlPlane) serves(server *rest.Config, etcd string) (err error) {
	p.server, p.Etcd = server, etcd
	p.Config, err = p.as("admin", p.Kubeconfig)
	return err
}

func (p *ControlPlane) start(ctx context.Context) error {
	// Under load (go test runs packages side by side) a start takes longer than the 20 seconds
	// that envtest grants.
	env := &envtest.Environment{ControlPlaneStartTimeout: 2 * time.Minute}
	server := env.ControlPlane.GetAPIServer()
	env.ControlPlane.Etcd = &envtest.Etcd{DataDir: filepath.Join(p.Dir, "etcd")}
	server.CertDir = filepath.Join(p.Dir, "certificates")
	if err := os.MkdirAll(server.CertDir, 0o700); err != nil {
		return err
	}
	var err error
	if server.Path, err = programs.Path("kube-apiserver"); err != nil {
		return err
	}
	if env.ControlPlane.Etcd.Path, err = programs.Path("etcd"); err != nil {
		return err
	}
	tokens := filepath.Join(p.Dir, "tokens.csv")
	if err := os.WriteFile(tokens, knownUsers(), 0o600); err != nil {
		return err
	}
	server.Configure().
		Set("service-cluster-ip-range", "10.96.0.0/16,fd00:10:96::/112"). // both families, so that leases of both can be tried
		Set("authorization-mode", "RBAC").
		Set("token-auth-file", tokens)
	p.env = env
	if err := p.logged(func() error {
		_, err := env.Start()
		return err
	}); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return p.serves(env.Config, env.ControlPlane.Etcd.URL.String())
}

// users is how many users an API server knows beside its administrator. They have tokens: to verify a client's certificate, which it does for
// each request, takes a tenth of its time.
const users = 200

func userName(n int) string      { return fmt.Sprint("user-", n) }
func tokenOf(name string) string { return "token-of-" + name }

// knownUsers returns the API server's file of tokens.
func knownUsers() []byte {
	var out bytes.Buffer
	fmt.Fprintln(&out, tokenOf("admin")+",admin,admin,system:masters")
	for n := range users {
		name := userName(n)
		fmt.Fprintln(&out, strings.Join([]string{tokenOf(name), name, name}, ","))
	}
	return out.Bytes()
}

// as returns the configuration of a user, and writes it to a file.
func (p *ControlPlane) as(name, kubeconfig string) (*rest.Config, error) {
	config := &rest.Config{
		Host: p.server.Host, QPS: -1, BearerToken: tokenOf(name),
		TLSClientConfig: rest.TLSClientConfig{CAData: p.server.CAData},
	}
	file := clientcmdapi.NewConfig()
	file.Clusters["testbed"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	file.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	file.Contexts["testbed"] = &clientcmdapi.Context{Cluster: "testbed", AuthInfo: name}
	file.CurrentContext = "testbed"
	return config, clientcmd.WriteToFile(*file, kubeconfig)
}

// logged starts the API server with a log, and puts it under the watchdog.
func (p *ControlPlane) logged(start func() error) error {
	log, err := os.OpenFile(filepath.Join(p.Dir, "kube-apiserver.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // the child has its own handle
	server := p.env.ControlPlane.GetAPIServer()
	server.Out, server.Err = log, log
	err = start()
	p.children.adopt()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, tail(log.Name()))
	}
	return nil
}

// KillAPIServer ends the API server at once (SIGKILL); etcd, and so all that was written, stays. The control plane is one that Start has started.
func (p *ControlPlane) KillAPIServer() error {
	for _, pid := range ours("kube-apiserver") {
		process, err := os.FindProcess(pid)
		if err == nil {
			err = process.Kill()
		}
		if err != nil {
			return err
		}
	}
	_ = p.env.ControlPlane.GetAPIServer().Stop() // waits until it has ended, and may find that it has
	return nil
}

// StartAPIServer starts an API server that was killed, on the same port, for the same users; it is
// ready when this returns.
func (p *ControlPlane) StartAPIServer() error {
	return p.logged(p.env.ControlPlane.GetAPIServer().Start)
}

// InstallCRDs creates the CustomResourceDefinitions in the files and folders named (other kinds
// in them are passed over) and waits until they are served.
func (p *ControlPlane) InstallCRDs(paths ...string) error {
	return InstallCRDs(p.Config, paths...)
}

// InstallCRDs does the same for any cluster.
func InstallCRDs(config *rest.Config, paths ...string) error {
	_, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{Paths: paths, ErrorIfPathMissing: true})
	return err
}

// AddUser returns the name of another user, without any right that RBAC does not give, with the user's configuration and the path of a
// kubeconfig file.
func (p *ControlPlane) AddUser() (name string, config *rest.Config, kubeconfig string, err error) {
	n := int(p.added.Add(1)) - 1
	if n >= users {
		return "", nil, "", fmt.Errorf("the API server knows %d users", users)
	}
	name = userName(n)
	kubeconfig = filepath.Join(p.Dir, "kubeconfig-"+name)
	config, err = p.as(name, kubeconfig)
	return name, config, kubeconfig, err
}

// Stop ends all that was started and removes its data; what is shared goes on. A control plane that did not start fully
// may be stopped too.
func (p *ControlPlane) Stop() error {
	if p == nil {
		return nil
	}
	errs := []error{p.children.stop()}
	if p.env != nil {
		errs = append(errs, p.env.Stop())
	}
	if p.leave != nil {
		p.leave()
	}
	p.children.release()
	return errors.Join(append(errs, os.RemoveAll(p.Dir))...)
}

// StartControllerManager starts kube-controller-manager with the controllers that the ledger's behaviour depends on and
// those named, and waits until it says that they run.
func (p *ControlPlane) StartControllerManager(ctx context.Context, more ...string) error {
	path, err := programs.Path("kube-controller-manager")
	if err != nil {
		return err
	}
	ports, err := freePorts(1)
	if err != nil {
		return err
	}
	port := ports[0]
	controllers := strings.Join(append([]string{"namespace-controller", "garbage-collector-controller"}, more...), ",")
	manager, err := p.children.start(ctx, path, "--kubeconfig="+p.Kubeconfig, "--controllers="+controllers, "--leader-elect=false",
		"--bind-address=127.0.0.1", fmt.Sprint("--secure-port=", port), "--cert-dir="+p.Dir)
	if err != nil {
		return err
	}
	if err := WaitHealthy(manager.running, fmt.Sprintf("https://127.0.0.1:%d/healthz", port)); err != nil {
		return fmt.Errorf("kube-controller-manager: %w\n%s", err, tail(manager.log))
	}
	return nil
}

// StartMetalLB installs MetalLB's CRDs and namespace, starts its controller and waits until it
// works. The namespace for pools is programs.MetalLBNamespace.
func (p *ControlPlane) StartMetalLB(ctx context.Context) error {
	path, err := programs.Path("metallb-controller")
	if err != nil {
		return err
	}
	if err := PrepareMetalLB(ctx, p.Config); err != nil {
		return err
	}
	// No webhook, no certificates. It would serve its metrics on all of the machine's addresses, so it gets a port that
	// cannot be opened, which it notes in its log.
	controller, err := p.children.start(ctx, path, "-kubeconfig="+p.Kubeconfig, "-namespace="+programs.MetalLBNamespace,
		"-webhook-mode=disabled", "-disable-cert-rotation", "-port=-1")
	if err != nil {
		return err
	}
	if err := WaitMetalLB(controller.running, p.Config); err != nil {
		return fmt.Errorf("%w\n%s", err, tail(controller.log))
	}
	return nil
}

// patience bounds the wait for one program; a loaded machine needs a good part of it.
const patience = 2 * time.Minute

// WaitHealthy waits until a URL of the loopback address answers 200. Certificates are not
// checked: the programs make their own at each start.
func WaitHealthy(ctx context.Context, url string) error {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // loopback
	}}
	defer client.CloseIdleConnections()
	last := fmt.Errorf("no answer yet")
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return false, err
		}
		response, err := client.Do(request)
		if err != nil {
			last = err
			return false, nil //nolint:nilerr // no answer yet: ask again
		}
		_ = response.Body.Close()
		last = fmt.Errorf("%s answers %s", url, response.Status)
		return response.StatusCode == http.StatusOK, nil
	})
	if err != nil {
		return fmt.Errorf("not ready: %w (%w)", last, cmp.Or(context.Cause(ctx), err))
	}
	return nil
}

var (
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	pools      = schema.GroupVersionResource{Group: "metallb.io", Version: "v1beta1", Resource: "ipaddresspools"}
)

// PrepareMetalLB makes what MetalLB's controller needs before it starts.
func PrepareMetalLB(ctx context.Context, config *rest.Config) error {
	crds, err := programs.MetalLBCRDs(ctx)
	if err != nil {
		return err
	}
	if err := InstallCRDs(config, crds); err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	namespace := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": programs.MetalLBNamespace},
	}}
	_, err = client.Resource(namespaces).Create(ctx, namespace, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// WaitMetalLB waits until MetalLB's controller counts the addresses of a pool, made for the
// question and deleted after it. The pool is of a documentation range and gives nothing away.
func WaitMetalLB(ctx context.Context, config *rest.Config) error {
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	client := dyn.Resource(pools).Namespace(programs.MetalLBNamespace)
	pool := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "metallb.io/v1beta1", "kind": "IPAddressPool",
		"metadata": map[string]any{"name": "testbed-ready"},
		"spec":     map[string]any{"addresses": []any{"192.0.2.255/32"}, "autoAssign": false},
	}}
	if _, err := client.Create(ctx, pool, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		seen, err := client.Get(ctx, pool.GetName(), metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		free, _, err := unstructured.NestedInt64(seen.Object, "status", "availableIPv4")
		return free == 1, err
	})
	if err != nil {
		return fmt.Errorf("MetalLB's controller does not count the addresses of a pool: %w", cmp.Or(context.Cause(ctx), err))
	}
	return client.Delete(ctx, pool.GetName(), metav1.DeleteOptions{})
}
