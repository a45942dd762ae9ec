// Package harness is what the tests of the whole program share: one start of a cluster, one runner of the
// program, and what tests ask of the cluster. Each test package has a cluster of its own.
package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/dynamic"

	"github.com/akash-net/kubectl-akash-net/hack/testbed"
	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
)

// Program is the plugin's file name; kubectl looks for it when the user types akash-net.
const Program = "kubectl-akash_net"

var (
	// Plane is the control plane of the package's tests.
	Plane *testbed.ControlPlane
	// Objects is the administrator's client.
	Objects dynamic.Interface
)

// Setup is what the tests of a package need beside an API server.
type Setup struct {
	// Controllers starts kube-controller-manager, MetalLB MetalLB's controller. Pools installs MetalLB's kinds alone.
	Controllers, MetalLB, Pools bool
	// Workloads starts kube-controller-manager with the controllers that make pods as well.
	Workloads bool
	// Gateways, Routes and Records install the kinds of the Gateway API, of OpenShift's routes, and of DNS records.
	Gateways, Routes, Records bool
	// CRDs are folders with further kinds.
	CRDs []string
	// Binary builds the program.
	Binary bool
	// Install runs install in the end, with Config, the text of a configuration, where there is one.
	Install bool
	Config  string
	// Then is called when all this is there; it may be nil.
	Then func(context.Context) error
}

// Main starts the cluster, runs the package's tests and ends the cluster. It returns the exit code.
func Main(m *testing.M, s Setup) int {
	return testbed.Main(m, func(ctx context.Context, p *testbed.ControlPlane) (err error) {
		Plane = p
		if Objects, err = dynamic.NewForConfig(p.Config); err != nil {
			return err
		}
		if err := s.start(ctx); err != nil {
			return err
		}
		if s.Install {
			if err := s.install(ctx); err != nil {
				return err
			}
		}
		if s.Then != nil {
			return s.Then(ctx)
		}
		return nil
	})
}

func (s Setup) start(ctx context.Context) error {
	crds, err := s.crds(ctx)
	if err != nil {
		return err
	}
	group, started := errgroup.WithContext(ctx)
	if s.Binary {
		group.Go(func() error { return build(started) })
	}
	switch {
	case s.Workloads:
		group.Go(func() error {
			return Plane.StartControllerManager(ctx, "deployment-controller", "replicaset-controller", "statefulset-controller")
		})
	case s.Controllers:
		group.Go(func() error { return Plane.StartControllerManager(ctx) })
	}
	group.Go(func() error {
		switch {
		case s.MetalLB:
			err = Plane.StartMetalLB(ctx)
		case s.Pools:
			err = testbed.PrepareMetalLB(ctx, Plane.Config)
		}
		if err != nil || len(crds) == 0 {
			return err
		}
		return Plane.InstallCRDs(crds...)
	})
	return group.Wait()
}

func (s Setup) crds(ctx context.Context) (crds []string, err error) {
	for _, kinds := range []struct {
		wanted  bool
		folders func(context.Context) ([]string, error)
	}{{s.Gateways, one(programs.GatewayAPICRDs)}, {s.Routes, one(programs.OpenShiftRouteCRDs)}, {s.Records, programs.DNSCRDs}} {
		if !kinds.wanted {
			continue
		}
		folders, err := kinds.folders(ctx)
		if err != nil {
			return nil, err
		}
		crds = append(crds, folders...)
	}
	return append(crds, s.CRDs...), nil
}

func one(folder func(context.Context) (string, error)) func(context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		path, err := folder(ctx)
		return []string{path}, err
	}
}

func (s Setup) install(ctx context.Context) error {
	args := []string{"install"}
	if s.Config != "" {
		path := filepath.Join(Plane.Dir, "installed.yaml")
		if err := os.WriteFile(path, []byte(s.Config), 0o600); err != nil {
			return err
		}
		args = append(args, "--config", path)
	}
	if r := Run(ctx, args...); r.Code != 0 {
		return errors.New(r.String())
	}
	return nil
}

// Binaries is the folder with the program, and the link by which kubectl asks it for completions.
func Binaries() string { return filepath.Join(Plane.Dir, "bin") }

// build compiles the program as it is now.
func build(ctx context.Context) error {
	if err := os.Mkdir(Binaries(), 0o750); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(Binaries(), Program), "../../cmd/kubectl-akash_net").CombinedOutput() //nolint:gosec // the arguments are constants
	if err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return os.Symlink(Program, filepath.Join(Binaries(), "kubectl_complete-akash_net"))
}

// Bare is an API server of the test's own, in which nothing is installed.
func Bare(t *testing.T) *testbed.ControlPlane {
	t.Helper()
	bare, err := testbed.Start(context.WithoutCancel(t.Context()))
	t.Cleanup(func() {
		if err := bare.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return bare
}
