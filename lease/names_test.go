package lease_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// lease1 and the others are real: their namespaces were seen in Akash's public issues.
const (
	owner1 = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h"
	lease1 = owner1 + "/8438017/1/1/akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"
)

func mustID(t *testing.T, s string) lease.ID {
	t.Helper()
	id, err := lease.ParseID(s)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// The names are those of Akash's provider; IP-6, IP-7 and IP-8 of its cluster/util/ip_sharing_key_test.go are among them.
func TestNamesThatAreMade(t *testing.T) {
	t.Parallel()
	id, key := mustID(t, lease1), lease.SharingKey("akash1owner", "meow")
	order, longest := id.Order(), lease.Order{Owner: "akash1" + strings.Repeat("q", 57), DSeq: 1<<64 - 1, GSeq: 1<<32 - 1, OSeq: 1<<32 - 1}
	for _, c := range [][2]string{
		{id.Namespace(), "5reb3l87s85t50v77sosktvdeeg6pfbnlboigoprqv3d4"},
		{mustID(t, "akash1n44zc8l6gfm0hpydldndpg8n05xjjwmuahc6nn/5905802/1/1/akash1yvu4hhnvs84v4sv53mzu5ntf7fxf4cfup9s22j").Namespace(), "moc58fca3ccllfrqe49jipp802knon0cslo332qge55qk"},
		{id.StaticHost("web", "ingress.example.com"), "52g6tdd021elj213gosn5e7htc.ingress.example.com"},
		{id.StaticHost("api", "ingress.example.com"), "4ssnsjad29bivbnoe8mjisfpa0.ingress.example.com"},
		{lease.SharingKey(owner1, "foobar"), owner1 + "-ip-foobar"},
		{lease.SharingKey(owner1, "meYOU"), owner1 + "-ip-ps9pn7rkocct7m9ivtovuktb"},
		{lease.SharingKey(owner1, "my_ip"), owner1 + "-ip-m9fo0a1emsme20vtunjnvqbp"},
		{lease.SharingKey(owner1, "a-1-"), owner1 + "-ip-a-1-"},
		{lease.LeasedIPName(key, lease.UDP, 53), "akash1owner-ip-meow-udp-53"},
		{lease.IPServiceName("web", 80, lease.TCP), "web-ip-80-tcp"},
		{order.String(), owner1 + "/8438017/1/1"},
		{order.FieldManager(), "akash-net/" + owner1 + "/8438017/1/1"},
		{order.Group().FieldManager(), "akash-net/" + owner1 + "/8438017/1"},
		{strconv.Itoa(len(longest.FieldManager())), "116"}, // at most 128
		{lease.HostPath("a.b", "") + lease.HostPath("a.b", "/") + lease.HostPath("a.b", "/c"), "a.ba.ba.b/c"},
		{lease.Count(0, "lease") + lease.Count(1, "address") + lease.Count(2, "address"), "0 leases1 address2 addresses"},
	} {
		if c[0] != c[1] {
			t.Errorf("got %s, want %s", c[0], c[1])
		}
	}
	if order.Compare(longest) >= 0 || longest.Compare(order) <= 0 || order.Compare(order) != 0 {
		t.Error("orders are not in order")
	}
}

func TestLabels(t *testing.T) {
	t.Parallel()
	id := mustID(t, lease1)
	labels := id.Labels()
	if len(labels) != 6 || labels["akash.network"] != "true" || labels["akash.network/lease.id.dseq"] != "8438017" {
		t.Errorf("labels are %v", labels)
	}
	if back, ok := lease.IDFromLabels(labels); !ok || back != id {
		t.Errorf("read back from the labels: %v, %v", back, ok)
	}
	for _, name := range []string{lease.LabelOwner, lease.LabelDSeq, lease.LabelGSeq, lease.LabelOSeq, lease.LabelProvider} {
		labels := id.Labels()
		delete(labels, name)
		if back, ok := lease.IDFromLabels(labels); ok {
			t.Errorf("without %s the labels still say %v", name, back)
		}
	}
}

// A route's name says which host and path it serves; no two share one, and it is nobody's host.
func TestRouteNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, host := range []string{"shop.example.com", "*.example.com"} {
		for _, path := range []string{"", "/v1", "/v2"} {
			name := lease.RouteName(host, path)
			for _, n := range []string{name, lease.RedirectName(name)} {
				gotHost, hash, redirect := lease.ParseRouteName(n)
				if seen[n] || gotHost != host || hash != lease.PathHash(path) || redirect != (n != name) || n != host && lease.CheckHost(n) == nil {
					t.Errorf("%s says %s %s %v", n, gotHost, hash, redirect)
				}
				seen[n] = true
			}
		}
	}
}

func TestParseLeasedIPName(t *testing.T) {
	t.Parallel()
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

// FuzzPath compares with the rules of the targets: OpenShift's, the Gateway API's and Kubernetes' for a prefix, and the
// characters that ingress-nginx takes.
func FuzzPath(f *testing.F) {
	for _, path := range []string{"/", "/v1.0", "/.well-known/a_b", "/...", "", "*", "//", "/a/", "/a//b", "/a b", "/ä", "/.", "/..", "/a/../b", "/a/./b", "/" + strings.Repeat("a", 1024)} {
		f.Add(path)
	}
	characters := regexp.MustCompile(`\A/[-A-Za-z0-9_./]*\z`)
	f.Fuzz(func(t *testing.T, path string) {
		err := lease.CheckPath(path)
		refused := !characters.MatchString(path) || len(path) > 1024 || strings.Contains(path, "//") || strings.Contains(path, "/./") ||
			strings.Contains(path, "/../") || strings.HasSuffix(path, "/.") || strings.HasSuffix(path, "/..") || len(path) > 1 && strings.HasSuffix(path, "/")
		if (err != nil) != refused {
			t.Errorf("%q: %v", path, err)
		}
		if name := lease.RouteName("shop.example.com", path); err == nil && len(validation.IsDNS1123Subdomain(name)) > 0 {
			t.Errorf("the route of %q would be named %q", path, name)
		}
	})
}

// A host that is accepted is one by the rule of Akash's parser and the API server.
func TestHostsAreKubernetesNames(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		if host := rapid.StringMatching(`[a-zA-Z0-9._*-]{0,12}`).Draw(t, "host"); lease.CheckHost(host) == nil && len(validation.IsDNS1123Subdomain(host)) > 0 {
			t.Fatalf("%q is accepted", host)
		}
	})
}
