package manifests_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/manifests"
)

// The fields of Akash's own definitions, each with its type.
var fields = map[string]string{
	"ProviderHost": `
		spec.dseq integer
		spec.external_port integer
		spec.gseq integer
		spec.hostname string
		spec.oseq integer
		spec.owner string
		spec.provider string
		spec.service_name string`,
	"ProviderLeasedIP": `
		spec.external_port integer
		spec.lease_id.dseq string
		spec.lease_id.gseq integer
		spec.lease_id.oseq integer
		spec.lease_id.owner string
		spec.lease_id.provider string
		spec.port integer
		spec.protocol string
		spec.service_name string
		spec.sharing_key string`,
	"Manifest": `
		spec.group.name string
		spec.group.services[].args[] string
		spec.group.services[].command[] string
		spec.group.services[].count number
		spec.group.services[].credentials.email string
		spec.group.services[].credentials.host string
		spec.group.services[].credentials.password string
		spec.group.services[].credentials.username string
		spec.group.services[].env[] string
		spec.group.services[].expose[].endpoint_sequence_number number
		spec.group.services[].expose[].external_port integer
		spec.group.services[].expose[].global boolean
		spec.group.services[].expose[].hosts[] string
		spec.group.services[].expose[].http_options.max_body_size integer
		spec.group.services[].expose[].http_options.next_cases[] string
		spec.group.services[].expose[].http_options.next_timeout integer
		spec.group.services[].expose[].http_options.next_tries integer
		spec.group.services[].expose[].http_options.read_timeout integer
		spec.group.services[].expose[].http_options.send_timeout integer
		spec.group.services[].expose[].ip string
		spec.group.services[].expose[].port integer
		spec.group.services[].expose[].proto string
		spec.group.services[].expose[].service string
		spec.group.services[].image string
		spec.group.services[].name string
		spec.group.services[].params.permissions.read[] string
		spec.group.services[].params.storage[].mount string
		spec.group.services[].params.storage[].name string
		spec.group.services[].params.storage[].readOnly boolean
		spec.group.services[].resources.cpu.attributes[].key string
		spec.group.services[].resources.cpu.attributes[].value string
		spec.group.services[].resources.cpu.units number
		spec.group.services[].resources.gpu.attributes[].key string
		spec.group.services[].resources.gpu.attributes[].value string
		spec.group.services[].resources.gpu.units number
		spec.group.services[].resources.id number
		spec.group.services[].resources.memory.attributes[].key string
		spec.group.services[].resources.memory.attributes[].value string
		spec.group.services[].resources.memory.size string
		spec.group.services[].resources.storage[].attributes[].key string
		spec.group.services[].resources.storage[].attributes[].value string
		spec.group.services[].resources.storage[].name string
		spec.group.services[].resources.storage[].size string
		spec.group.services[].scheduler_params.resources.gpu.interface string
		spec.group.services[].scheduler_params.resources.gpu.memory_size string
		spec.group.services[].scheduler_params.resources.gpu.model string
		spec.group.services[].scheduler_params.resources.gpu.vendor string
		spec.group.services[].scheduler_params.runtime_class string
		spec.lease_id.dseq string
		spec.lease_id.gseq integer
		spec.lease_id.oseq integer
		spec.lease_id.owner string
		spec.lease_id.provider string`,
}

func TestCRDsAreAkashs(t *testing.T) {
	type names struct{ Name, Kind, Plural, Short string }
	want := []names{
		{"manifests.akash.network", "Manifest", "manifests", "mani"},
		{"providerhosts.akash.network", "ProviderHost", "providerhosts", "ph"},
		{"providerleasedips.akash.network", "ProviderLeasedIP", "providerleasedips", "plip"},
	}
	var got []names
	for _, crd := range definitions(t) {
		n := crd.Spec.Names
		got = append(got, names{crd.Name, n.Kind, n.Plural, strings.Join(n.ShortNames, ",")})
		if crd.Spec.Group != "akash.network" || crd.Spec.Scope != apiextensionsv1.NamespaceScoped {
			t.Errorf("%s: group %s, scope %s", crd.Name, crd.Spec.Group, crd.Spec.Scope)
		}
		if crd.Annotations["helm.sh/resource-policy"] != "keep" {
			t.Errorf("%s: helm would delete it", crd.Name)
		}
		served := crd.Spec.Versions[0]
		if served.Name != "v2beta2" || !served.Served || !served.Storage || served.Subresources != nil {
			t.Errorf("%s: the first version is not v2beta2 as Akash has it: %+v", crd.Name, served)
		}
		if old := crd.Spec.Versions[1]; old.Name != "v2beta1" || old.Served || old.Storage {
			t.Errorf("%s: the second version is not v2beta1 as Akash has it: %+v", crd.Name, old)
		}
		if diff := cmp.Diff(strings.Fields(fields[n.Kind]), leaves(structural(t, served), "")); diff != "" {
			t.Errorf("%s: fields (-Akash's +ours):\n%s", crd.Name, diff)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCRDsAreStructural(t *testing.T) {
	for _, crd := range definitions(t) {
		for _, v := range crd.Spec.Versions {
			if errs := schema.ValidateStructural(nil, structural(t, v)); len(errs) > 0 {
				t.Errorf("%s %s: %v", crd.Name, v.Name, errs)
			}
		}
	}
}

// TestCRDsKeepWhatAkashWrites checks that an object with every field is valid and loses nothing.
func TestCRDsKeepWhatAkashWrites(t *testing.T) {
	for _, crd := range definitions(t) {
		kind := strings.ToLower(crd.Spec.Names.Kind)
		t.Run(kind, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", kind+".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			var object map[string]any
			if err := yaml.Unmarshal(data, &object); err != nil {
				t.Fatal(err)
			}
			s := structural(t, crd.Spec.Versions[0])
			result := validate.NewSchemaValidator(s.ToKubeOpenAPI(), nil, "", strfmt.Default).Validate(object)
			if !result.IsValid() {
				t.Error(result.AsError())
			}
			pruned := runtime.DeepCopyJSON(object)
			pruning.Prune(pruned, s, true)
			if diff := cmp.Diff(object, pruned); diff != "" {
				t.Errorf("the API server would drop (-):\n%s", diff)
			}
		})
	}
}

func definitions(t *testing.T) []apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	objects, err := manifests.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	crds := make([]apiextensionsv1.CustomResourceDefinition, len(objects))
	for i, o := range objects {
		err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, &crds[i], true)
		if err != nil {
			t.Fatalf("%s: %v", o.GetName(), err)
		}
	}
	return crds
}

func structural(t *testing.T, v apiextensionsv1.CustomResourceDefinitionVersion) *schema.Structural {
	t.Helper()
	var internal apiextensions.JSONSchemaProps
	err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, &internal, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := schema.NewStructural(&internal)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// leaves returns the sorted fields that hold a value, each followed by its type.
func leaves(s *schema.Structural, path string) []string {
	switch s.Type {
	case "object":
		names := make([]string, 0, len(s.Properties))
		for name := range s.Properties {
			names = append(names, name)
		}
		slices.Sort(names)
		var all []string
		for _, name := range names {
			property := s.Properties[name]
			all = append(all, leaves(&property, strings.TrimPrefix(path+"."+name, "."))...)
		}
		return all
	case "array":
		return leaves(s.Items, path+"[]")
	}
	return []string{path, s.Type}
}
