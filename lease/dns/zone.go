package dns

import "strings"

// InZone is true for the zone's own name and every name below it. Labels are compared whole:
// testexample.com is not in example.com.
func InZone(name, zone string) bool {
	return zone != "" && (name == zone || strings.HasSuffix(name, "."+zone))
}

// Zone is the index of the longest of the zones in which the name is, or -1.
func Zone(name string, zones []string) int {
	best := -1
	for i, z := range zones {
		if InZone(name, z) && (best < 0 || len(z) > len(zones[best])) {
			best = i
		}
	}
	return best
}
