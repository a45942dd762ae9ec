package config

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/dns"
	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/lease/suggest"
)

var (
	// interfaceName matches the names that Linux gives network interfaces (dev_valid_name).
	interfaceName = regexp.MustCompile(`^[^/:\s]{1,15}$`)
	// communityForm matches a community as MetalLB reads it, apart from the size of its numbers, and the name of one in a Community object.
	communityForm = regexp.MustCompile(`^(?:\d+:\d+|large:\d+:\d+:\d+|[^:\s]+)$`)
)

// readAdvertisement reads how pools are advertised. What makes MetalLB drop its whole configuration is an error.
func readAdvertisement(c document.Cursor, ip *IP) {
	a := &ip.Advertisement
	m := c.Mapping(advertisementKeys)
	oneOf(m.Get("type"), &a.Type, "type of advertisement", AdvertiseL2, AdvertiseBGP)
	a.NodeSelectors = readSelectors(m.Get("nodeSelectors"))
	a.Interfaces = readNames(m.Get("interfaces"), "interface", networkInterface)
	a.Peers = readNames(m.Get("peers"), "peer", subdomain)
	a.Communities = readNames(m.Get("communities"), "community", community)
	if n, ok := m.Get("localPref").Uint(0, math.MaxUint32, "a local preference"); ok {
		a.LocalPref = uint32(n)
	}
	if n, ok := m.Get("aggregationLength").Uint(1, 32, "the length of an IPv4 prefix"); ok {
		a.AggregationLength = int(n)
	}
	if n, ok := m.Get("aggregationLengthV6").Uint(1, 128, "the length of an IPv6 prefix"); ok {
		a.AggregationLengthV6 = int(n)
	}
	for _, key := range a.foreign() {
		m.Get(key).Errorf("an advertisement of type %s has no %s: change the type, or leave %s out", a.Type, key, key)
	}
	checkAggregation(m, ip)
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
func checkAggregation(m document.Mapping, ip *IP) {
	told := map[Family]bool{}
	for _, r := range ip.Ranges.Include {
		for _, pool := range ip.Ranges.Pieces(r) {
			if ip.Mode == ModeDedicated {
				pool.Last = pool.First
			}
			_, key := ip.Advertisement.aggregation(pool.First)
			if err := ip.Advertisement.Check(pool); err != nil && ip.Advertisement.Type == AdvertiseBGP && !told[FamilyOf(pool.First)] {
				m.Get(key).Report(err)
				told[FamilyOf(pool.First)] = true
			}
		}
	}
}

// readNames reads a list of texts, none of which may be there twice.
func readNames(c document.Cursor, what string, rule func(string) error) (names []string) {
	for item, name := range texts(c) {
		switch err := rule(name); {
		case err != nil:
			item.Report(err)
		case slices.Contains(names, name):
			item.Errorf("the %s %q is named twice", what, name)
		default:
			names = append(names, name)
		}
	}
	return names
}

func networkInterface(s string) error {
	if !interfaceName.MatchString(s) || s == "." || s == ".." {
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
	good := communityForm.MatchString(s)
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

// readSelectors reads label selectors in Kubernetes' format. MetalLB refuses one that is there twice.
func readSelectors(c document.Cursor) (all []metav1.LabelSelector) {
	var seen []string
	for item := range c.List() {
		s := readSelector(item)
		if selector, err := metav1.LabelSelectorAsSelector(&s); err == nil && item.IsMapping() {
			seen = once(item, "node selector", selector.String(), seen)
		}
		all = append(all, s)
	}
	return all
}

func readSelector(c document.Cursor) (s metav1.LabelSelector) {
	m := c.Mapping(selectorKeys)
	for key, value := range m.Get("matchLabels").AnyMapping().Entries() {
		text, ok := value.ValidText()
		one := metav1.LabelSelector{MatchLabels: map[string]string{key.Raw(): text}}
		if _, err := metav1.LabelSelectorAsSelector(&one); err != nil && ok {
			value.Report(err)
		}
		if s.MatchLabels == nil {
			s.MatchLabels = map[string]string{}
		}
		maps.Copy(s.MatchLabels, one.MatchLabels)
	}
	var seen []string
	for item := range m.Get("matchExpressions").List() {
		x := item.Mapping(expressionKeys)
		s.MatchExpressions = append(s.MatchExpressions, metav1.LabelSelectorRequirement{
			Key: x.Require("key").Text(), Operator: metav1.LabelSelectorOperator(x.Require("operator").Text()),
			Values: readNames(x.Get("values"), "value", func(string) error { return nil }),
		})
		one := s.MatchExpressions[len(s.MatchExpressions)-1]
		switch selector, err := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{one}}); {
		case one.Key == "" || one.Operator == "": // Require has reported it
		case err != nil:
			item.Report(err)
		default:
			seen = once(item, "expression", selector.String(), seen)
		}
	}
	return s
}

// once reports a text that was seen before, and returns those that were seen by now.
func once(c document.Cursor, what, text string, seen []string) []string {
	if slices.Contains(seen, text) {
		c.Errorf("the %s %q is given twice", what, text)
	}
	return append(seen, text)
}

var dnsSources = []string{FromAddress, FromStatus, FromTarget, FromDomain}

// maxTTL is DNS' largest TTL (RFC 2181).
const maxTTL = 1<<31 - 1

func readDNS(c document.Cursor, cfg *ProviderConfig) {
	d := &cfg.DNS
	m := c.Mapping(dnsKeys)
	oneOf(m.Get("form"), &d.Form, "form of DNS records", DNSNone, DNSGardener, DNSEndpoint, DNSAnnotations)
	readTargets(m.Get("targets"), d)
	readSources(m.Get("sources"), cfg)
	if ttl, ok := m.Get("ttl").Uint(0, maxTTL, "a TTL in seconds"); ok {
		d.TTL = int64(ttl)
	}
	boolean(m.Get("ownership"), &d.Ownership)
	if d.Ownership && d.Form == DNSAnnotations {
		m.Get("ownership").Errorf("the form %s cannot have records of ownership: external-dns writes its own (--registry=txt)",
			DNSAnnotations)
	}
	oneOf(m.Get("annotationPrefix"), &d.AnnotationPrefix, "annotation prefix",
		"external-dns.alpha.kubernetes.io", "external-dns.kubernetes.io")
	readGardener(m.Get("gardener"), &d.Gardener)
	if d.Form == DNSGardener {
		needGardener(m, d.Gardener)
	}
}

// readTargets reads addresses or one host name. If there are any, they are the only source by default.
func readTargets(c document.Cursor, d *DNS) {
	var values []string
	var items []document.Cursor
	for item, value := range texts(c) {
		values, items = append(values, value), append(items, item)
	}
	for i, err := range dns.CheckTargets(values) {
		items[i].Report(err)
	}
	d.Targets = values
	if len(values) > 0 {
		d.Sources = []string{FromTarget}
	}
}

func readSources(c document.Cursor, cfg *ProviderConfig) {
	d := &cfg.DNS
	if c.IsNull() {
		return
	}
	var sources []string
	for item := range c.List() {
		s := item.Text()
		switch {
		case !slices.Contains(dnsSources, s):
			item.Errorf("unknown source %q; %s are known", s, strings.Join(dnsSources, ", "))
		case slices.Contains(sources, s):
			item.Errorf("the source %s is named twice", s)
		case s == FromTarget && len(d.Targets) == 0:
			item.Errorf("the source %s needs dns.targets", s)
		case s == FromDomain && cfg.Ingress.Domain == "":
			item.Errorf("the source %s needs ingress.domain", s)
		case len(sources) > 0 && sources[len(sources)-1] != FromAddress:
			item.Errorf("the source %s is never used: %s applies to every host with a route", s, sources[len(sources)-1])
		}
		sources = append(sources, s)
	}
	switch {
	case c.IsList() && len(sources) == 0:
		c.Errorf("no source is named; leave sources out for %s", FromStatus)
	case len(sources) > 0 && sources[len(sources)-1] == FromAddress:
		c.Errorf("a host whose service leases no address has no source; add another after %s", FromAddress)
	case len(d.Targets) > 0 && !slices.Contains(sources, FromTarget):
		c.Errorf("dns.targets are never used: add the source %s", FromTarget)
	}
	d.Sources = sources
}

func readGardener(c document.Cursor, g *Gardener) {
	m := c.Mapping(gardenerKeys)
	text(m.Get("type"), &g.Type, subdomain)
	text(m.Get("class"), &g.Class, subdomain)
	readAccess(m, &g.ZoneAccess)
	for item := range m.Get("zones").List() {
		z := Zone{}
		keys := item.Mapping(zoneKeys)
		keys.Require("zone")
		text(keys.Require("domain"), &z.Domain, hostDomain)
		notEmpty(keys.Get("domain"), "domain")
		notEmpty(keys.Get("zone"), "identifier")
		if slices.ContainsFunc(g.Zones, func(other Zone) bool { return other.Domain == z.Domain }) {
			item.Errorf("the domain %q has two zones", z.Domain)
		}
		readAccess(keys, &z.ZoneAccess)
		g.Zones = append(g.Zones, z)
	}
}

// notEmpty reports a text that is present but empty.
func notEmpty(c document.Cursor, what string) {
	if c.IsScalar() && !c.IsNull() && c.Raw() == "" {
		c.Errorf("the %s is empty", what)
	}
}

func readAccess(m document.Mapping, a *ZoneAccess) {
	text(m.Get("region"), &a.Region, identifier)
	text(m.Get("zone"), &a.Zone, identifier)
	secret := m.Get("secretRef").Mapping(secretKeys)
	text(secret.Require("name"), &a.Secret.Name, subdomain)
	text(secret.Require("namespace"), &a.Secret.Namespace, namespace)
}

// needGardener reports missing fields that every DNSRecord needs.
func needGardener(m document.Mapping, g Gardener) {
	at := m.Get("gardener")
	if at.IsNull() {
		at = m.Cursor
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

var bufferSize = regexp.MustCompile(`^[1-9][0-9]*[kKmM]?$`)

func readGateway(c document.Cursor, g *Gateway) {
	m := c.Mapping(gatewayKeys)
	text(m.Get("name"), &g.Name, subdomain)
	text(m.Get("namespace"), &g.Namespace, namespace)
	switch v := m.Get("implementation"); v.Text() {
	case "":
	case GatewayAkash, GatewayNGF, GatewayStandard:
		g.Implementation = v.Text()
	default:
		v.Errorf("unknown implementation %q; %s, %s and %s are known%s", v.Text(), GatewayAkash, GatewayNGF, GatewayStandard,
			suggest.For(v.Text(), []string{GatewayAkash, GatewayNGF, GatewayStandard}))
	}
	listeners := m.Get("listeners").Mapping(listenerKeys)
	readListeners(listeners.Get("http"), &g.Listeners.HTTP)
	readListeners(listeners.Get("https"), &g.Listeners.HTTPS)
	readListeners(listeners.Get("passthrough"), &g.Listeners.Passthrough)
	if v := m.Get("proxyBufferSize"); !v.IsNull() {
		buffer(v, v.Text(), g)
	}
}

func buffer(c document.Cursor, size string, g *Gateway) {
	if size != "" && !bufferSize.MatchString(size) {
		c.Errorf("%q is not a buffer size such as 16k", size)
		return
	}
	g.ProxyBufferSize = size
}

// readListeners reads the names of a Gateway's listeners. An empty list means that there are none.
func readListeners(c document.Cursor, into *[]string) {
	if c.IsNull() {
		return
	}
	names := []string{}
	for item, name := range texts(c) {
		switch err := subdomain(name); {
		case err != nil:
			item.Report(err)
		case slices.Contains(names, name):
			item.Errorf("the listener %q is named twice", name)
		default:
			names = append(names, name)
		}
	}
	*into = names
}

// prefixes are those of MetalLB's annotations: the one that all versions read, and that of current ones.
var prefixes = []string{"metallb.universe.tf", "metallb.io"}

func readIP(c document.Cursor, ip *IP) {
	m := c.Mapping(ipKeys)
	oneOf(m.Get("mode"), &ip.Mode, "mode", ModeRange, ModeDedicated, ModePool)
	readRanges(m.Get("ranges"), &ip.Ranges)
	if v := m.Get("families"); !v.IsNull() {
		readFamilies(v, ip)
	}
	text(m.Get("pool"), &ip.Pool, subdomain)
	text(m.Get("metallbNamespace"), &ip.MetalLBNamespace, namespace)
	if v := m.Get("annotationPrefix"); !v.IsNull() {
		if !slices.Contains(prefixes, v.Text()) {
			v.Errorf("unknown annotation prefix %q; %s are known", v.Text(), strings.Join(prefixes, " and "))
		}
		ip.AnnotationPrefix = v.Text()
	}
	readAdvertisement(m.Get("advertisement"), ip)
}

// readRanges reads the ranges in their order; a leading "!" excludes a range. It reports overlapping ranges, because
// their pools would overlap and MetalLB would reject its whole configuration, and ranges that begin or end with an
// address that cannot be leased.
func readRanges(c document.Cursor, rs *Ranges) {
	for item, text := range texts(c) {
		rest, exclude := strings.CutPrefix(text, "!")
		r, err := ParseRange(strings.TrimSpace(rest))
		if err != nil {
			item.Report(err)
			continue
		}
		if exclude {
			rs.Exclude = append(rs.Exclude, r)
			continue
		}
		if i := slices.IndexFunc(rs.Include, r.Overlaps); i >= 0 {
			item.Errorf("%s overlaps with %s", r.Text, rs.Include[i].Text)
			continue
		}
		if err := cmp.Or(lease.CheckAddr(r.First), lease.CheckAddr(r.Last)); err != nil {
			item.Report(err)
			continue
		}
		rs.Include = append(rs.Include, r)
	}
}

func readFamilies(c document.Cursor, ip *IP) {
	var families []Family
	for item, text := range texts(c) {
		switch f := Family(text); {
		case f != IPv4 && f != IPv6:
			item.Errorf("unknown family %q; %s and %s are known", f, IPv4, IPv6)
		case slices.Contains(families, f):
			item.Errorf("the family %s is named twice", f)
		default:
			families = append(families, f)
		}
	}
	if c.IsList() && c.Len() == 0 {
		c.Errorf("no family is named; leave families out for %s", IPv4)
	}
	if len(families) > 0 {
		ip.Families = families
	}
}
