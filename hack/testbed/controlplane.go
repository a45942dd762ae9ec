// Package testbed gives Go tests a real control plane: etcd and kube-apiserver by way of envtest,
// and when asked kube-controller-manager and MetalLB's controller. `make testbed` builds them.
//
// One control plane serves a test package:
//
//	var plane *testbed.ControlPlane
//
//	func TestMain(m *testing.M) {
//		os.Exit(testbed.Main(m, func(ctx context.Context, p *testbed.ControlPlane) error {
//			plane = p
//			return p.StartMetalLB(ctx)
//		}))
//	}
package testbed

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
)

// ControlPlane is a running API server with what was started beside it.
type ControlPlane struct {
	// Config is the administrator's, without the client's rate limit.
	Config *rest.Config
	// Kubeconfig is the path of a file with the same rights.
	Kubeconfig string
	// Dir is a folder of this control plane's that Stop removes: data, certificates, logs.
	Dir string

	env      *envtest.Environment
	children *children
}

// Main starts a control plane, hands it to setup (which may be nil), runs the package's tests and
// ends the control plane, also when the tests are interrupted. It returns the exit code. On a machine where no control plane was built it
// says how to build one, and runs nothing.
func Main(m *testing.M, setup func(context.Context, *ControlPlane) error) int {
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
	plane, err := Start(ctx)
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
	dir, err := os.MkdirTemp("", "akash-net-testbed-")
	if err != nil {
		return nil, err
	}
	plane := &ControlPlane{Dir: dir, Kubeconfig: filepath.Join(dir, "kubeconfig")}
	if plane.children, err = watchChildren(dir); err != nil {
		return plane, err
	}
	if err := plane.start(ctx); err != nil {
		return plane, fmt.Errorf("starting the control plane: %w", err)
	}
	return plane, nil
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
	server.Configure().
		Set("service-cluster-ip-range", "10.96.0.0/16,fd00:10:96::/112"). // both families, so that leases of both can be tried
		Set("authorization-mode", "RBAC")
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
	p.Config = rest.CopyConfig(env.Config)
	p.Config.QPS = -1
	return os.WriteFile(p.Kubeconfig, env.KubeConfig, 0o600)
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

// KillAPIServer ends the API server at once (SIGKILL); etcd, and so all that was written, stays.
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

// AddUser makes a user of that name and those groups, without any right that RBAC does not give.
// It returns the user's configuration and the path of a kubeconfig file.
func (p *ControlPlane) AddUser(name string, groups ...string) (*rest.Config, string, error) {
	user, err := p.env.AddUser(envtest.User{Name: name, Groups: groups}, &rest.Config{QPS: -1})
	if err != nil {
		return nil, "", err
	}
	kubeconfig, err := user.KubeConfig()
	if err != nil {
		return nil, "", err
	}
	path := filepath.Join(p.Dir, "kubeconfig-"+name)
	return user.Config(), path, os.WriteFile(path, kubeconfig, 0o600)
}

// Stop ends all that was started and removes its data. A control plane that did not start fully
// may be stopped too.
func (p *ControlPlane) Stop() error {
	if p == nil {
		return nil
	}
	errs := []error{p.children.stop()}
	if p.env != nil {
		errs = append(errs, p.env.Stop())
	}
	p.children.release()
	return errors.Join(append(errs, os.RemoveAll(p.Dir))...)
}
