package input

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease/sdl"
)

type schema struct {
	Ref        string             `json:"$ref"`
	Defs       map[string]*schema `json:"$defs"`
	Properties map[string]*schema `json:"properties"`
	Items      *schema            `json:"items"`
}

// TestSchemaNamesTheReadersKeys holds the published schema against the reader.
func TestSchemaNamesTheReadersKeys(t *testing.T) {
	data, err := os.ReadFile("../../manifests/leasedefinition.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var root schema
	if err := json.Unmarshal(data, &root); err != nil {
		t.Fatal(err)
	}
	spec := root.Properties["spec"]
	expose := root.Defs["expose"]
	for name, c := range map[string]struct {
		schema *schema
		keys   []string
	}{
		"root": {&root, rootKeys}, "metadata": {root.Properties["metadata"], metadataKeys}, "spec": {spec, specKeys},
		"lease": {spec.Properties["lease"], leaseKeys}, "service": {root.Defs["service"], serviceKeys},
		"expose": {expose, exposeKeys}, "http": {root.Defs["http"], httpKeys}, "endpoint": {root.Defs["endpoint"], endpointKeys},
		"tls": {root.Defs["tls"], tlsKeys}, "issuer": {root.Defs["tls"].Properties["issuer"], issuerKeys},
		"backend": {root.Defs["backend"], backendKeys}, "sticky": {root.Defs["sticky"], stickyKeys},
		"workload": {root.Defs["workload"], workloadKeys}, "resources": {root.Defs["resources"], resourcesKeys},
		"gpu": {root.Defs["resources"].Properties["gpu"], gpuKeys}, "volume": {root.Defs["volume"], volumeKeys},
		"params": {root.Defs["params"], paramsKeys}, "mount": {root.Defs["mount"], mountKeys},
		"permissions": {root.Defs["params"].Properties["permissions"], permissionsKeys},
		"credentials": {root.Defs["credentials"], sdl.CredentialsKeys},
		"headers":     {root.Defs["headers"], headersKeys}, "header": {root.Defs["header"], headerKeys},
	} {
		for key := range c.schema.Properties {
			if !slices.Contains(c.keys, key) {
				t.Errorf("%s: the schema has %q, the reader refuses it", name, key)
			}
		}
		for _, key := range c.keys {
			if c.schema.Properties[key] == nil {
				t.Errorf("%s: the reader takes %q, the schema has it not", name, key)
			}
		}
	}
	for _, ref := range []struct{ got, want string }{
		{spec.Properties["services"].Items.Ref, "#/$defs/service"}, {spec.Properties["ipEndpoints"].Items.Ref, "#/$defs/endpoint"},
		{root.Defs["service"].Properties["expose"].Items.Ref, "#/$defs/expose"}, {root.Defs["service"].Properties["workload"].Ref, "#/$defs/workload"}, {expose.Properties["http"].Ref, "#/$defs/http"},
		{expose.Properties["tls"].Ref, "#/$defs/tls"}, {expose.Properties["alternateBackends"].Items.Ref, "#/$defs/backend"},
		{expose.Properties["sticky"].Ref, "#/$defs/sticky"}, {expose.Properties["headers"].Ref, "#/$defs/headers"},
		{root.Defs["headers"].Properties["request"].Items.Ref, "#/$defs/header"}, {root.Defs["headers"].Properties["response"].Items.Ref, "#/$defs/header"},
	} {
		if ref.got != ref.want {
			t.Errorf("the schema refers to %q where %q is read", ref.got, ref.want)
		}
	}
}
