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

// Lacking is a service whose credentials have no password in the definition or in the cluster.
type Lacking struct {
	Service, Secret string
	// There is true if the Secret exists but is for another registry or user. It is not changed.
	There bool
	At    lease.Place
}

// WithPasswords returns the definition with passwords from the cluster where the definition has none, as in one that
// was printed or kept. secret returns the Secret with a name, or nil. A password is used only if registry and user are
// the same.
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

// passwordOf returns the password in the Secret for the user at the registry, or "".
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
