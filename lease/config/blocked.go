package config

import "strings"

// BlockedBy is the entry of the blocklist that forbids a host, if one does. An entry ".x.com"
// forbids x.com and every host below it, an entry "x.com" that host alone; exact entries are
// looked at first (provider: cluster/hostname.go). Unlike Akash, entries match in any case.
func (h Hosts) BlockedBy(host string) (entry string, blocked bool) {
	host = strings.ToLower(host)
	for _, e := range h.Blocked {
		if host == strings.TrimPrefix(strings.ToLower(e), ".") {
			return e, true
		}
	}
	for _, e := range h.Blocked {
		if strings.HasPrefix(e, ".") && strings.HasSuffix(host, strings.ToLower(e)) {
			return e, true
		}
	}
	return "", false
}
