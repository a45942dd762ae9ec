package config

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/dns"
	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/lease/hosttemplate"
	"github.com/akash-net/kubectl-akash-net/lease/lazy"
)

// Read reads the provider's configuration: one ProviderConfig document, or Akash's provider.yaml, which has neither
// apiVersion nor kind. It returns nil as the configuration if the problems contain errors, and the default
// configuration for an empty stream. The error is that of the reader.
func Read(r io.Reader, file string) (*ProviderConfig, lease.Problems, error) {
	cfg := Default()
	var problems lease.Problems
	count := 0
	for doc, err := range document.Read(r, file) {
		if err != nil {
			return nil, problems, fmt.Errorf("%s: %w", file, err)
		}
		count++
		root := doc.Root()
		switch {
		case doc.Problems.Failed():
		case count > 1:
			root.Errorf("a second document; the configuration is one")
		case root.IsMapping() && !root.Has("apiVersion") && !root.Has("kind") && !root.Has("spec"):
			readProvider(root, cfg)
		default:
			readConfig(root, cfg)
		}
		problems = append(problems, doc.Problems.Sorted()...)
	}
	if problems.Failed() {
		return nil, problems, nil
	}
	return cfg, problems, nil
}

func readConfig(c document.Cursor, cfg *ProviderConfig) {
	c.Document().Strict = true
	document.Decode(c, &Document{Spec: cfg}, rules)
	check(c.Get("spec"), cfg)
}

// rules are what texts of a configuration must be.
var rules = document.Rules{
	"apiVersion": only("apiVersion", "net.akash.network/v1alpha1"), "kind": only("kind", "ProviderConfig"),
	"wallet": lease.CheckWallet, "namespace": namespace, "name": subdomain, "hostDomain": hostDomain, "publicName": publicName,
	"identifier": identifier, "template": hosttemplate.Check, "buffer": buffer, "blocked": blocked, "apiServer": apiServer,
	"level": level, "interface": networkInterface, "community": community,
	"domain": func(s string) error { return domain(strings.TrimPrefix(strings.ToLower(s), ".")) },
}

func only(key, value string) func(string) error {
	return func(s string) error {
		if s != value {
			return fmt.Errorf("unsupported %s %q; use %s", key, s, value)
		}
		return nil
	}
}

// check validates what of a configuration must fit together.
func check(spec document.Cursor, cfg *ProviderConfig) {
	needDomain(spec.Get("ingress").Get("staticHosts"), cfg.Ingress, "ingress.domain")
	for _, list := range []*[]string{&cfg.Hosts.DeniedDomains, &cfg.Hosts.AllowedDomains} {
		for i, d := range *list { // like the entries of Akash's blocklist, they may have a leading dot
			(*list)[i] = strings.TrimPrefix(strings.ToLower(d), ".")
		}
	}
	if families := spec.Get("ip").Get("families"); families.IsList() && families.Len() == 0 {
		families.Errorf("no family is named; leave families out for %s", IPv4)
	}
	checkAdvertisement(spec.Get("ip").Get("advertisement"), &cfg.IP)
	checkDNS(spec.Get("dns"), cfg)
	w := &cfg.Workloads
	if w.StrictNetworkPolicies && !w.NetworkPolicies {
		spec.Get("workloads").Get("strictNetworkPolicies").Errorf("there are no network policies that could be strict; set networkPolicies to true")
	}
	for i, a := range w.APIServers {
		w.APIServers[i] = netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
	}
}

// needDomain applies Akash's rule that static hosts require an ingress domain.
func needDomain(c document.Cursor, ingress Ingress, key string) {
	if ingress.StaticHosts && ingress.Domain == "" {
		c.Errorf("static hosts need %s, a domain below which they are made", key)
	}
}

func blocked(s string) error {
	if err := domain(strings.ToLower(strings.TrimPrefix(s, "."))); err != nil {
		return fmt.Errorf("%q blocks nothing: it is not a host name, nor one with a leading dot", s)
	}
	return nil
}

func level(s string) error {
	if f, err := strconv.ParseFloat(s, 64); err != nil || f <= 0 {
		return errors.New("must be greater than 0 (1.0 means no overcommit)")
	}
	return nil
}

func apiServer(s string) error {
	if a, err := netip.ParseAddrPort(s); err != nil || a.Port() == 0 || a.Addr().Zone() != "" {
		return fmt.Errorf("%q is not an address with a port, such as 10.1.0.10:6443 or [fd00::12]:443", s)
	}
	return nil
}

func namespace(s string) error {
	if problems := validation.IsDNS1123Label(s); len(problems) > 0 {
		return fmt.Errorf("%q is not the name of a namespace: %s", s, problems[0])
	}
	return nil
}

func subdomain(s string) error {
	if problems := validation.IsDNS1123Subdomain(s); len(problems) > 0 {
		return fmt.Errorf("%q is not a name: %s", s, problems[0])
	}
	return nil
}

// domain validates a domain: Akash's rule for the ingress domain, with labels of at most 63 characters.
func domain(s string) error {
	if !lease.IsHostName(s) {
		return fmt.Errorf("%q is not a domain (lower-case letters, digits and \"-\" in labels joined by \".\")", s)
	}
	return nil
}

// hostDomain validates a domain that contains hosts: it does not end in a number, because no host name does.
func hostDomain(s string) error {
	if dns.EndsInNumber(s) {
		return fmt.Errorf("%q ends in a number, so that no host names are in it", s)
	}
	return domain(s)
}

var (
	// interfaceName matches the names that Linux gives network interfaces (dev_valid_name).
	interfaceName = lazy.Pattern(`^[^/:\s]{1,15}$`)
	// communityForm matches a community as MetalLB reads it, apart from the size of its numbers, and the name of one in a Community object.
	communityForm = lazy.Pattern(`^(?:\d+:\d+|large:\d+:\d+:\d+|[^:\s]+)$`)
)

// checkAdvertisement reports what makes MetalLB drop its whole configuration.
func checkAdvertisement(c document.Cursor, ip *IP) {
	checkSelectors(c.Get("nodeSelectors"))
	for _, key := range ip.Advertisement.foreign() {
		c.Get(key).Errorf("an advertisement of type %s has no %s: change the type, or leave %s out", ip.Advertisement.Type, key, key)
	}
	checkAggregation(c, ip)
}

// foreign returns the keys with a value other than the default that the type does not have.
func (a Advertisement) foreign() (keys []string) {
	none := Default().IP.Advertisement
	for _, of := range []struct {
		key, kind string
		set       bool
	}{
		{"interfaces", AdvertiseL2, len(a.Interfaces) > 0},
		{"peers", AdvertiseBGP, len(a.Peers) > 0},
		{"communities", AdvertiseBGP, len(a.Communities) > 0},
		{"localPref", AdvertiseBGP, a.LocalPref != none.LocalPref},
		{"aggregationLength", AdvertiseBGP, a.AggregationLength != none.AggregationLength},
		{"aggregationLengthV6", AdvertiseBGP, a.AggregationLengthV6 != none.AggregationLengthV6},
	} {
		if of.set && of.kind != a.Type {
			keys = append(keys, of.key)
		}
	}
	return keys
}

// checkAggregation reports prefixes that are too short for the pools of the ranges, once for each family.
func checkAggregation(c document.Cursor, ip *IP) {
	told := map[Family]bool{}
	for _, r := range ip.Ranges.Include {
		for _, pool := range ip.Ranges.Pieces(r) {
			if ip.Mode == ModeDedicated {
				pool.Last = pool.First
			}
			_, key := ip.Advertisement.aggregation(pool.First)
			if err := ip.Advertisement.Check(pool); err != nil && ip.Advertisement.Type == AdvertiseBGP && !told[FamilyOf(pool.First)] {
				c.Get(key).Report(err)
				told[FamilyOf(pool.First)] = true
			}
		}
	}
}

func networkInterface(s string) error {
	if !interfaceName().MatchString(s) || s == "." || s == ".." {
		return fmt.Errorf("%q is not the name of a network interface", s)
	}
	return nil
}

// community validates a BGP community. The numbers of a standard one have 16 bits, those of a large one 32 (MetalLB:
// internal/bgp/community).
func community(s string) error {
	rest, isLarge := strings.CutPrefix(s, "large:")
	bits := 16
	if isLarge {
		bits = 32
	}
	good := communityForm().MatchString(s)
	for number := range strings.SplitSeq(rest, ":") {
		if _, err := strconv.ParseUint(number, 10, bits); err != nil && strings.Contains(s, ":") {
			good = false
		}
	}
	if !good {
		return fmt.Errorf("%q is not a BGP community: it is neither NUMBER:NUMBER (16 bits each), nor large:NUMBER:NUMBER:NUMBER (32 bits each), "+
			"nor a name in a Community object", s)
	}
	return nil
}

// checkSelectors validates label selectors in Kubernetes' format. MetalLB refuses what is there twice.
func checkSelectors(c document.Cursor) {
	seen := map[string]bool{}
	for item := range c.List() {
		for key, value := range item.Get("matchLabels").AnyMapping().Entries() {
			if text, ok := value.ValidText(); ok {
				_, err := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchLabels: map[string]string{key.Key(): text}})
				value.Report(err)
			}
		}
		expressions := map[string]bool{}
		for at := range item.Get("matchExpressions").List() {
			m, x := at.AnyMapping(), metav1.LabelSelectorRequirement{}
			if document.Decode(at, &x, nil); m.Require("key").Raw() == "" || m.Require("operator").Raw() == "" {
				continue
			}
			selector, err := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{x}})
			if at.Report(err); err == nil {
				once(at, "expression", selector.String(), expressions)
			}
			values := map[string]bool{}
			for value := range at.Get("values").List() {
				once(value, "value", value.Raw(), values)
			}
		}
		var s metav1.LabelSelector
		document.Decode(item, &s, nil)
		if selector, err := metav1.LabelSelectorAsSelector(&s); err == nil && item.IsMapping() {
			once(item, "node selector", selector.String(), seen)
		}
	}
}

// once reports a text that was seen before.
func once(c document.Cursor, what, text string, seen map[string]bool) {
	if seen[text] {
		c.Errorf("the %s %q is given twice", what, text)
	}
	seen[text] = true
}

// checkDNS validates what of the records must fit together. If there are targets, they are the only source by default.
func checkDNS(c document.Cursor, cfg *ProviderConfig) {
	d := &cfg.DNS
	var items []document.Cursor
	for item := range c.Get("targets").List() {
		if _, ok := item.ValidText(); ok {
			items = append(items, item)
		}
	}
	for i, err := range dns.CheckTargets(d.Targets) {
		items[i].Report(err)
	}
	switch sources := c.Get("sources"); {
	case !sources.IsNull():
		checkSources(sources, cfg)
	case len(d.Targets) > 0:
		d.Sources = []string{FromTarget}
	}
	if d.Ownership && d.Form == DNSAnnotations {
		c.Get("ownership").Errorf("the form %s cannot have records of ownership: external-dns writes its own (--registry=txt)", DNSAnnotations)
	}
	if d.Form == DNSGardener {
		needGardener(c, d.Gardener)
	}
}

func checkSources(c document.Cursor, cfg *ProviderConfig) {
	d, before := &cfg.DNS, ""
	for item := range c.List() {
		s := item.Raw()
		switch {
		case s == FromTarget && len(d.Targets) == 0:
			item.Errorf("the source %s needs dns.targets", s)
		case s == FromDomain && cfg.Ingress.Domain == "":
			item.Errorf("the source %s needs ingress.domain", s)
		case before != "" && before != FromAddress && !slices.Contains(d.Sources[:1], s):
			item.Errorf("the source %s is never used: %s applies to every host with a route", s, before)
		}
		before = s
	}
	switch {
	case c.IsList() && c.Len() == 0:
		c.Errorf("no source is named; leave sources out for %s", FromStatus)
	case before == FromAddress:
		c.Errorf("a host whose service leases no address has no source; add another after %s", FromAddress)
	case len(d.Targets) > 0 && !slices.Contains(d.Sources, FromTarget):
		c.Errorf("dns.targets are never used: add the source %s", FromTarget)
	}
}

// needGardener reports missing fields that every DNSRecord needs.
func needGardener(c document.Cursor, g Gardener) {
	at := c.Get("gardener")
	if at.IsNull() {
		at = c
	}
	if g.Type == "" {
		at.Errorf("the form %s needs gardener.type, the type of the provider's extension, such as aws-route53", DNSGardener)
	}
	if g.Secret == (SecretRef{}) {
		at.Errorf("the form %s needs gardener.secretRef, the Secret with the credentials of the DNS provider", DNSGardener)
	}
}

// identifier validates an identifier of the DNS provider: any text without surrounding spaces.
func identifier(s string) error {
	if s == "" || strings.TrimSpace(s) != s {
		return fmt.Errorf("%q is not an identifier; leave the key out for none", s)
	}
	return nil
}

var bufferSize = lazy.Pattern(`^[1-9][0-9]*[kKmM]?$`)

func buffer(size string) error {
	if size != "" && !bufferSize().MatchString(size) {
		return fmt.Errorf("%q is not a buffer size such as 16k", size)
	}
	return nil
}

// prefixes are those of MetalLB's annotations: the one that all versions read, and that of current ones.
var prefixes = []string{"metallb.universe.tf", "metallb.io"}
