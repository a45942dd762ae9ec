// Package programs builds and finds the programs that the testbed runs: a real control plane,
// MetalLB's controller, kubectl, krew, the linter, and what benchmarks compare with. Each comes from
// a Go module, pinned by a wrapper module beside this package, so that a machine needs Go and a
// module proxy, no more.
package programs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// module is one wrapper module and what is built from it.
type module struct {
	name    string // the wrapper's folder under hack/testbed, and its name on the command line
	path    string // the module that is wrapped
	ldflags string // beside -s -w; VERSION stands for the wrapped module's version
	takes   string // a cold build on two cores, for the message
	// programs maps the name of a program to its package.
	programs map[string]string
}

var modules = []module{
	{
		name: "etcd", path: "go.etcd.io/etcd/server/v3", takes: "a minute",
		programs: map[string]string{"etcd": "go.etcd.io/etcd/server/v3"},
	},
	{
		name: "kubernetes", path: "k8s.io/kubernetes", takes: "4 to 6 minutes",
		ldflags: "-X k8s.io/component-base/version.gitVersion=VERSION",
		programs: map[string]string{
			"kube-apiserver":          "k8s.io/kubernetes/cmd/kube-apiserver",
			"kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
			"kubectl":                 "k8s.io/kubernetes/cmd/kubectl",
		},
	},
	{
		name: "oldest", path: "k8s.io/kubectl", takes: "3 minutes",
		programs: map[string]string{"oldest": "github.com/akash-net/kubectl-akash-net/hack/testbed/oldest"},
	},
	{
		name: "metallb", path: "go.universe.tf/metallb", takes: "2 minutes",
		programs: map[string]string{"metallb-controller": "go.universe.tf/metallb/controller"},
	},
	{
		name: "krew", path: "sigs.k8s.io/krew", takes: "half a minute",
		programs: map[string]string{
			"krew":                   "sigs.k8s.io/krew/cmd/krew",
			"validate-krew-manifest": "sigs.k8s.io/krew/cmd/validate-krew-manifest",
		},
	},
	{
		name: "envtest", path: "sigs.k8s.io/controller-runtime/tools/setup-envtest", takes: "ten seconds",
		programs: map[string]string{"setup-envtest": "sigs.k8s.io/controller-runtime/tools/setup-envtest"},
	},
	{
		name: "traefik", path: "github.com/traefik/traefik/v3", takes: "5 minutes",
		programs: map[string]string{"traefik": "github.com/traefik/traefik/v3/cmd/traefik"},
	},
	{
		name: "helm", path: "helm.sh/helm/v4", takes: "3 minutes",
		programs: map[string]string{"helm": "helm.sh/helm/v4/cmd/helm"},
	},
	{
		name: "kustomize", path: "sigs.k8s.io/kustomize/kustomize/v5", takes: "a minute",
		programs: map[string]string{"kustomize": "sigs.k8s.io/kustomize/kustomize/v5"},
	},
	{
		name: "flux", path: "github.com/fluxcd/pkg/ssa", takes: "3 minutes",
		programs: map[string]string{"flux": "github.com/akash-net/kubectl-akash-net/hack/testbed/flux"},
	},
	{
		name: "argocd", path: "github.com/argoproj/argo-cd/gitops-engine", takes: "4 minutes",
		programs: map[string]string{"argocd": "github.com/akash-net/kubectl-akash-net/hack/testbed/argocd"},
	},
	{
		name: "lint", path: "github.com/golangci/golangci-lint/v2", takes: "2 minutes",
		programs: map[string]string{"golangci-lint": "github.com/golangci/golangci-lint/v2/cmd/golangci-lint"},
	},
	{
		name: "goreleaser", path: "github.com/goreleaser/goreleaser/v2", takes: "10 minutes",
		ldflags:  "-X main.version=VERSION",
		programs: map[string]string{"goreleaser": "github.com/goreleaser/goreleaser/v2"},
	},
	{
		name: "cyclonedx", path: "github.com/CycloneDX/cyclonedx-gomod", takes: "a minute",
		programs: map[string]string{"cyclonedx-gomod": "github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod"},
	},
	{
		name: "vulncheck", path: "golang.org/x/vuln", takes: "half a minute",
		programs: map[string]string{"govulncheck": "golang.org/x/vuln/cmd/govulncheck"},
	},
}

// Names lists the modules that Build knows.
func Names() []string {
	var names []string
	for _, m := range modules {
		names = append(names, m.name)
	}
	return names
}

// Root is the repository's root: the nearest folder above the working directory that holds this
// project's go.mod. Go runs tests in their package's folder, so it is found from each of them.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		mod, err := os.ReadFile(filepath.Join(at, "go.mod"))
		if err == nil && strings.HasPrefix(string(mod), "module github.com/akash-net/kubectl-akash-net\n") {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%s is not inside the repository of kubectl-akash-net", dir)
		}
	}
}

// Cache is the one folder where the testbed keeps what it makes; git ignores it.
func Cache() (string, error) {
	root, err := Root()
	return filepath.Join(root, ".cache"), err
}

// Path finds a program: in the folder that KUBEBUILDER_ASSETS names, else where Build puts it.
// The error says how to build it.
func Path(name string) (string, error) {
	bin, err := binDir()
	if err != nil {
		return "", err
	}
	if given := assets(bin); given != "" {
		path := filepath.Join(given, name)
		if exists(path) {
			return path, nil
		}
		if slices.Contains([]string{"etcd", "kube-apiserver"}, name) {
			return "", fmt.Errorf("KUBEBUILDER_ASSETS is %s, which holds no %s: correct it or unset it", given, name)
		}
	}
	path := filepath.Join(bin, name)
	if !exists(path) {
		return "", fmt.Errorf("%s is missing: `go run ./hack/testbed/cmd/testbed build%s` builds it from its Go module", path, moduleOf(name))
	}
	return path, nil
}

// moduleOf is the name, after a space, of the module that a program is built from; empty where no
// module is known to give it.
func moduleOf(name string) string {
	for _, m := range modules {
		if _, ok := m.programs[name]; ok {
			return " " + m.name
		}
	}
	return ""
}

// assets is the folder that KUBEBUILDER_ASSETS names, or "" when that is unset or our own.
func assets(bin string) string {
	given := os.Getenv("KUBEBUILDER_ASSETS")
	if given == "" {
		return ""
	}
	if abs, err := filepath.Abs(given); err == nil && abs == bin {
		return ""
	}
	return given
}

func binDir() (string, error) {
	cache, err := Cache()
	return filepath.Join(cache, "bin"), err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, os.ErrNotExist)
}

// MetalLBNamespace is where MetalLB's controller looks for its pools.
const MetalLBNamespace = "metallb-system"

// MetalLBCRDs is the folder of MetalLB's CustomResourceDefinitions, of the version whose
// controller Build makes.
func MetalLBCRDs(ctx context.Context) (string, error) {
	return moduleFolder(ctx, filepath.Join("hack", "testbed", "metallb"), "go.universe.tf/metallb", "config/crd/bases")
}

// GatewayAPICRDs is the folder of Gateway API's CustomResourceDefinitions of the standard
// channel, of the version that this project's go.mod asks for.
func GatewayAPICRDs(ctx context.Context) (string, error) {
	return moduleFolder(ctx, ".", "sigs.k8s.io/gateway-api", "config/crd/standard")
}

// OpenShiftRouteCRDs is the folder of the CustomResourceDefinition of OpenShift's Route, of the
// version that this project's go.mod asks for.
func OpenShiftRouteCRDs(ctx context.Context) (string, error) {
	return moduleFolder(ctx, ".", "github.com/openshift/api", "route/v1/zz_generated.crd-manifests")
}

// moduleFolder is a folder inside a module that the go.mod in the repository's folder `from` asks
// for. It is the module cache's folder even where a vendor folder exists: vendored modules lack
// what no Go package needs.
func moduleFolder(ctx context.Context, from, module, folder string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	out, err := goOutput(ctx, filepath.Join(root, from), "mod", "download", "-json", module)
	if err != nil {
		return "", err
	}
	var downloaded struct{ Dir string }
	if err := json.Unmarshal([]byte(out), &downloaded); err != nil {
		return "", fmt.Errorf("go mod download -json %s: %w", module, err)
	}
	return filepath.Join(downloaded.Dir, filepath.FromSlash(folder)), nil
}

// dnsModules are the modules that have the CustomResourceDefinitions of DNS records. Nothing is built
// of them, and what they require is heavy: so they are fetched by themselves, and no go.mod names
// them.
var dnsModules = []struct{ module, sum, file string }{
	{"github.com/gardener/gardener@v1.130.0", "h1:QXON/Iryrl9iVe6UpS/xI0qyNvvp006yzSH0tzXOW+4=", "example/seed-crds/10-crd-extensions.gardener.cloud_dnsrecords.yaml"},
	{"sigs.k8s.io/external-dns@v0.22.0", "h1:+ASJ3KF7DLqHo2LsG8Qinuh2J389MS86I19i/r8ewUc=", "config/crd/standard/dnsendpoints.externaldns.k8s.io.yaml"},
}

// DNSCRDs are the files with the CustomResourceDefinitions of Gardener's DNSRecord and of
// external-dns' DNSEndpoint.
func DNSCRDs(ctx context.Context) ([]string, error) {
	var files []string
	for _, m := range dnsModules {
		out, err := goOutput(ctx, os.TempDir(), "mod", "download", "-json", m.module)
		if err != nil {
			return nil, err
		}
		var downloaded struct{ Dir, Sum string }
		if err := json.Unmarshal([]byte(out), &downloaded); err != nil {
			return nil, fmt.Errorf("go mod download -json %s: %w", m.module, err)
		}
		if downloaded.Sum != m.sum {
			return nil, fmt.Errorf("%s has the sum %s; %s is expected", m.module, downloaded.Sum, m.sum)
		}
		files = append(files, filepath.Join(downloaded.Dir, filepath.FromSlash(m.file)))
	}
	return files, nil
}
