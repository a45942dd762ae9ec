package manifests

import (
	_ "embed"

	"github.com/akash-net/kubectl-akash-net/lease/schema"
)

var (
	//go:embed providerconfig.schema.json
	providerConfigSchema []byte
	//go:embed leasedefinition.schema.json
	leaseDefinitionSchema []byte
)

// Schemas returns the schemas of the documents that people write: ProviderConfig and LeaseDefinition, in this order.
func Schemas() ([]*schema.Schema, error) {
	var all []*schema.Schema
	for _, text := range [][]byte{providerConfigSchema, leaseDefinitionSchema} {
		s, err := schema.Parse(text)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}
