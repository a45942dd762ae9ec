package config

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease/document"
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
