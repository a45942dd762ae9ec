package programs

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

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
