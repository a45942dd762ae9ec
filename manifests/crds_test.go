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

// An object that has every field of Akash's own definitions is valid and loses nothing, and the definitions have no more.
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
			if diff := cmp.Diff(slices.Compact(written(object["spec"], "spec")), leaves(s, "")); diff != "" {
				t.Errorf("fields (-Akash's +ours):\n%s", diff)
			}
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

// written returns the sorted fields of a value that hold one.
func written(value any, path string) (all []string) {
	switch v := value.(type) {
	case map[string]any:
		for name, field := range v {
			all = append(all, written(field, path+"."+name)...)
		}
	case []any:
		for _, item := range v {
			all = append(all, written(item, path+"[]")...)
		}
	case nil: // says nothing
	default:
		all = []string{path}
	}
	slices.Sort(all)
	return all
}

// leaves returns the sorted fields that hold a value.
func leaves(s *schema.Structural, path string) (all []string) {
	switch s.Type {
	case "object":
		for name, property := range s.Properties {
			all = append(all, leaves(&property, strings.TrimPrefix(path+"."+name, "."))...)
		}
	case "array":
		all = leaves(s.Items, path+"[]")
	default:
		all = []string{path}
	}
	slices.Sort(all)
	return all
}
