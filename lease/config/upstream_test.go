package config_test

import (
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// CL-1 of Akash's client (provider: cluster/kube): static hosts need a domain that is one.
func TestUpstreamStaticHostDomains(t *testing.T) {
	for domain, failed := range map[string]bool{"*.foo.bar.com": true, "foo.bar.com-": true, "foo.ba!!!r.com": true, "": true, "foo.bar.com": false} {
		t.Run("CL-1 "+domain, func(t *testing.T) {
			text := "apiVersion: net.akash.network/v1alpha1\nkind: ProviderConfig\nspec: {ingress: {staticHosts: true, domain: \"" + domain + "\"}}\n"
			_, problems, err := config.Read(strings.NewReader(text), "")
			if err != nil || problems.Failed() != failed {
				t.Errorf("domain %q: %v %v", domain, err, problems)
			}
		})
	}
}
