package config

import (
	"bytes"
	"encoding/json"
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
					{"example.com", ZoneAccess{Zone: "Z1"}},
					{"dev.example.com", ZoneAccess{Zone: "Z2", Region: "eu-central-1", Secret: SecretRef{"dev", "garden-dev"}}},
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
	want.CommitLevels = CommitLevels{CPU: 2.5, GPU: 1, Memory: 1, Storage: 1.5}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A document that is neither a ProviderConfig nor Akash's provider.yaml is refused: its settings would not be read, and nobody
// would be told.
func TestOtherDocuments(t *testing.T) {
	for text, want := range map[string]string{
		"hosts: {wildcards: true}\nip: {mode: range}\n": `f:1:1: hosts: "hosts" is a key of the spec of a ProviderConfig: put it below "spec:"`,
		"from: akash1\ntarget: route\n":                 `f:2:1: target: "target" is a key of the spec`,
		"foo: bar\n":                                    `this is no provider's configuration`,
		"version: \"2.0\"\nservices: {}\n":              `this is no provider's configuration`,
		"{}\n":                                          "",
		"from: akash1\nchainid: akashnet-2\n":           "",
		"metal-lb-pool: public\n":                       "",
	} {
		cfg, problems, err := Read(strings.NewReader(text), "f")
		if err != nil || (cfg == nil) == (want == "") || want != "" && !strings.Contains(problems.Errors().Error(), want) {
			t.Errorf("%q: %v, %v, want %q", text, problems, err, want)
		}
	}
}

func TestEmptyIsDefault(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "apiVersion: net.akash.network/v1alpha1\nkind: ProviderConfig\n"} {
		cfg, problems, err := Read(strings.NewReader(text), "f")
		if err != nil || len(problems) > 0 {
			t.Fatal(err, problems)
		}
		if diff := cmp.Diff(Default(), cfg); diff != "" {
			t.Errorf("%q:\n%s", text, diff)
		}
	}
}

func TestProblems(t *testing.T) {
	for spec, want := range map[string]string{
		"target: ingres":   `f:3:16: spec.target: unknown target "ingres"; ingress, httproute and route are known`,
		"targets: ingress": `f:3:8: spec.targets: unknown key "targets"; did you mean "target"?`,
		"provider: akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6z0": "its checksum is wrong",
		"manifestNamespace: A":                                                       `"A" is not the name of a namespace`,
		"ingress: {staticHosts: true}":                                               "static hosts need ingress.domain",
		"ingress: {domain: '*.foo.com'}":                                             `"*.foo.com" is not a domain`,
		"ingress: {domain: foo.bar.com-}":                                            "is not a domain",
		"ingress: {domain: foo.ba!!!r.com}":                                          "is not a domain",
		"gateway: {implementation: standart}":                                        `unknown implementation "standart"; akash, nginx-gateway-fabric and standard are known; did you mean "standard"?`,
		"gateway: {listeners: {http: [a, a]}}":                                       `gateway.listeners.http[1]: the listener "a" is named twice`,
		"gateway: {listeners: {http: web}}":                                          `expected a list, found the text "web"`,
		"gateway: {listeners: {tls: [a]}}":                                           `unknown key "tls"`,
		"gateway: {listeners: {https: [A b]}}":                                       `"A b" is not a name`,
		`hosts: {generated: "${service}"}`:                                           "has one label only",
		`hosts: {generated: "${name}.example.com"}`:                                  `unknown variable "${name}"`,
		"gateway: {proxyBufferSize: big}":                                            `"big" is not a buffer size`,
		"hosts: {blocked: ['*.x.com']}":                                              "blocks nothing",
		"hosts: {wildcards: maybe}":                                                  `expected true or false, found the text "maybe"`,
		"ip: {mode: ranges}":                                                         `unknown mode "ranges"; range, dedicated and pool are known`,
		"ip: {families: [IPv5]}":                                                     `unknown family "IPv5"; IPv4 and IPv6 are known`,
		"ip: {families: []}":                                                         "no family is named",
		"ip: {annotationPrefix: metallb}":                                            "metallb.universe.tf and metallb.io are known",
		"ip: {ranges: [203.0.113.1/28]}":                                             "has host bits set",
		"ip: {ranges: [203.0.113.0/28, 203.0.113.15]}":                               "203.0.113.15 overlaps with 203.0.113.0/28",
		"ip: {ranges: [203.0.113.9-203.0.113.1]}":                                    "ends before it begins",
		"dns: {server: x}":                                                           `unknown key "server"`,
		"commitLevels: {cpu: 0}":                                                     "greater than 0",
		"commitLevels: {cpu: much}":                                                  `expected a number, found the text "much"`,
		"target: ingress, target: httproute":                                         `key "target" is given twice`,
		"hosts: {deniedDomains: ['*.x.com']}":                                        `"*.x.com" is not a domain`,
		"hosts: {allowedDomains: [x.com.]}":                                          `"x.com." is not a domain`,
		"shards: [{selector: a=b}]":                                                  `spec.shards[0]: "name" is missing`,
		"shards: [{name: A}]":                                                        `"A" is not a name`,
		"shards: [{name: a, selector: 'a b'}]":                                       "spec.shards[0].selector: not a label selector: ",
		"shards: [{name: a, namespaceSelector: 'a in'}]":                             "spec.shards[0].namespaceSelector: not a label selector: ",
		"shards: [{name: a}, {name: a}]":                                             `a shard named "a" was given before`,
		"dns: {form: route53}":                                                       `unknown form of DNS records "route53"; none, gardener, endpoint and annotations are known`,
		"dns: {form: gardener}":                                                      "needs gardener.type",
		"dns: {form: gardener, gardener: {type: aws}}":                               "needs gardener.secretRef",
		"dns: {gardener: {secretRef: {name: a}}}":                                    `"namespace" is missing`,
		"dns: {gardener: {region: ' x'}}":                                            "is not an identifier",
		"dns: {gardener: {zones: [{domain: a.b}]}}":                                  `"zone" is missing`,
		"dns: {gardener: {zones: [{domain: a.b., zone: z}]}}":                        `"a.b." is not a domain`,
		"dns: {gardener: {zones: [{domain: a.b, zone: z}, {domain: a.b, zone: y}]}}": "has two zones",
		"dns: {gardener: {zones: [{domain: '', zone: z}]}}":                          "f:3:42: spec.dns.gardener.zones[0].domain: the domain is empty",
		"dns: {gardener: {zones: [{domain: a.b, zone: ''}]}}":                        "f:3:53: spec.dns.gardener.zones[0].zone: the identifier is empty",
		"dns: {gardener: {zones: [{domain: a.7, zone: z}]}}":                         `"a.7" ends in a number`,
		"ingress: {domain: 10.0.0.256}":                                              `"10.0.0.256" ends in a number`,
		"dns: {targets: [10.0.0.1, 10.0.0.256]}":                                     `f:3:34: spec.dns.targets[1]: "10.0.0.256" ends in a number, and is not an address`,
		"dns: {targets: [10.0.0.256]}":                                               `f:3:24: spec.dns.targets[0]: "10.0.0.256" ends in a number, and is not an address`,
		"dns: {sources: [dns]}":                                                      `unknown source "dns"; address, status, target, domain are known`,
		"dns: {sources: []}":                                                         "no source is named",
		"dns: {sources: [address]}":                                                  "add another after address",
		"dns: {sources: [address, address]}":                                         "is named twice",
		"dns: {sources: [target]}":                                                   "needs dns.targets",
		"dns: {sources: [domain]}":                                                   "needs ingress.domain",
		"dns: {sources: [status, address]}":                                          "the source address is never used",
		"dns: {targets: [lb.x.com], sources: [status]}":                              "add the source target",
		"dns: {targets: [192.0.2.1, lb.x.com]}":                                      "one host name alone",
		"dns: {targets: [lb]}":                                                       "one label",
		"dns: {ttl: -1}":                                                             "a TTL in seconds",
		"dns: {ttl: 2147483648}":                                                     "a TTL in seconds",
		"dns: {form: annotations, ownership: true}":                                  "external-dns writes its own",
		"dns: {annotationPrefix: example.com}":                                       "unknown annotation prefix",
	} {
		text := "apiVersion: net.akash.network/v1alpha1\nkind: ProviderConfig\nspec: {" + spec + "}\n"
		cfg, problems, err := Read(strings.NewReader(text), "f")
		if err != nil || cfg != nil || !strings.Contains(problems.Error(), want) {
			t.Errorf("%s: %v, problems %q, want %q", spec, err, problems.Error(), want)
		}
	}
	for text, want := range map[string]string{
		"spec: {}\n": `"apiVersion" is missing`, "apiVersion: v1\nkind: ConfigMap\n": `unsupported kind "ConfigMap"`,
		"a: 1\n---\nb: 2\n": "f:3:1: a second document", "- a\n": "expected a mapping, found a list",
		"deployment-ingress-static-hosts: true\n": "static hosts need deployment-ingress-domain",
		"ingress-mode: traefik\n":                 "ingress and gateway-api are known",
	} {
		if _, problems, _ := Read(strings.NewReader(text), "f"); !strings.Contains(problems.Error(), want) {
			t.Errorf("%q: problems %q, want %q", text, problems.Error(), want)
		}
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

// TestBlockedBy has Akash's cases, and the one where we differ: entries match in any case.
func TestBlockedBy(t *testing.T) {
	for _, c := range []struct {
		name, host string
		blocked    []string
		want       string
	}{
		{"HS-1", "foobar.com", []string{"foobar.com", "bobsdefi.com"}, "foobar.com"},
		{"HS-1 other", "other.org", []string{"foobar.com", "bobsdefi.com"}, ""},
		{"HS-2", "accounts.bobsdefi.com", []string{"foobar.com", ".bobsdefi.com"}, ".bobsdefi.com"},
		{"HS-3", "bobsdefi.com", []string{".bobsdefi.com"}, ".bobsdefi.com"},
		{"HS-4", "accounts.bobsdefi.com", []string{"bobsdefi.com"}, ""},
		{"HS-5", "xbobsdefi.com", []string{".bobsdefi.com"}, ""},
		{"HS-6", "FOOBAR.com", []string{"foobar.com"}, "foobar.com"},
		{"HS-7, but matching", "foobar.com", []string{"FOOBAR.com"}, "FOOBAR.com"},
		{"exact first", "a.x.com", []string{".x.com", "a.x.com"}, "a.x.com"},
		{"a dot", "x.com", []string{".", ""}, ""},
	} {
		if got, ok := (Hosts{Blocked: c.blocked}).BlockedBy(c.host); got != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q %v, want %q", c.name, got, ok, c.want)
		}
	}
}

type schema struct {
	Properties map[string]*schema `json:"properties"`
	Items      *schema            `json:"items"`
	Defs       map[string]*schema `json:"$defs"`
}

// TestSchemaNamesTheReadersKeys holds the published schema against the reader.
func TestSchemaNamesTheReadersKeys(t *testing.T) {
	data, err := os.ReadFile("../../manifests/providerconfig.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var root schema
	if err := json.Unmarshal(data, &root); err != nil {
		t.Fatal(err)
	}
	spec := root.Properties["spec"]
	for name, c := range map[string]struct {
		schema *schema
		keys   []string
	}{
		"root": {&root, rootKeys}, "metadata": {root.Properties["metadata"], metadataKeys}, "spec": {spec, specKeys},
		"ingress": {spec.Properties["ingress"], ingressKeys}, "gateway": {spec.Properties["gateway"], gatewayKeys},
		"listeners": {spec.Properties["gateway"].Properties["listeners"], listenerKeys},
		"hosts":     {spec.Properties["hosts"], hostsKeys}, "ip": {spec.Properties["ip"], ipKeys},
		"shards": {spec.Properties["shards"].Items, shardKeys},
		"dns":    {spec.Properties["dns"], dnsKeys}, "dns.gardener": {spec.Properties["dns"].Properties["gardener"], gardenerKeys},
		"zone": {root.Defs["zone"], zoneKeys}, "secretRef": {root.Defs["secretRef"], secretKeys}, "commitLevels": {spec.Properties["commitLevels"], commitKeys}, "workloads": {spec.Properties["workloads"], workloadKeys},
		"limits": {spec.Properties["limits"], limitKeys}, "ip.advertisement": {spec.Properties["ip"].Properties["advertisement"], advertisementKeys},
		"labelSelector":    {root.Defs["labelSelector"], selectorKeys},
		"matchExpressions": {root.Defs["labelSelector"].Properties["matchExpressions"].Items, expressionKeys},
	} {
		for key := range c.schema.Properties {
			if !slices.Contains(c.keys, key) {
				t.Errorf("%s: the schema has %q, the reader refuses it", name, key)
			}
		}
		for _, key := range c.keys {
			if c.schema.Properties[key] == nil {
				t.Errorf("%s: the reader takes %q, the schema has it not", name, key)
			}
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
