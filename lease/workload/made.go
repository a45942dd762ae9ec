package workload

import (
	"regexp"
	"strings"
)

// Patterns of names that Kubernetes' controllers derive from a workload's name: a ReplicaSet and its Pods end in hashes
// over an alphabet without vowels (apimachinery: util/rand), a Pod of a StatefulSet ends in its index.
var (
	replicaSet  = regexp.MustCompile(`^-[b-df-hj-np-tv-xz0-9]{1,10}$`)
	pod         = regexp.MustCompile(`^(-[b-df-hj-np-tv-xz0-9]{1,10}-[b-df-hj-np-tv-xz2-9]{5}|-\d{1,10})$`)
	volumeClaim = regexp.MustCompile(`-\d{1,10}$`)
	leasedPort  = regexp.MustCompile(`-ip-\d{1,5}-(tcp|udp)$`)
)

// IsLeasedPort reports whether a name is that of the Service of a leased port: SERVICE-ip-PORT-PROTOCOL.
func IsLeasedPort(name string) bool { return leasedPort.MatchString(name) }

// Made reports whether an object in a lease's namespace belongs to a service, judging by its kind and name. Events have
// only kind and name of an object, which may no longer exist.
func Made(service, kind, name string) bool {
	rest, after := strings.CutPrefix(name, service)
	if kind == "PersistentVolumeClaim" { // SERVICE-VOLUME-SERVICE-NUMBER
		number := volumeClaim.FindString(name)
		return number != "" && strings.HasPrefix(name, service+"-") && strings.HasSuffix(strings.TrimSuffix(name, number), "-"+service)
	}
	if !after {
		return false
	}
	switch kind {
	case "Deployment", "StatefulSet", "Ingress", "ServiceAccount", "HTTPRoute":
		return rest == ""
	case "Service", "Endpoints":
		return rest == "" || rest == NodePortSuffix || rest == leasedPort.FindString(rest)
	case "ReplicaSet":
		return replicaSet.MatchString(rest)
	case "Pod":
		return pod.MatchString(rest)
	}
	return false
}
