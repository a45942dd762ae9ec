package reconcile_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// server is a reconciler that answers over HTTP.
type server struct {
	*harness.Process
	url   string
	token string
}

// client does not check certificates: each reconciler makes its own.
var client = &http.Client{
	Timeout:   harness.Deadline,
	Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true},
}

// serve starts a reconciler that answers on the loopback address, and waits until it is ready. It does not wait to be elected.
func serve(t *testing.T, args ...string) *server {
	t.Helper()
	return serveAs(t, reconciler, "http", "", append(args, "--leader-elect=false")...).ready(t)
}

// serveAs starts a reconciler that answers at a port of an address; empty for the loopback address.
func serveAs(t *testing.T, kubeconfig, scheme, address string, args ...string) *server {
	t.Helper()
	port := harness.FreePort(t)
	return &server{Process: watchAs(t, kubeconfig, append(args, "--listen", address+":"+port)...), url: scheme + "://127.0.0.1:" + port}
}

// ready waits until the reconciler says that it is ready.
func (s *server) ready(t *testing.T) *server {
	t.Helper()
	s.answers(t, http.StatusOK, "/readyz")
	return s
}

// answers waits until a path is answered with a status.
func (s *server) answers(t *testing.T, status int, path string) {
	t.Helper()
	harness.Eventually(t, fmt.Sprintf("%s is to be answered with %d", path, status), func(ctx context.Context) (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, http.NoBody)
		if err != nil {
			return false, err
		}
		response, err := client.Do(request)
		if err != nil {
			return false, nil //nolint:nilerr // it does not listen yet
		}
		_ = response.Body.Close()
		return response.StatusCode == status, nil
	})
}

// asks sends a request, and returns the status and the body of the answer. Headers are pairs.
func (s *server) asks(t *testing.T, method, path, body string, headers ...string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if s.token != "" {
		request.Header.Set("Authorization", "Bearer "+s.token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if request.Header.Set(headers[i], headers[i+1]); headers[i] == "Host" {
			request.Host = headers[i+1]
		}
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // it has been read
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// gets reads a path, and decodes the answer.
func gets[T any](t *testing.T, s *server, path string) (out T) {
	t.Helper()
	status, text := s.asks(t, http.MethodGet, path, "")
	if status != http.StatusOK {
		t.Fatalf("%s: %d %s", path, status, text)
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%s: %v\n%s", path, err, text)
	}
	return out
}

// account makes a ServiceAccount that may do what rules say, and returns its token.
func account(t *testing.T, rules ...rbacv1.PolicyRule) string {
	t.Helper()
	c, err := kubernetes.NewForConfig(harness.Plane.Config)
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprint("http-", harness.Number())
	meta := metav1.ObjectMeta{Name: name}
	if _, err = c.CoreV1().ServiceAccounts("default").Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{}); err == nil {
		_, err = c.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{})
	}
	if err == nil {
		_, err = c.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "default", Name: name}},
		}, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	request, err := c.CoreV1().ServiceAccounts("default").CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// mayGet and mayPost are rights to paths.
func mayGet(paths ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{NonResourceURLs: paths, Verbs: []string{"get"}}
}

func mayPost(paths ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{NonResourceURLs: paths, Verbs: []string{"post"}}
}

// operator makes a user with the shipped rights of an operator, and those to review tokens and rights. It returns its kubeconfig.
func operator(t *testing.T) string {
	t.Helper()
	name := fmt.Sprint("operator-", harness.Number())
	_, kubeconfig, err := harness.Plane.AddUser(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"create", "clusterrolebinding", name, "--clusterrole=akash-net-operator", "--user=" + name},
		{"-n", "akash-net", "create", "rolebinding", name, "--role=akash-net-operator", "--user=" + name},
		{"create", "clusterrolebinding", name + "-reviews", "--clusterrole=system:auth-delegator", "--user=" + name},
	} {
		if err := harness.Kubectl(t.Context(), "", nil, args...); err != nil {
			t.Fatal(err)
		}
	}
	return kubeconfig
}
