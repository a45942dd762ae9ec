package workload_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// The Secret is docker's, byte for byte as Akash's provider writes it: without the spaces around user, password and mail, with
// the host as it was sent, and in Go's JSON.
func TestSecretIsDockers(t *testing.T) {
	for name, c := range map[string]struct {
		credentials lease.Credentials
		want        string // with AUTH for the base64 of auth
		auth        string
	}{
		"plain":          {lease.Credentials{Host: "ghcr.io", Username: "bob", Password: "x"}, `{"auths":{"ghcr.io":{"username":"bob","password":"x","auth":"AUTH"}}}`, "bob:x"},
		"with mail":      {lease.Credentials{Host: "ghcr.io", Username: "bob", Password: "x", Email: " a@b\n"}, `{"auths":{"ghcr.io":{"username":"bob","password":"x","email":"a@b","auth":"AUTH"}}}`, "bob:x"},
		"spaces":         {lease.Credentials{Host: " ghcr.io ", Username: "\tbob ", Password: " x y\n", Email: "  "}, `{"auths":{" ghcr.io ":{"username":"bob","password":"x y","auth":"AUTH"}}}`, "bob:x y"},
		"escaped":        {lease.Credentials{Host: "https://ghcr.io/v1/", Username: `b"o`, Password: `<&>\`}, `{"auths":{"https://ghcr.io/v1/":{"username":"b\"o","password":"\u003c\u0026\u003e\\","auth":"AUTH"}}}`, `b"o:<&>\`},
		"a colon":        {lease.Credentials{Host: "h", Username: "a:b", Password: "c:d"}, `{"auths":{"h":{"username":"a:b","password":"c:d","auth":"AUTH"}}}`, "a:b:c:d"},
		"only spaces":    {lease.Credentials{Host: "h", Username: "bob", Password: "  "}, `{"auths":{"h":{"username":"bob","password":"","auth":"AUTH"}}}`, "bob:"},
		"another tongue": {lease.Credentials{Host: "h", Username: "bøb", Password: "påss"}, `{"auths":{"h":{"username":"bøb","password":"påss","auth":"AUTH"}}}`, "bøb:påss"},
	} {
		s := one()
		s.opt.Secrets, s.web().Credentials = true, &c.credentials
		var data string
		if err := json.Unmarshal([]byte(field(t, s.objects(t)["secret/docker-creds-web"], "data/.dockerconfigjson")), &data); err != nil {
			t.Fatal(err)
		}
		got, err := base64.StdEncoding.DecodeString(data)
		want := strings.Replace(c.want, "AUTH", base64.StdEncoding.EncodeToString([]byte(c.auth)), 1)
		if err != nil || string(got) != want {
			t.Errorf("%s:\n%s (%v), want\n%s", name, got, err, want)
		}
		if got := field(t, s.objects(t)["secret/docker-creds-web"], "type"); got != `"kubernetes.io/dockerconfigjson"` {
			t.Errorf("%s: the type is %s", name, got)
		}
	}
}

// What a definition or a configuration leaves out is left out of the objects, and is no empty field.
func TestWhatIsLeftOut(t *testing.T) {
	const policy = "networkpolicy/akash-deployment-restrictions"
	for name, c := range map[string]struct {
		change       func(s *sample)
		object, path string
		want         string
	}{
		"no hash":                           {func(s *sample) { s.def.Hash = "" }, "deployment/web", "metadata/annotations", ""},
		"no hash, of the Manifest":          {func(s *sample) { s.def.Hash = "" }, "manifest/" + one().def.Lease.Namespace(), "metadata/annotations", ""},
		"a Gateway without a namespace":     {func(s *sample) { s.cfg.Target, s.cfg.Gateway.Namespace = config.TargetHTTPRoute, "" }, policy, "spec/ingress/2", ""},
		"a Gateway, and no route to it":     {func(s *sample) { s.cfg.Gateway.Namespace = "gw" }, policy, "spec/ingress/2", ""},
		"a service of OpenShift":            {func(s *sample) { s.def.Services[0].Target = config.TargetRoute }, policy, "spec/ingress/2/from/0/namespaceSelector/matchLabels", `{"policy-group.network.openshift.io/ingress":""}`},
		"no command":                        {func(*sample) {}, "deployment/web", container + "command", ""},
		"empty arguments":                   {func(s *sample) { s.web().Args = []string{"", ""} }, "deployment/web", container + "args", `["",""]`},
		"no volumes":                        {func(s *sample) { s.web().Resources.Volumes = nil }, "deployment/web", amounts + "limits", `{"cpu":"1","memory":"1073741824"}`},
		"no level":                          {func(s *sample) { s.cfg.CommitLevels = config.CommitLevels{} }, "deployment/web", amounts + "requests/memory", `"1073741824"`},
		"a huge level":                      {func(s *sample) { s.cfg.CommitLevels.Memory, s.cfg.CommitLevels.Storage = 1e300, 1e300 }, "deployment/web", amounts + "requests", `{"cpu":"1","ephemeral-storage":"1","memory":"1"}`},
		"a volume on the disk, not mounted": {func(*sample) {}, "deployment/web", pod + "volumes", ""},
		"a mount of a volume on the disk": {func(s *sample) {
			s.web().Params = &lease.Params{Storage: []lease.Mount{{Volume: "default", Path: "/x"}}}
		}, "deployment/web", pod + "volumes", `[{"emptyDir":{"sizeLimit":"1073741824"},"name":"web-default"}]`},
		"a mount that may be written": {func(s *sample) {
			s.web().Params = &lease.Params{Storage: []lease.Mount{{Volume: "default", Path: "/x"}}}
		}, "deployment/web", container + "volumeMounts", `[{"mountPath":"/x","name":"web-default"}]`},
		"cards without a wish for any": {func(s *sample) {
			s.web().Scheduler = &lease.SchedulerParams{GPU: &lease.SchedulerGPU{Vendor: "nvidia", Model: "t4"}}
		}, "deployment/web", amounts + "limits", `{"cpu":"1","ephemeral-storage":"1073741824","memory":"1073741824"}`},
	} {
		s := one()
		s.def.Hash = "h"
		c.change(&s)
		if got := field(t, s.objects(t)[c.object], c.path); got != c.want {
			t.Errorf("%s: %s of %s is %s, want %s", name, c.path, c.object, got, c.want)
		}
	}
}
