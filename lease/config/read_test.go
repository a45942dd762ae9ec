package config

import (
	"bytes"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/akash-net/kubectl-akash-net/lease/emit"
)

func readFile(t *testing.T, name string) *ProviderConfig {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	cfg, problems, err := Read(bytes.NewReader(data), name)
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	return cfg
}

func TestReadFull(t *testing.T) {
	got := readFile(t, "testdata/full.yaml")
	want := &ProviderConfig{
		Target: TargetHTTPRoute, Provider: "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0", ManifestNamespace: "manifests", LedgerNamespace: "ledger",
		Ingress: Ingress{ClassName: "nginx", Domain: "ingress.example.com", StaticHosts: true},
		Gateway: Gateway{Name: "gw", Namespace: "gw-system", Implementation: GatewayNGF, Listeners: Listeners{
			HTTP: []string{"web"}, HTTPS: Default().Gateway.Listeners.HTTPS, Passthrough: []string{"tls", "tls-2"},
		}},
		Hosts: Hosts{
			Blocked: []string{"example.org", ".Example.net"}, DeniedDomains: []string{"bad.example"},
			AllowedDomains: []string{"good.example"}, Wildcards: true, Generated: "${service}-${dseq}.apps.example.com",
		},
		IP: IP{
			Mode: ModeDedicated, Families: []Family{IPv6, IPv4}, Pool: "public", MetalLBNamespace: "metallb", AnnotationPrefix: "metallb.io",
			Advertisement: Advertisement{
				Type: AdvertiseBGP, Peers: []string{"tor-a"}, Communities: []string{"64500:100", "large:64500:1:2"}, LocalPref: 200,
				NodeSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"rack": "a"}, MatchExpressions: []metav1.LabelSelectorRequirement{
					{Key: "zone", Operator: "NotIn", Values: []string{"b", "c"}},
				}}, {}},
				AggregationLength: 32, AggregationLengthV6: 128,
			},
		},
		DNS: DNS{
			Form: DNSGardener, Sources: []string{FromAddress, FromDomain}, TTL: 300, Ownership: true, AnnotationPrefix: "external-dns.kubernetes.io",
			Gardener: Gardener{
				Type: "aws-route53", Class: "garden",
				ZoneAccess: ZoneAccess{Secret: SecretRef{"dns", "garden"}, Region: "eu-west-1", Zone: "Z0"},
				Zones: []Zone{
					{Domain: "example.com", Zone: "Z1"},
					{Domain: "dev.example.com", Zone: "Z2", Region: "eu-central-1", Secret: SecretRef{"dev", "garden-dev"}},
				},
			},
		},
		CommitLevels: CommitLevels{CPU: 2, GPU: 1.5, Memory: 1.5, Storage: 1},
		Workloads: Workloads{
			Enabled: true, StrictNetworkPolicies: true, NetworkPolicies: true, PublicHostname: "provider.example.net", ImagePullSecret: "regcred",
			APIServers: []netip.AddrPort{netip.MustParseAddrPort("10.1.0.10:6443"), netip.MustParseAddrPort("[fd00::12]:443")},
			NodePorts:  PortRange{31000, 31999},
		},
		Limits: Limits{DocumentSize: 1 << 20, InputSize: 64 << 20, Services: 10, Hosts: 20, Ports: 30},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(IP{}, "Ranges"), cmpopts.IgnoreFields(ProviderConfig{}, "Shards"), cmpopts.EquateComparable(netip.AddrPort{})); diff != "" {
		t.Error(diff)
	}
	if n, x := len(got.IP.Ranges.Include), len(got.IP.Ranges.Exclude); n != 3 || x != 1 {
		t.Errorf("%d ranges, %d excluded; want 3 and 1", n, x)
	}
	if _, ok := got.IP.Ranges.Find(netip.MustParseAddr("203.0.113.3")); ok {
		t.Error("an excluded address is leased")
	}
}

func TestShards(t *testing.T) {
	shards := readFile(t, "testdata/full.yaml").Shards
	if len(shards) != 2 || shards[0].Name != "public" || shards[1].Name != "all" {
		t.Fatalf("shards %v; want public and all", shards)
	}
	of := labels.Set{"akash.network": "true"}
	for _, c := range []struct {
		route, namespace labels.Set
		public           bool
	}{
		{labels.Set{"tier": "web"}, of, true}, {labels.Set{"tier": "web"}, nil, false}, {labels.Set{"tier": "db"}, of, false}, {nil, of, false},
	} {
		if got := shards[0].Selects(c.route, c.namespace); got != c.public || !shards[1].Selects(c.route, c.namespace) {
			t.Errorf("route %v, namespace %v: in shard public %t, want %t, and in the one without selectors", c.route, c.namespace, got, c.public)
		}
	}
}

func TestReadProvider(t *testing.T) {
	got := readFile(t, "testdata/provider.yaml")
	want := Default()
	want.Target, want.ManifestNamespace = TargetHTTPRoute, "manifests"
	want.Ingress.Domain, want.Ingress.StaticHosts = "ingress.example.com", true
	want.Gateway.Name, want.Gateway.Namespace, want.Gateway.ProxyBufferSize = "gw", "gw-system", "32k"
	want.Hosts.Blocked = []string{"foo.example", ".bar.example", "baz.example"}
	want.IP.Mode, want.IP.Pool = ModePool, "public"
	want.Workloads.PublicHostname = "provider.example.com" // of the chart's domain
	want.CommitLevels = CommitLevels{CPU: 2.5, GPU: 1, Memory: 1, Storage: 1.5}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What is not said is as Akash's provider has it: testdata/default.yaml is all of it, as config print writes it.
func TestDefault(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "apiVersion: net.akash.network/v1alpha1\nkind: ProviderConfig\n"} {
		cfg, problems, err := Read(strings.NewReader(text), "f")
		if err != nil || len(problems) > 0 {
			t.Fatal(err, problems)
		}
		if diff := cmp.Diff(Default(), cfg); diff != "" {
			t.Errorf("%q:\n%s", text, diff)
		}
	}
	var got bytes.Buffer
	if err := emit.WriteYAML(&got, Encode(Default())); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/default.yaml")
	if diff := cmp.Diff(string(want), got.String()); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// The longest zone of a name counts; what a zone leaves out is as for all.
func TestZoneAccess(t *testing.T) {
	g := readFile(t, "testdata/full.yaml").DNS.Gardener
	for name, want := range map[string]ZoneAccess{
		"shop.example.org":     {Secret: SecretRef{"dns", "garden"}, Region: "eu-west-1", Zone: "Z0"},
		"shop.example.com":     {Secret: SecretRef{"dns", "garden"}, Region: "eu-west-1", Zone: "Z1"},
		"dev.example.com":      {Secret: SecretRef{"dev", "garden-dev"}, Region: "eu-central-1", Zone: "Z2"},
		"shop.dev.example.com": {Secret: SecretRef{"dev", "garden-dev"}, Region: "eu-central-1", Zone: "Z2"},
		"shopdev.example.com":  {Secret: SecretRef{"dns", "garden"}, Region: "eu-west-1", Zone: "Z1"},
	} {
		if got := g.Access(name); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

func TestSource(t *testing.T) {
	for _, c := range []struct {
		sources        []string
		routed, leased bool
		want           string
	}{
		{[]string{FromAddress, FromStatus}, true, true, FromAddress},
		{[]string{FromAddress, FromStatus}, true, false, FromStatus},
		{[]string{FromStatus}, true, true, FromStatus},
		{[]string{FromTarget}, false, true, FromAddress},
		{[]string{FromTarget}, false, false, ""},
	} {
		if got := (DNS{Sources: c.sources}).Source(c.routed, c.leased); got != c.want {
			t.Errorf("%v, routed %v, leased %v: got %q, want %q", c.sources, c.routed, c.leased, got, c.want)
		}
	}
}

func FuzzConfig(f *testing.F) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg, problems, err := Read(bytes.NewReader(data), "f")
		if err != nil || (cfg == nil) != problems.Failed() {
			t.Fatalf("configuration %v with problems %v, error %v", cfg, problems, err)
		}
		if cfg == nil {
			return
		}
		for i, r := range cfg.IP.Ranges.Include {
			if slices.ContainsFunc(cfg.IP.Ranges.Include[:i], r.Overlaps) {
				t.Errorf("%s overlaps", r.Text)
			}
		}
		if cfg.Ingress.StaticHosts && cfg.Ingress.Domain == "" {
			t.Error("static hosts without a domain")
		}
		if d := cfg.DNS; d.Source(true, false) == "" || d.Form == DNSGardener && (d.Gardener.Type == "" || d.Gardener.Secret == (SecretRef{})) {
			t.Errorf("DNS records without what they need: %+v", d)
		}
	})
}
