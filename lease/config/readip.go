package config

import (
	"cmp"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/document"
)

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
