package lease_test

import (
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// The leases are real ones: their namespaces were seen in Akash's public issues.
const (
	lease1 = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/8438017/1/1/akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"
	lease2 = "akash1n44zc8l6gfm0hpydldndpg8n05xjjwmuahc6nn/5905802/1/1/akash1yvu4hhnvs84v4sv53mzu5ntf7fxf4cfup9s22j"
	lease3 = "akash15745vczur53teyxl4k05u250tfvp0lvdcfqx27/5950031/1/1/akash1xmz9es9ay9ln9x2m3q8dlu0alxf0ltce7ykjfx"
	lease4 = "akash1cduzr54kdle453lzt28nxnf99ed4tue8l97lvy/2914783/1/1/akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"
)

func mustID(t *testing.T, s string) lease.ID {
	t.Helper()
	id, err := lease.ParseID(s)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestNamespace(t *testing.T) {
	for text, want := range map[string]string{
		lease1: "5reb3l87s85t50v77sosktvdeeg6pfbnlboigoprqv3d4",
		lease2: "moc58fca3ccllfrqe49jipp802knon0cslo332qge55qk",
		lease3: "h644k9qp92e0qeakjsjkk8f3piivkuhgc6baon9tccuqo",
	} {
		if got := mustID(t, text).Namespace(); got != want {
			t.Errorf("namespace of %s: got %s, want %s", text, got, want)
		}
	}
}

func TestStaticHost(t *testing.T) {
	for _, c := range []struct{ id, service, want string }{
		{lease4, "web", "t6pi8llrvl8rf1d57ks8u1goh8.ingress.example.com"},
		{lease1, "web", "52g6tdd021elj213gosn5e7htc.ingress.example.com"},
		{lease1, "api", "4ssnsjad29bivbnoe8mjisfpa0.ingress.example.com"},
	} {
		if got := mustID(t, c.id).StaticHost(c.service, "ingress.example.com"); got != c.want {
			t.Errorf("static host of %s in %s: got %s, want %s", c.service, c.id, got, c.want)
		}
	}
}

// IP-6, IP-7 and IP-8 of Akash's provider (cluster/util/ip_sharing_key_test.go) are among them.
func TestSharingKey(t *testing.T) {
	const owner = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h"
	for endpoint, want := range map[string]string{
		"foobar": owner + "-ip-foobar",
		"meYOU":  owner + "-ip-ps9pn7rkocct7m9ivtovuktb",
		"my_ip":  owner + "-ip-m9fo0a1emsme20vtunjnvqbp",
		"a-1-":   owner + "-ip-a-1-",
	} {
		if got := lease.SharingKey(owner, endpoint); got != want {
			t.Errorf("sharing key of %q: got %s, want %s", endpoint, got, want)
		}
	}
}

func TestPortNames(t *testing.T) {
	key := lease.SharingKey("akash1owner", "meow")
	if got, want := lease.LeasedIPName(key, lease.UDP, 53), "akash1owner-ip-meow-udp-53"; got != want {
		t.Errorf("ProviderLeasedIP: got %s, want %s", got, want)
	}
	if got, want := lease.IPServiceName("web", 80, lease.TCP), "web-ip-80-tcp"; got != want {
		t.Errorf("Service: got %s, want %s", got, want)
	}
}

func TestLabels(t *testing.T) {
	id := mustID(t, lease1)
	labels := id.Labels()
	if len(labels) != 6 || labels["akash.network"] != "true" || labels["akash.network/lease.id.dseq"] != "8438017" {
		t.Errorf("labels are %v", labels)
	}
	if back, ok := lease.IDFromLabels(labels); !ok || back != id {
		t.Errorf("read back from the labels: %v, %v", back, ok)
	}
	for _, name := range []string{
		lease.LabelOwner, lease.LabelDSeq, lease.LabelGSeq, lease.LabelOSeq, lease.LabelProvider,
	} {
		labels := id.Labels()
		delete(labels, name)
		if back, ok := lease.IDFromLabels(labels); ok {
			t.Errorf("without %s the labels still say %v", name, back)
		}
	}
}

// A route's name says which host and path it serves; no two share one.
func TestRouteNames(t *testing.T) {
	seen := map[string]bool{}
	for _, host := range []string{"shop.example.com", "*.example.com"} {
		for _, path := range []string{"", "/v1", "/v2"} {
			name := lease.RouteName(host, path)
			for _, n := range []string{name, lease.RedirectName(name)} {
				if seen[n] {
					t.Errorf("two routes are named %s", n)
				}
				seen[n] = true
				gotHost, hash, redirect := lease.ParseRouteName(n)
				if gotHost != host || hash != lease.PathHash(path) || redirect != (n != name) {
					t.Errorf("%s says %s %s %v", n, gotHost, hash, redirect)
				}
				if n != host && lease.CheckHost(n) == nil {
					t.Errorf("%s is a host name too", n)
				}
			}
		}
	}
}

func TestParseLeasedIPName(t *testing.T) {
	for _, key := range []string{"akash1owner-ip-meow", "akash1owner-ip-a-tcp-1", "a"} {
		for _, protocol := range []lease.Protocol{lease.TCP, lease.UDP} {
			gotKey, gotProtocol, port, ok := lease.ParseLeasedIPName(lease.LeasedIPName(key, protocol, 53))
			if !ok || gotKey != key || gotProtocol != protocol || port != 53 {
				t.Errorf("%s %s: got %q, %s, %d, %v", key, protocol, gotKey, gotProtocol, port, ok)
			}
		}
	}
	for _, name := range []string{"", "a", "a-53", "a-tcp", "a-tcp-053", "a-tcp-65536", "a-sctp-53", "a-TCP-53", "-53"} {
		if key, _, _, ok := lease.ParseLeasedIPName(name); ok {
			t.Errorf("%q was read as of %q", name, key)
		}
	}
}
