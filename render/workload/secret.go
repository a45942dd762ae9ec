package workload

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"
	coreac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/workload"
	"github.com/akash-net/kubectl-akash-net/render"
)

// registry is an entry of docker's configuration file.
type registry struct {
	Username string `json:"username"`
	Password string `json:"password"`
	Email    string `json:"email,omitempty"`
	Auth     string `json:"auth"`
}

func (s *service) secretName() string { return workload.SecretPrefix + s.Name }

// secret renders the credentials of the service's registry (provider: cluster/kube/builder/service_credentials.go). It
// trims spaces around user, password and email, but not around the host.
func (s *service) secret() render.Object {
	k := s.Credentials
	r := registry{Username: strings.TrimSpace(k.Username), Password: strings.TrimSpace(k.Password),
		Email: strings.TrimSpace(k.Email)}
	r.Auth = base64.StdEncoding.EncodeToString([]byte(r.Username + ":" + r.Password))
	data, err := json.Marshal(map[string]map[string]registry{"auths": {k.Host: r}}) //nolint:gosec // it is what the Secret is for
	if err != nil {
		panic(err) // strings always marshal
	}
	name := s.secretName()
	return render.Object{Kind: kinds.Secret, Namespace: s.ns, Name: name, Config: coreac.Secret(name, s.ns).
		WithLabels(s.labels()).WithAnnotations(s.annotations()).
		WithType(corev1.SecretTypeDockerConfigJson).WithData(map[string][]byte{corev1.DockerConfigJsonKey: data})}
}
