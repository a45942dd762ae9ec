package commands

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// configured installs a configuration, until the test ends.
func configured(t *testing.T, lines ...string) {
	t.Helper()
	mustRun(t, 0, "install", "--config", configure(t, lines...))
	t.Cleanup(func() {
		_ = harness.Objects.Resource(configMaps).Namespace(ledger).Delete(context.Background(), "config", metav1.DeleteOptions{})
		run(context.Background(), "install")
	})
}

// settings are the text of the configuration in the cluster, and the version of its ConfigMap.
func settings(t *testing.T) (text, version string) {
	t.Helper()
	o := need(t, configMaps, ledger, "config")
	text, _, _ = unstructured.NestedString(o.Object, "data", "config.yaml")
	return text, o.GetResourceVersion()
}

// rewrite changes the data of the ConfigMap, as "kubectl edit" does.
func rewrite(t *testing.T, key, text string) {
	t.Helper()
	harness.Edit(t, "kubectl-edit", configMaps, ledger, "config", func(o *unstructured.Unstructured) {
		o.Object["data"] = map[string]any{key: text}
	})
}

// editor is an editor that runs one step, of sh with the file as $1, each time it is opened, and keeps what it was opened with. Files of
// edits are made in temp.
type editor struct {
	t            *testing.T
	folder, temp string
}

func newEditor(t *testing.T, steps ...string) editor {
	t.Helper()
	e := editor{t, t.TempDir(), t.TempDir()}
	script := "#!/bin/sh\nset -e\ncd " + e.folder + "\nn=$(ls opened* 2>/dev/null | wc -l)\ncp \"$1\" opened$n\n. ./step$n\n"
	for i, step := range steps {
		e.write("step"+strconv.Itoa(i), step+"\n", 0o600)
	}
	e.write("editor", script, 0o700)
	t.Setenv("KUBE_EDITOR", filepath.Join(e.folder, "editor"))
	t.Setenv("TMPDIR", e.temp)
	return e
}

func (e editor) write(name, text string, mode os.FileMode) {
	e.t.Helper()
	if err := os.WriteFile(filepath.Join(e.folder, name), []byte(text), mode); err != nil {
		e.t.Fatal(err)
	}
}

// opened are the texts with which the editor was opened.
func (e editor) opened() (texts []string) {
	e.t.Helper()
	names, _ := filepath.Glob(filepath.Join(e.folder, "opened*"))
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			e.t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return texts
}

// left are the files that edits have left.
func (e editor) left() []string {
	names, _ := filepath.Glob(filepath.Join(e.temp, "*"))
	return names
}

func edits(t *testing.T, code int) result {
	t.Helper()
	return harness.Run(t.Context(), "config", "edit").Exits(t, code)
}

// An edit is written when it is valid. Until then the editor is opened again, with what is wrong, by the lines of what it shows.
func TestConfigEdit(t *testing.T) {
	configured(t, "# ours", "target: ingress")
	e := newEditor(t, `sed -i 's/target: ingress/target: routes/' "$1"`, `sed -i 's/target: routes/target: httproute/' "$1"`)
	edits(t, 0).Prints(t, "configmap/config configured").Says(t, "error: configmap akash-net/config has 1 error")
	text, _ := settings(t)
	if want := "apiVersion: net.akash.network/v1alpha1\nkind: ProviderConfig\nmetadata: {name: provider}\nspec:\n  # ours\n  target: httproute\n"; text != want {
		t.Errorf("the configuration is %q, want %q", text, want)
	}
	opened := e.opened()
	if len(opened) != 2 || strings.Contains(opened[0], "not valid") {
		t.Fatalf("the editor was opened with %q", opened)
	}
	said := regexp.MustCompile(`# \* line (\d+), column 11: spec\.target: unknown target "routes"`).FindStringSubmatch(opened[1])
	if said == nil {
		t.Fatalf("the editor was opened again with\n%s", opened[1])
	}
	line, _ := strconv.Atoi(said[1])
	if got := strings.Split(opened[1], "\n")[line-1]; got != "  target: routes" {
		t.Errorf("line %d is %q", line, got)
	}
	if left := e.left(); left != nil {
		t.Errorf("files are left: %q", left)
	}
	harness.Run(t.Context(), "config", "view").Exits(t, 0).Prints(t, "target: httproute # configmap akash-net/config:6", "ledgerNamespace: akash-net # default")
}

// What is not to be written is not written: nothing was changed, all was removed, nothing valid was saved, or the editor has failed.
func TestConfigEditCancelled(t *testing.T) {
	configured(t, "target: ingress")
	_, before := settings(t)
	for name, tt := range map[string]struct {
		code  int
		says  string
		files int
		steps []string
	}{
		"nothing changed": {0, "Edit cancelled, no changes made.", 0, []string{":"}},
		"changed back":    {0, "Edit cancelled, no changes made.", 0, []string{`sed -i s/ingress/x/ "$1"`, `sed -i s/x$/ingress/ "$1"`}},
		"empty":           {0, "Edit cancelled, saved file was empty.", 0, []string{`echo '# none' > "$1"`}},
		"never valid":     {1, "Edit cancelled, no valid changes were saved.", 1, []string{`sed -i s/ingress/x/ "$1"`, ":"}},
		"a failure":       {1, "there was a problem with the editor", 0, []string{"exit 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEditor(t, tt.steps...)
			r := edits(t, tt.code).Says(t, tt.says)
			left := e.left()
			if len(left) != tt.files || len(left) > 0 && !strings.Contains(r.Stderr, left[0]) {
				t.Errorf("files %q are left: %s", left, r)
			}
		})
	}
	if _, after := settings(t); after != before {
		t.Error("the ConfigMap was written")
	}
}

// What others write while the editor is open is not lost, and neither is the edit.
func TestConfigEditMeetsAnotherWriter(t *testing.T) {
	configured(t, "target: ingress")
	original, _ := settings(t)
	p := startProxyOf(t, harness.Plane.Config, nil)
	meets := func(write func()) {
		once := false
		p.before = func(request string) {
			if request == "PATCH configmaps/config" && !once {
				once = true
				write()
			}
		}
	}
	e := newEditor(t, `sed -i s/ingress/httproute/ "$1"`)
	theirs := strings.Replace(original, "ingress", "route", 1)
	meets(func() { rewrite(t, "config.yaml", theirs) })
	r := runAs(t.Context(), p.kubeconfig, "config", "edit").Exits(t, 1).Says(t, "configmap akash-net/config has changed since it was opened")
	if text, _ := settings(t); text != theirs {
		t.Errorf("the configuration is\n%s", text)
	}
	left := e.left()
	if len(left) != 1 || !strings.Contains(r.Stderr, left[0]) {
		t.Fatalf("files %q are left: %s", left, r)
	}
	if kept, err := os.ReadFile(left[0]); err != nil || !strings.Contains(string(kept), "target: httproute") {
		t.Errorf("the edit is lost: %q, %v", kept, err)
	}

	// A change of something else is no reason to refuse.
	newEditor(t, `sed -i 's/target: route/target: httproute/' "$1"`)
	meets(func() {
		change(t, configMaps, ledger, "config", func(o *object) { o.SetAnnotations(map[string]string{"example.com/a": "b"}) })
	})
	runAs(t.Context(), p.kubeconfig, "config", "edit").Exits(t, 0).Prints(t, "configmap/config configured")
	if text, _ := settings(t); !strings.Contains(text, "target: httproute") {
		t.Errorf("the configuration is\n%s", text)
	}

	// install replaces what it has shown: what is written meanwhile is shown too.
	meets(func() { rewrite(t, "config.yaml", original) })
	runAs(t.Context(), p.kubeconfig, "install", "--config", configure(t, "target: route")).Exits(t, 0).
		Says(t, "-   target: httproute", "-   target: ingress", "+   target: route").Prints(t, "configmap/config configured")
	if text, _ := settings(t); !strings.Contains(text, "target: route") {
		t.Errorf("the configuration is\n%s", text)
	}
}

// An edit does not take addresses from leases that use them.
func TestConfigEditKeepsAddresses(t *testing.T) {
	subnet := newNet()
	configured(t, "ip: {ranges: ["+subnet+"0/29]}")
	id := leaseOf(newOwner(), 1)
	t.Cleanup(func() { run(context.Background(), "release", id.Group().String()) })
	mustRun(t, 0, "apply", "-f", define(t, id, leased("game", "public", 7001)))
	e := newEditor(t, `sed -i 's#\[.*\]#[203.0.113.0/28]#' "$1"`, `sed -i 's#\[.*\]#["`+subnet+`0/28"]#' "$1"`)
	edits(t, 0)
	if opened := e.opened(); len(opened) != 2 || !strings.Contains(opened[1], "# * "+subnet+"0, used by lease "+id.String()) {
		t.Errorf("the editor was opened with %q", opened)
	}
	if text, _ := settings(t); !strings.Contains(text, subnet+"0/28") {
		t.Errorf("the configuration is\n%s", text)
	}
}

// A configuration does not name another ledger while this one has claims: commands would not see them, and others could take the names.
func TestConfigEditKeepsTheLedger(t *testing.T) {
	configured(t, "target: ingress")
	id, host := leaseOf(newOwner(), 1), newDomain()
	mustRun(t, 0, "reserve", host, "--lease", id.String())
	elsewhere := `sed -i 's/target: ingress/ledgerNamespace: elsewhere/' "$1"`
	newEditor(t, elsewhere, ":")
	_, before := settings(t)
	edits(t, 1).Says(t, "Edit cancelled, no valid changes were saved.")
	if _, now := settings(t); now != before {
		t.Error("the configuration was written")
	}
	mustRun(t, 4, "check", host, "--lease", leaseOf(newOwner(), 1).String())
	mustRun(t, 0, "release", id.String())
}

// A broken configuration stops no way to mend it. Each command says what is wrong, and how it is mended.
func TestBrokenConfiguration(t *testing.T) {
	configured(t, "target: ingress")
	whole, _ := settings(t)
	for name, broken := range map[string]struct{ key, text, says, step string }{
		"an error":          {"config.yaml", strings.Replace(whole, "ingress", "routes", 1), "configmap akash-net/config:5:11: spec.target: ", "sed -i s/routes/route/"},
		"no YAML":           {"config.yaml", "spec: [\n", "configmap akash-net/config:", "printf 'apiVersion: net.akash.network/v1alpha1\\nkind: ProviderConfig\\nspec: {target: route}\\n' >"},
		"another key":       {"config.yml", whole, `configmap akash-net/config: it has no key "config.yaml" in data`, "sed -i 's/target: ingress/target: route/'"},
		"another's version": {"config.yaml", "apiVersion: v2\nkind: ProviderConfig\n", "configmap akash-net/config:1:13: apiVersion: ", "sed -i s#v2#net.akash.network/v1alpha1#"},
	} {
		t.Run(name, func(t *testing.T) {
			rewrite(t, broken.key, broken.text)
			for _, line := range []string{"state", "config view", "config validate", "release --all -y", "uninstall"} {
				harness.Run(t.Context(), strings.Fields(line)...).Exits(t, 3).Says(t, broken.says, "kubectl akash-net config edit", "kubectl akash-net install --config FILE")
			}
			mustRun(t, 0, "install").Prints(t, "configmap/config left (it is there already, and has errors: kubectl akash-net config validate shows them")
			e := newEditor(t, broken.step+` "$1"`)
			edits(t, 0)
			if opened := e.opened(); !strings.Contains(opened[0], "configmap akash-net/config was not valid:\n# * ") {
				t.Errorf("the editor was opened with\n%s", opened[0])
			}
			harness.Run(t.Context(), "config", "validate").Exits(t, 0).Prints(t, "configmap akash-net/config is valid")

			rewrite(t, broken.key, broken.text)
			mustRun(t, 0, "install", "--config", configure(t, "target: httproute")).Prints(t, "configmap/config configured").Says(t, "+   target: httproute")
			mustRun(t, 0, "state")
		})
	}
}
