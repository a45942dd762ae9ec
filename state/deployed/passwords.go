package deployed

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/workload"
)

// Lacking is a service whose credentials have no password, in the definition or in the cluster.
type Lacking struct {
	Service, Secret string
	// There is true where the Secret exists and is of another registry or user: it stays as it is.
	There bool
	At    lease.Place
}

// WithPasswords is the definition with the passwords that the cluster has where the definition has none: a definition that
// was printed or kept has none. secret reads what is there under a Secret's name, nil for nothing. A password is taken only
// where registry and user are the same.
func WithPasswords(def *lease.Definition, secret func(name string) *unstructured.Unstructured) (*lease.Definition, []Lacking) {
	var lacking []Lacking
	out := def
	for i, w := range def.Workloads.Services {
		if w.Credentials == nil || w.Credentials.Password != "" {
			continue
		}
		name := workload.SecretPrefix + w.Name
		there := secret(name)
		password := passwordOf(there, w.Credentials)
		if password == "" {
			lacking = append(lacking, Lacking{Service: w.Name, Secret: name, There: there != nil, At: w.Credentials.At})
			continue
		}
		if out == def {
			runs := *def.Workloads
			runs.Services = slices.Clone(runs.Services)
			whole := *def
			whole.Workloads, out = &runs, &whole
		}
		credentials := *w.Credentials
		credentials.Password = password
		out.Workloads.Services[i].Credentials = &credentials
	}
	return out, lacking
}

// passwordOf is the password that a Secret has for the user at the registry; empty where it has none.
func passwordOf(secret *unstructured.Unstructured, k *lease.Credentials) string {
	if secret == nil {
		return ""
	}
	text, _, _ := unstructured.NestedString(secret.Object, "data", corev1.DockerConfigJsonKey)
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return ""
	}
	var file struct {
		Auths map[string]struct{ Username, Password string } `json:"auths"`
	}
	if json.Unmarshal(data, &file) != nil {
		return ""
	}
	auth, known := file.Auths[k.Host]
	if !known || auth.Username != strings.TrimSpace(k.Username) {
		return ""
	}
	return auth.Password
}
