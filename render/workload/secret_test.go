package workload_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
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
