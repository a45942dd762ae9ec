package config_test

import (
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// spec reads a configuration by what stands below its spec; said is what is said of it.
func spec(t *testing.T, text string) (cfg *config.ProviderConfig, said string) {
	t.Helper()
	cfg, problems, err := config.Read(strings.NewReader("apiVersion: net.akash.network/v1alpha1\nkind: ProviderConfig\nspec: {"+text+"}\n"), "")
	if err != nil {
		t.Fatal(err)
	}
	return cfg, problems.Error()
}
