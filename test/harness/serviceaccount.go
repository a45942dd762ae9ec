package harness

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/akash-net/kubectl-akash-net/hack/testbed"
)

// Reconciler installs the reconciler, and returns a kubeconfig of its ServiceAccount: who uses it has the rights that the reconciler in
// the cluster has.
func Reconciler(ctx context.Context) (kubeconfig string, err error) {
	if r := Run(ctx, "install", "--reconciler", "--reconciler-image", "none"); r.Code != 0 {
		return "", errors.New(r.String())
	}
	return ServiceAccount(ctx, Plane, "akash-net", "akash-net-reconciler")
}

// Token returns a token of a ServiceAccount, as the kubelet gives one to a pod.
func Token(ctx context.Context, of *testbed.ControlPlane, namespace, name string) (string, error) {
	clients, err := kubernetes.NewForConfig(of.Config)
	if err != nil {
		return "", err
	}
	request, err := clients.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return request.Status.Token, nil
}

// ServiceAccount writes a kubeconfig with a token of a ServiceAccount, and returns its path.
func ServiceAccount(ctx context.Context, of *testbed.ControlPlane, namespace, name string) (string, error) {
	token, err := Token(ctx, of, namespace, name)
	if err != nil {
		return "", err
	}
	c := api.NewConfig()
	c.Clusters[name] = &api.Cluster{Server: of.Config.Host, CertificateAuthorityData: of.Config.CAData}
	c.AuthInfos[name] = &api.AuthInfo{Token: token}
	c.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
	c.CurrentContext = name
	path := filepath.Join(of.Dir, "kubeconfig-"+namespace+"-"+name)
	if err := clientcmd.WriteToFile(*c, path); err != nil {
		return "", err
	}
	return path, os.Chmod(path, 0o600)
}
