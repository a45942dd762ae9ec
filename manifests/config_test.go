package manifests_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/manifests"
)

func TestConfigHasTheNamespacesAndItsComments(t *testing.T) {
	before := text(t, config.Default(), "")
	cfg := config.Default()
	cfg.LedgerNamespace, cfg.ManifestNamespace = "ledger", "akash"
	after := text(t, cfg, "")
	got := spec(t, after)
	if got["ledgerNamespace"] != "ledger" || got["manifestNamespace"] != "akash" {
		t.Errorf("namespaces were not set:\n%s", after)
	}
	back := strings.NewReplacer("ledgerNamespace: ledger", "ledgerNamespace: akash-net",
		"manifestNamespace: akash", "manifestNamespace: lease").Replace(after)
	if diff := cmp.Diff(before, back); diff != "" {
		t.Errorf("more than the namespaces changed:\n%s", diff)
	}
}

func TestConfigKeepsADocumentToTheLetter(t *testing.T) {
	const document = "# mine\nkind:   ProviderConfig\n"
	cfg := config.Default()
	cfg.LedgerNamespace = "ledger"
	if got := text(t, cfg, document); got != document {
		t.Errorf("got %q", got)
	}
}

func text(t *testing.T, cfg *config.ProviderConfig, document string) string {
	t.Helper()
	object, err := manifests.Config(cfg, document)
	if err != nil {
		t.Fatal(err)
	}
	if object.GetName() != manifests.ConfigMapName || object.GetNamespace() != cfg.LedgerNamespace {
		t.Errorf("the ConfigMap is %s/%s", object.GetNamespace(), object.GetName())
	}
	text, _, err := unstructured.NestedString(object.Object, "data", manifests.ConfigMapKey)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func spec(t *testing.T, document string) map[string]any {
	t.Helper()
	var all struct {
		APIVersion, Kind string
		Spec             map[string]any
	}
	if err := yaml.Unmarshal([]byte(document), &all); err != nil {
		t.Fatal(err)
	}
	if all.APIVersion != "net.akash.network/v1alpha1" || all.Kind != "ProviderConfig" {
		t.Errorf("document is a %s %s", all.APIVersion, all.Kind)
	}
	return all.Spec
}
