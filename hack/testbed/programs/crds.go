package programs

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
)

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
