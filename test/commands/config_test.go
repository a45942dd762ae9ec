package commands

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/hack/testbed"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// settings are the text of the configuration in the cluster, and the version of its ConfigMap.
func (c bareCluster) settings(t *testing.T) (text, version string) {
	t.Helper()
	o := c.get(t, configMaps, ledger, "config")
	text, _, _ = unstructured.NestedString(o.Object, "data", "config.yaml")
	return text, o.GetResourceVersion()
}

// rewrite changes the ConfigMap, as "kubectl edit" does.
func (c bareCluster) rewrite(t *testing.T, patch string) {
	t.Helper()
	if _, err := c.objects.Resource(configMaps).Namespace(ledger).Patch(t.Context(), "config", types.JSONPatchType, []byte(patch), metav1.PatchOptions{FieldManager: "kubectl-edit"}); err != nil {
		t.Fatal(err)
	}
}

// rewriteData changes its data.
func (c bareCluster) rewriteData(t *testing.T, key, text string) {
	t.Helper()
	c.rewrite(t, toText(t, []any{map[string]any{"op": "replace", "path": "/data", "value": map[string]any{key: text}}}))
}

// edit runs "config edit" with an editor that does one step, of sh with the file as $1, each time it is opened. It returns the texts with
// which the editor was opened, and the files that are left.
func (c bareCluster) edit(t *testing.T, kubeconfig string, code int, steps ...string) (r result, opened, left []string) {
	t.Helper()
	folder, temp := t.TempDir(), t.TempDir()
	for i, step := range steps {
		write(t, filepath.Join(folder, "step"+strconv.Itoa(i)), step+"\n")
	}
	editor := filepath.Join(folder, "editor")
	write(t, editor, "#!/bin/sh\nset -e\ncd "+folder+"\nn=$(ls opened* 2>/dev/null | wc -l)\ncp \"$1\" opened$n\n. ./step$n\n")
	if err := os.Chmod(editor, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := harness.Command(t.Context(), kubeconfig, "config", "edit")
	cmd.Env = append(cmd.Env, "KUBE_EDITOR="+editor, "TMPDIR="+temp)
	r = finish(cmd).Exits(t, code)
	names, _ := filepath.Glob(filepath.Join(folder, "opened*"))
	for _, name := range names {
		opened = append(opened, read(t, name))
	}
	left, _ = filepath.Glob(filepath.Join(temp, "*"))
	return r, opened, left
}

// configurations are the ways in which the configuration in the cluster is changed, and what keeps it from that.
func (c bareCluster) configurations(t *testing.T) {
	t.Helper()
	installed := func(t *testing.T, lines ...string) (text, version string) {
		t.Helper()
		c.do(t, 0, "install", "--config", configure(t, lines...))
		return c.settings(t)
	}
	is := func(t *testing.T, want string) {
		t.Helper()
		if text, _ := c.settings(t); !strings.Contains(text, want) {
			t.Errorf("the configuration is\n%s\nwant %s", text, want)
		}
	}

	// An edit is written when it is valid. Until then the editor is opened again, with what is wrong, by the lines of what it shows.
	t.Run("edit", func(t *testing.T) {
		installed(t, "# ours", "target: ingress")
		r, opened, left := c.edit(t, c.Kubeconfig, 0, `sed -i 's/target: ingress/target: routes/' "$1"`, `sed -i 's/target: routes/target: httproute/' "$1"`)
		r.Prints(t, "configmap/config configured").Says(t, "error: configmap akash-net/config has 1 error")
		is(t, "apiVersion: net.akash.network/v1alpha1\nkind: ProviderConfig\nmetadata: {name: provider}\nspec:\n  # ours\n  target: httproute\n")
		if len(opened) != 2 || strings.Contains(opened[0], "not valid") || left != nil {
			t.Fatalf("the editor was opened with %q, and leaves %q", opened, left)
		}
		said := regexp.MustCompile(`# \* line (\d+), column 11: spec\.target: unknown target "routes"`).FindStringSubmatch(opened[1])
		if said == nil {
			t.Fatalf("the editor was opened again with\n%s", opened[1])
		}
		line, _ := strconv.Atoi(said[1])
		if got := strings.Split(opened[1], "\n")[line-1]; got != "  target: routes" {
			t.Errorf("line %d is %q", line, got)
		}
		c.do(t, 0, "config", "view").Prints(t, "target: httproute", "ledgerNamespace: akash-net")
	})

	// What is not to be written is not written: nothing was changed, all was removed, nothing valid was saved, or the editor has failed.
	t.Run("cancelled", func(t *testing.T) {
		_, before := installed(t, "target: ingress")
		for _, tt := range []struct {
			code  int
			says  string
			files int
			steps []string
		}{
			{0, "Edit cancelled, no changes made.", 0, []string{":"}},
			{0, "Edit cancelled, no changes made.", 0, []string{`sed -i s/ingress/x/ "$1"`, `sed -i s/x$/ingress/ "$1"`}},
			{0, "Edit cancelled, saved file was empty.", 0, []string{`echo '# none' > "$1"`}},
			{1, "Edit cancelled, no valid changes were saved.", 1, []string{`sed -i s/ingress/x/ "$1"`, ":"}},
			{1, "there was a problem with the editor", 0, []string{"exit 1"}},
		} {
			r, _, left := c.edit(t, c.Kubeconfig, tt.code, tt.steps...)
			if r.Says(t, tt.says); len(left) != tt.files || len(left) > 0 && !strings.Contains(r.Stderr, left[0]) {
				t.Errorf("files %q are left: %s", left, r)
			}
		}
		if _, after := c.settings(t); after != before {
			t.Error("the ConfigMap was written")
		}
	})

	// What others write while the editor is open is not lost, and neither is the edit. A change of something else is no reason to refuse.
	t.Run("another writer", func(t *testing.T) {
		original, _ := installed(t, "target: ingress")
		meets := func(move func()) (kubeconfig string) {
			p, met := startProxyOf(t, c.Config, nil), false
			p.before = func(request string) {
				if request == "PATCH configmaps/config" && !met {
					met = true
					move()
				}
			}
			return p.kubeconfig
		}
		theirs := strings.Replace(original, "ingress", "route", 1)
		r, _, left := c.edit(t, meets(func() { c.rewriteData(t, "config.yaml", theirs) }), 1, `sed -i s/ingress/httproute/ "$1"`)
		r.Says(t, "configmap akash-net/config has changed since it was opened")
		is(t, theirs)
		if len(left) != 1 || !strings.Contains(r.Stderr, left[0]) || !strings.Contains(read(t, left[0]), "target: httproute") {
			t.Fatalf("files %q are left: %s", left, r)
		}
		c.edit(t, meets(func() {
			c.rewrite(t, `[{"op": "add", "path": "/metadata/annotations", "value": {"example.com/a": "b"}}]`)
		}), 0, `sed -i 's/target: route/target: httproute/' "$1"`)
		is(t, "target: httproute")
		// install replaces what it has shown: what is written meanwhile is shown too.
		runAs(t.Context(), meets(func() { c.rewriteData(t, "config.yaml", original) }), "install", "--config", configure(t, "target: route")).Exits(t, 0).
			Says(t, "The configuration in the cluster changes:", "-   target: httproute", "-   target: ingress", "+   target: route").Prints(t, "configmap/config configured")
		is(t, "target: route")
		c.do(t, 0, "install", "--config", configure(t, "target: route")).Prints(t, "configmap/config unchanged")
	})

	// Neither an edit nor an install takes addresses from leases that use them, or names another ledger while this one has claims: commands
	// would not see them, and others could take the names.
	t.Run("in use", func(t *testing.T) {
		if err := testbed.PrepareMetalLB(t.Context(), c.Config); err != nil {
			t.Fatal(err)
		}
		id := leaseOf(newOwner(t), 1)
		installed(t, "ip: {ranges: [192.0.2.0/29]}")
		c.do(t, 0, "apply", "--wait=false", "-f", define(t, id, leased("game", "public", 7001)))
		_, before := c.settings(t)
		for _, lines := range []string{"ip: {ranges: [192.0.2.4/30]}", `ip: {ranges: [192.0.2.0/29, "!192.0.2.0"]}`, "hosts: {wildcards: true}", "ip: {mode: pool, pool: admin}"} {
			config := configure(t, lines)
			c.do(t, 4, "install", "--config", config).Says(t, "192.0.2.0, used by lease "+id.String())
			c.do(t, 4, "install", "--dry-run=client", "--config", config).Says(t, "192.0.2.0, used by lease "+id.String())
		}
		c.edit(t, c.Kubeconfig, 1, `sed -i 's/ip:/ledgerNamespace: elsewhere\n  ip:/' "$1"`, ":")
		if _, after := c.settings(t); after != before {
			t.Error("the ConfigMap was written")
		}
		_, opened, _ := c.edit(t, c.Kubeconfig, 0, `sed -i 's#\[.*\]#[203.0.113.0/28]#' "$1"`, `sed -i 's#\[.*\]#[192.0.2.0/30]#' "$1"`)
		if len(opened) != 2 || !strings.Contains(opened[1], "# * 192.0.2.0, used by lease "+id.String()) {
			t.Errorf("the editor was opened with %q", opened)
		}
		is(t, "192.0.2.0/30")
		c.do(t, 0, "release", id.Group().String())
		installed(t, "ip: {mode: pool, pool: admin}")
	})

	// A broken configuration stops no way to mend it. Each command says what is wrong, and how it is mended.
	t.Run("broken", func(t *testing.T) {
		whole, _ := installed(t, "target: ingress")
		for _, broken := range []struct{ key, text, says, step string }{
			{"config.yaml", strings.Replace(whole, "ingress", "routes", 1), "configmap akash-net/config:5:11: spec.target: ", "sed -i s/routes/route/"},
			{"config.yaml", "spec: [\n", "configmap akash-net/config:", "printf 'apiVersion: net.akash.network/v1alpha1\\nkind: ProviderConfig\\nspec: {target: route}\\n' >"},
			{"config.yml", whole, `configmap akash-net/config: it has no key "config.yaml" in data`, "sed -i 's/target: ingress/target: route/'"},
			{"config.yaml", "apiVersion: v2\nkind: ProviderConfig\n", "configmap akash-net/config:1:13: apiVersion: ", "sed -i s#v2#net.akash.network/v1alpha1#"},
		} {
			c.rewriteData(t, broken.key, broken.text)
			for _, line := range []string{"state", "config view", "config validate", "release --all -y", "uninstall"} {
				c.do(t, 3, strings.Fields(line)...).Says(t, broken.says, "kubectl akash-net config edit", "kubectl akash-net install --config FILE")
			}
			c.do(t, 0, "install").Prints(t, "configmap/config kept (it is there already, and has errors: kubectl akash-net config validate shows them")
			if _, opened, _ := c.edit(t, c.Kubeconfig, 0, broken.step+` "$1"`); !strings.Contains(opened[0], "configmap akash-net/config was not valid:\n# * ") {
				t.Errorf("the editor was opened with\n%s", opened[0])
			}
			c.do(t, 0, "config", "validate").Prints(t, "configmap akash-net/config is valid")
			c.rewriteData(t, broken.key, broken.text)
			c.do(t, 0, "install", "--config", configure(t, "target: httproute")).Prints(t, "configmap/config configured").Says(t, "+   target: httproute")
			c.do(t, 0, "state")
		}
		installed(t, "target: ingress")
	})
}
