package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease/dns"
	"github.com/akash-net/kubectl-akash-net/lease/document"
)

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
