//go:build linux

package incluster_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// container is the image as a folder in which its programs run: chroot, as the image's user, who may write nothing there.
type container struct {
	root            string
	user            syscall.Credential
	entrypoint, cmd []string
}

// newContainer lays out what the Dockerfile copies into the image.
func newContainer(t *testing.T) container {
	t.Helper()
	c, programs := container{root: t.TempDir()}, compile(t, root)
	for _, s := range steps(t) {
		switch s.name {
		case "arg": // TARGETPLATFORM, below
		case "copy":
			to := c.root + s.args[len(s.args)-1] // absolute; a slash at the end makes it a folder
			if err := os.MkdirAll(filepath.Dir(to+"x"), 0o755); err != nil {
				t.Fatal(err)
			}
			for _, arg := range s.args[:len(s.args)-1] {
				from := filepath.Join(root, arg)
				if program, ok := strings.CutPrefix(arg, "$TARGETPLATFORM/"); ok {
					from = filepath.Join(programs, program)
				}
				if err := harness.Succeed(exec.CommandContext(t.Context(), "cp", from, to)); err != nil {
					t.Fatal(err)
				}
			}
		case "user":
			if n, err := fmt.Sscanf(s.args[0], "%d:%d", &c.user.Uid, &c.user.Gid); err != nil || n != 2 || c.user.Uid == 0 {
				t.Fatalf("the image's user is not a number: %v", s.args)
			}
		case "entrypoint":
			c.entrypoint = s.args
		case "cmd":
			c.cmd = s.args
		default:
			t.Errorf("the test does not know the instruction %s", s.name)
		}
	}
	return c
}

// file puts a file into the container, as a volume does.
func (c container) file(t *testing.T, path, text string) {
	t.Helper()
	path = filepath.Join(c.root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// run returns a command in the container; it begins with a program of its own.
func (c container) run(ctx context.Context, folder string, command ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = folder
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: c.root, Credential: &c.user, Pdeathsig: syscall.SIGKILL}
	return cmd
}

// The image alone is enough for whatever it is used for: no shell, no folder to write to, no other user.
func TestContainer(t *testing.T) {
	harness.NeedsLong(t)
	if os.Getuid() != 0 {
		t.Skip("chroot takes root")
	}
	c := newContainer(t)
	definition, err := os.ReadFile(filepath.Join(root, "manifests/examples/reconciler/lease-files/leases/shop.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	t.Run("function", func(t *testing.T) { c.asFunction(t, string(definition)) })
	t.Run("plugin of Argo CD", func(t *testing.T) { c.asPlugin(t, string(definition)) })
	c.inPod(t)
	t.Run("job", c.asJob)
	t.Run("reconciler", c.asReconciler)
}

// asFunction runs the image as kustomize and kpt run a KRM function: without arguments.
func (c container) asFunction(t *testing.T, definition string) {
	var item map[string]any
	if err := yaml.Unmarshal([]byte(definition), &item); err != nil {
		t.Fatal(err)
	}
	list, err := yaml.Marshal(map[string]any{"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": []any{item}})
	if err != nil {
		t.Fatal(err)
	}
	cmd := c.run(t.Context(), "/", slices.Concat(c.entrypoint, c.cmd)...)
	cmd.Stdin = strings.NewReader(string(list))
	harness.Finish(cmd).Exits(t, 0).Prints(t, "kind: ResourceList", "kind: Ingress", "host: shop.example.com")
}

// asPlugin runs the command of the plugin's configuration as Argo CD does: in the folder of an Application.
func (c container) asPlugin(t *testing.T, definition string) {
	text, err := os.ReadFile(filepath.Join(c.root, "home/argocd/cmp-server/config/plugin.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var plugin struct {
		APIVersion, Kind string
		Metadata         struct{ Name string }
		Spec             struct {
			Generate struct{ Command []string }
		}
	}
	if err := yaml.UnmarshalStrict(text, &plugin); err != nil {
		t.Fatal(err)
	}
	if plugin.Kind != "ConfigManagementPlugin" || plugin.APIVersion != "argoproj.io/v1alpha1" || plugin.Metadata.Name == "" {
		t.Errorf("this is no plugin of Argo CD: %+v", plugin)
	}
	c.file(t, "app/team/shop.yaml", definition)
	harness.Finish(c.run(t.Context(), "/app", plugin.Spec.Generate.Command...)).Exits(t, 0).Prints(t, "kind: Ingress", "host: shop.example.com")
	c.file(t, "empty/README.md", "")
	if r := harness.Finish(c.run(t.Context(), "/empty", plugin.Spec.Generate.Command...)); r.Code == 0 || r.Stdout != "" {
		t.Errorf("an Application without leases would prune everything: %s", r)
	}
}

// inPod installs the reconciler, and puts into the container what the kubelet puts into its pods.
func (c container) inPod(t *testing.T) {
	t.Helper()
	harness.Run(t.Context(), "install", "--reconciler", "--reconciler-image", image).Exits(t, 0)
	token, err := harness.Token(t.Context(), harness.Plane, "akash-net", "akash-net-reconciler")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"token": token, "ca.crt": string(harness.Plane.Config.CAData), "namespace": "akash-net"} {
		c.file(t, "var/run/secrets/kubernetes.io/serviceaccount/"+name, text)
	}
	settings := harness.Need(t, cluster.ConfigMaps, "akash-net", "config")
	data, _ := settings.Object["data"].(map[string]any)
	for name, text := range data {
		c.file(t, "etc/akash-net/"+name, fmt.Sprint(text))
	}
}

// podEnv returns the environment of a container in a pod.
func podEnv(t *testing.T) []string {
	t.Helper()
	server, err := url.Parse(harness.Plane.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	host, port := server.Hostname(), server.Port()
	if host == "" {
		if host, port, err = net.SplitHostPort(harness.Plane.Config.Host); err != nil {
			t.Fatal(err)
		}
	}
	return []string{"PATH=/usr/local/bin", "KUBERNETES_SERVICE_HOST=" + host, "KUBERNETES_SERVICE_PORT=" + port}
}

// leased applies a lease with a host, and deletes its route.
func leased(t *testing.T, host string) lease.ID {
	t.Helper()
	id := harness.LeaseOf(harness.NewOwner(t), 1)
	service := fmt.Sprintf("{name: web, expose: [{port: 80, as: 80, global: true, hosts: [%s]}]}", host)
	harness.Run(t.Context(), "apply", "--wait=false", "-f", harness.Define(t, id, []string{service}, nil)).Exits(t, 0)
	harness.Remove(t, kinds.Ingress.Resource(), id.Namespace(), host)
	return id
}

// asJob runs what the CronJob runs: what was deleted is back.
func (c container) asJob(t *testing.T) {
	host := harness.NewHost("job")
	id := leased(t, host)
	spec, _ := templateOf(t, one(t, kustomize(t, "manifests/examples/reconciler/cronjob"), "CronJob"))
	cmd := c.run(t.Context(), "/", slices.Concat(c.entrypoint, spec.Containers[0].Args)...)
	cmd.Env = podEnv(t)
	harness.Finish(cmd).Exits(t, 0)
	harness.Need(t, kinds.Ingress.Resource(), id.Namespace(), host)
}

// asReconciler runs what the Deployment runs, asks what the kubelet asks, and stops it as the kubelet does.
func (c container) asReconciler(t *testing.T) {
	spec, _ := templateOf(t, one(t, kustomize(t, "manifests/reconciler"), "Deployment"))
	run := spec.Containers[0]
	port := harness.FreePort(t)
	address, args := "127.0.0.1:"+port, slices.Clone(run.Args)
	for i, arg := range args { // another test may use the port of the pod
		if at, found := strings.CutSuffix(arg, fmt.Sprint(":", run.Ports[0].ContainerPort)); found {
			args[i] = at + ":" + port
		}
	}
	cmd := c.run(context.WithoutCancel(t.Context()), "/", slices.Concat(run.Command, args)...)
	cmd.Env = podEnv(t)
	end := harness.Start(cmd)
	ended := make(chan harness.Result, 1)
	go func() { ended <- end() }()
	host := harness.NewHost("reconciler")
	id := leased(t, host)
	harness.Eventually(t, "the route is to be back", func(ctx context.Context) (bool, error) {
		select {
		case r := <-ended:
			return false, errors.New(r.String())
		default:
		}
		return harness.Find(t, kinds.Ingress.Resource(), id.Namespace(), host) != nil, nil
	})
	probes := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for _, probe := range []string{run.LivenessProbe.HTTPGet.Path, run.ReadinessProbe.HTTPGet.Path} {
		harness.Eventually(t, probe+" is to be answered", func(ctx context.Context) (bool, error) {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+probe, http.NoBody)
			if err != nil {
				return false, err
			}
			answer, err := probes.Do(request)
			if err != nil {
				return false, nil //nolint:nilerr // it does not listen yet
			}
			return answer.StatusCode == http.StatusOK, answer.Body.Close()
		})
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	(<-ended).Exits(t, 0)
}
