// Package harness has the helpers of the tests of the whole program: it gives each test package a control plane,
// runs the program, and reads and writes objects.
package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/hack/testbed"
	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// Program is the plugin's file name: kubectl runs it for "kubectl akash-net".
const Program = "kubectl-akash_net"

var (
	// Plane is the control plane of the package's tests.
	Plane *testbed.ControlPlane
	// Objects is the administrator's client.
	Objects dynamic.Interface
	// metadatas is the administrator's client for what all kinds have.
	metadatas metadata.Interface
)

// Setup lists what the tests of a package need in addition to an API server.
type Setup struct {
	// Controllers starts kube-controller-manager, and MetalLB starts MetalLB's controller. Pools only installs MetalLB's
	// CRDs.
	Controllers, MetalLB, Pools bool
	// Workloads starts kube-controller-manager with the controllers that create pods too.
	Workloads bool
	// Gateways, Routes and Records install the CRDs of the Gateway API, of OpenShift's Routes, and of DNS records.
	Gateways, Routes, Records bool
	// CRDs are folders with further CRDs.
	CRDs []string
	// Own starts a control plane for the package alone, which its tests may kill.
	Own bool
	// Emptied fails the package if a test leaves anything in the ledger.
	Emptied bool
	// Binary builds the program, and Reconciler also the one beside it that watches.
	Binary, Reconciler bool
	// Install runs the install command after all that, with the configuration in Config unless that is empty.
	Install bool
	Config  string
	// Then is called last; it may be nil.
	Then func(context.Context) error
}

// Main starts the control plane, or joins that of the run, runs the package's tests and stops what it has started. It returns the exit code.
func Main(m *testing.M, s Setup) int {
	begin := testbed.Join
	if s.Own {
		begin = testbed.Start
	}
	return testbed.Main(checked{m, s.Emptied}, begin, func(ctx context.Context, p *testbed.ControlPlane) (err error) {
		Plane = p
		if Objects, err = dynamic.NewForConfig(p.Config); err != nil {
			return err
		}
		if metadatas, err = metadata.NewForConfig(p.Config); err != nil {
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

// checked are the tests of a package, after which the ledger may have to be empty.
type checked struct {
	tests   *testing.M
	emptied bool
}

// Run runs the tests, and looks into the ledger.
func (c checked) Run() int {
	code := c.tests.Run()
	if code != 0 || !c.emptied {
		return code
	}
	ctx, cancel := context.WithTimeout(context.Background(), Deadline)
	defer cancel()
	left, err := metadatas.Resource(cluster.Leases).Namespace(config.Default().LedgerNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		fmt.Fprintln(os.Stderr, "looking into the ledger:", err)
		return 1
	}
	for i := range left.Items {
		fmt.Fprintf(os.Stderr, "a test leaves lease/%s in the ledger: %v %v\n", left.Items[i].Name, left.Items[i].Labels, left.Items[i].Annotations)
		code = 1
	}
	return code
}

// start builds the program, starts the controllers and installs the CRDs in parallel.
func (s Setup) start(ctx context.Context) error {
	crds, err := s.crds(ctx)
	if err != nil {
		return err
	}
	group, started := errgroup.WithContext(ctx)
	if s.Binary {
		group.Go(func() error { return build(started, s.Reconciler) })
	}
	switch {
	case s.Workloads:
		group.Go(func() error {
			return Plane.StartControllerManager(ctx, "deployment-controller", "replicaset-controller", "statefulset-controller")
		})
	case s.Controllers:
		group.Go(func() error { return Plane.StartControllerManager(ctx) })
	}
	group.Go(func() (err error) {
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

// crds returns the folders with the CRDs of the setup.
func (s Setup) crds(ctx context.Context) (folders []string, err error) {
	if s.Records {
		if folders, err = programs.DNSCRDs(ctx); err != nil {
			return nil, err
		}
	}
	add := func(find func(context.Context) (string, error)) error {
		folder, err := find(ctx)
		folders = append(folders, folder)
		return err
	}
	if s.Gateways {
		err = add(programs.GatewayAPICRDs)
	}
	if s.Routes && err == nil {
		err = add(programs.OpenShiftRouteCRDs)
	}
	if err != nil {
		return nil, err
	}
	return append(folders, s.CRDs...), nil
}

// install runs the install command.
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

// Long reports whether all is to be tried that takes long: `make test-long` sets LONG.
func Long() bool { return os.Getenv("LONG") != "" }

// NeedsLong skips a test of what only `make test-long` tries.
func NeedsLong(t *testing.T) {
	t.Helper()
	if !Long() {
		t.Skip("it takes long: LONG=1 runs it, as make test-long does")
	}
}

// Today is a number that is another one each day: by it the short run draws what it tries of many.
func Today() int { return int(time.Now().Unix() / (24 * 60 * 60)) }

// Drawn returns the row of a table that the short run tries today; all of them where all is to be tried.
func Drawn[V any](all map[string]V) map[string]V {
	if Long() {
		return all
	}
	names := slices.Sorted(maps.Keys(all))
	name := names[Today()%len(names)]
	return map[string]V{name: all[name]}
}

// Binaries returns the folder with the programs and with the link that kubectl runs for completions: the one that AKASH_NET_BIN names, where
// `make test` has built them once for all packages, or one of this control plane.
func Binaries() string { return cmp.Or(os.Getenv("AKASH_NET_BIN"), filepath.Join(Plane.Dir, "bin")) }

// build compiles the program into Binaries, unless it is there.
func build(ctx context.Context, reconciler bool) error {
	if os.Getenv("AKASH_NET_BIN") != "" {
		return nil
	}
	if err := os.Mkdir(Binaries(), 0o750); err != nil {
		return err
	}
	args := []string{"build", "-o", Binaries() + "/", "./cmd/" + Program}
	if reconciler {
		args = append(args, "./cmd/akash-net-reconciler")
	}
	build := exec.CommandContext(ctx, "go", args...) //nolint:gosec // the arguments are constants
	root, err := programs.Root()
	if err != nil {
		return err
	}
	build.Dir = root
	if err := Succeed(build); err != nil {
		return err
	}
	return os.Symlink(Program, filepath.Join(Binaries(), "kubectl_complete-akash_net"))
}

// Bare starts a control plane for one test, without anything installed.
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

// AkashServices creates the namespace of Akash's operators, installs what belongs there, and lets every user look for the
// operators.
func AkashServices(ctx context.Context) error {
	if err := Kubectl(ctx, "", nil, "create", "namespace", "akash-services"); err != nil {
		return err
	}
	if r := Run(ctx, "install"); r.Code != 0 {
		return errors.New(r.String())
	}
	return Kubectl(ctx, "", nil, "-n", "akash-services", "create", "rolebinding", "everybody", "--role=akash-net-sees-operators", "--group=system:authenticated")
}
