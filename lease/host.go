package lease

import (
	"crypto/sha1" //nolint:gosec // RFC 4122 defines version 5 UUIDs by SHA-1
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/akash-net/kubectl-akash-net/lease/dns"
	"github.com/akash-net/kubectl-akash-net/lease/lazy"
)

// CheckHost returns an error if a host name cannot be claimed. It applies Akash's rule (a lower-case DNS-1123
// subdomain) and rejects what the cluster would reject later: labels over 63 characters, IPv4 literals, and first
// labels that this program uses for other claims and for routes of further paths and redirects. It also rejects a name
// that ends in a number, because clients read it as an address.
func CheckHost(host string) error {
	if !isSubdomain(host) {
		return badHost(host)
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return fmt.Errorf("%q is an IP address, not a host name", Clip(host))
	}
	if dns.EndsInNumber(host) {
		return fmt.Errorf("%q ends in a number: clients take such a name for an IP address", host)
	}
	if first, _, _ := strings.Cut(host, "."); IsReserved(first) {
		return fmt.Errorf("%q is reserved: no host name may begin with the label %q", Clip(host), Clip(first))
	}
	if n := longestLabel(host); n > validation.DNS1123LabelMaxLength {
		return fmt.Errorf("%q has a label of %d characters; at most %d are allowed", Clip(host), n, validation.DNS1123LabelMaxLength)
	}
	return nil
}

// CheckHostOrWildcard is CheckHost for a name that may also be a wildcard. *.example.com covers names one label below
// example.com, and not example.com itself.
func CheckHostOrWildcard(host string) error {
	domain, wildcard := strings.CutPrefix(host, "*.")
	if !wildcard {
		return CheckHost(host)
	}
	if err := CheckHost(domain); err != nil {
		return err
	}
	if !strings.Contains(domain, ".") {
		return fmt.Errorf("%q covers a whole top-level domain", Clip(host))
	}
	return checkRouteName(host, "/", false)
}

// reservedLabels are the prefixes of object names that do not stand for a host: those of other claims, kept
// definitions, announcements, the reconcilers' elections and records, and routes of further paths and redirects.
var reservedLabels = []string{"ip--", "ep--", "rs--", "df--", "run--", "el--", "fl--", "pt--", "rd--"}

// IsReserved reports whether the label cannot be the first label of a host.
func IsReserved(label string) bool {
	return label == "wc--any" || slices.ContainsFunc(reservedLabels,
		func(prefix string) bool { return strings.HasPrefix(label, prefix) })
}

// IsHostName reports whether s is a DNS-1123 subdomain with labels of at most 63 characters.
func IsHostName(s string) bool {
	return isSubdomain(s) && longestLabel(s) <= validation.DNS1123LabelMaxLength
}

// longestLabel returns the length of the longest label of the name.
func longestLabel(name string) (longest int) {
	for label := range strings.SplitSeq(name, ".") {
		longest = max(longest, len(label))
	}
	return longest
}

// badHost returns the error for a name that is not a DNS-1123 subdomain.
func badHost(host string) error {
	switch {
	case host == "":
		return fmt.Errorf("the host name is empty")
	case len(host) > validation.DNS1123SubdomainMaxLength:
		return fmt.Errorf("the host name has %d characters; at most %d are allowed", len(host), validation.DNS1123SubdomainMaxLength)
	case strings.HasPrefix(host, "*."):
		return fmt.Errorf("%q is a wildcard where a host name is expected", Clip(host))
	case isSubdomain(strings.ToLower(host)):
		return fmt.Errorf("%q is not lower case; write %q", Clip(host), strings.ToLower(host))
	case isSubdomain(strings.ToLower(strings.TrimSuffix(host, "."))):
		return fmt.Errorf("%q ends with a dot; write %q", Clip(host), strings.ToLower(strings.TrimSuffix(host, ".")))
	case strings.Contains(host, "://"):
		return fmt.Errorf("%q is a URL, not a host name", Clip(host))
	}
	if ascii, err := idna.Lookup.ToASCII(strings.TrimSuffix(host, ".")); err == nil && utf8.ValidString(host) && IsHostName(ascii) && !dns.EndsInNumber(ascii) {
		return fmt.Errorf("%q has letters that are not ASCII; write %q", Clip(host), ascii)
	}
	return fmt.Errorf("%q is not a host name (lower-case letters, digits and \"-\" in labels joined by \".\")", Clip(host))
}

// isSubdomain is validation.IsDNS1123Subdomain without a regular expression: it runs for every host of 100,000 leases.
func isSubdomain(s string) bool {
	if len(s) > validation.DNS1123SubdomainMaxLength {
		return false
	}
	start := 0
	for i := 0; i <= len(s); i++ {
		if i < len(s) && s[i] != '.' {
			continue
		}
		if !isLabel(s[start:i]) {
			return false
		}
		start = i + 1
	}
	return true
}

// isLabel reports whether s has only lower-case letters, digits and inner dashes. The length may be any but 0.
func isLabel(s string) bool {
	for i := range len(s) {
		c := s[i]
		if ('a' > c || c > 'z') && ('0' > c || c > '9') && (c != '-' || i == 0 || i == len(s)-1) {
			return false
		}
	}
	return s != ""
}

// Labels and annotations that Akash's provider writes (provider: cluster/kube/builder/builder.go).
const (
	LabelManaged         = "akash.network"
	LabelNamespace       = "akash.network/namespace"
	LabelService         = "akash.network/manifest-service"
	LabelServiceTarget   = "akash.network/service-target"
	LabelOwner           = "akash.network/lease.id.owner"
	LabelDSeq            = "akash.network/lease.id.dseq"
	LabelGSeq            = "akash.network/lease.id.gseq"
	LabelOSeq            = "akash.network/lease.id.oseq"
	LabelProvider        = "akash.network/lease.id.provider"
	AnnotationUpdatedAt  = "akash.network/lease.updated_at"
	ServiceTargetMetalLB = "metal-lb"
)

// Labels and annotations of this program.
const (
	// Domain is the domain of this program's labels and annotations.
	Domain = "net.akash.network"
	// AnnotationDefinition holds the hash of the definition that an object was rendered from.
	AnnotationDefinition = Domain + "/definition"
	// AnnotationClosing is set on the ledger's namespace while an uninstall removes it. Its value is the nonce of that
	// uninstall, so that only the same uninstall removes the annotation again.
	AnnotationClosing = Domain + "/closing"
	// AnnotationTaken holds the nonce of the run that last found an object as wanted after it had taken the object's
	// claim, or in the place of a crashed command.
	AnnotationTaken = Domain + "/taken"
	// AnnotationHost holds the host of a DNS record.
	AnnotationHost = Domain + "/host"
	// AnnotationDNSTTL is set on a route before it is deleted: for how many seconds resolvers may still cache its
	// address after the host's DNS records point elsewhere.
	AnnotationDNSTTL = Domain + "/dns-ttl"
	// LabelOurs marks objects of this program that Akash's operators do not know.
	LabelOurs = Domain + "/managed"
)

// FieldManager is the field manager of all objects except claims.
const FieldManager = "akash-net"

// hexLower is base32 with the extended hex alphabet of RFC 4648, unpadded, in lower case.
var hexLower = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// Hash returns the SHA-256 of a text in lower-case base32hex. Its 52 characters fit the name part of an annotation (at
// most 63).
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hexLower.EncodeToString(sum[:])
}

// Namespace returns the name of the namespace that Akash's provider creates for the lease, 45 characters (provider:
// cluster/util/lease_id_to_namespace.go).
func (id ID) Namespace() string {
	var text [128]byte
	sum := sha256.Sum224(id.appendTo(text[:0]))
	return string(hexLower.AppendEncode(text[:0], sum[:]))
}

// Labels returns the labels by which Akash's provider and operators find the lease of an object.
func (id ID) Labels() map[string]string {
	return map[string]string{
		LabelManaged:  "true",
		LabelOwner:    id.Owner,
		LabelDSeq:     strconv.FormatUint(id.DSeq, 10),
		LabelGSeq:     strconv.FormatUint(uint64(id.GSeq), 10),
		LabelOSeq:     strconv.FormatUint(uint64(id.OSeq), 10),
		LabelProvider: id.Provider,
	}
}

// IDFromLabels reads a lease ID from Akash's five labels. ok is false if one is missing or invalid; Akash's own
// recovery skips such objects too.
func IDFromLabels(labels map[string]string) (id ID, ok bool) {
	return IDFrom(func(name string) string { return labels[name] })
}

// IDFrom is IDFromLabels of labels that are looked up by their names.
func IDFrom(label func(name string) string) (id ID, ok bool) {
	id, err := ParseID(strings.Join([]string{
		label(LabelOwner), label(LabelDSeq), label(LabelGSeq), label(LabelOSeq), label(LabelProvider),
	}, "/"))
	return id, err == nil
}

// IDOfObject reads the lease of an object from its namespace and its labels. The labels count only in the namespace of the
// lease that they name: whoever may write in another namespace may write any labels there.
func IDOfObject(namespace string, labels map[string]string) (id ID, ok bool) {
	if id, ok = IDFromLabels(labels); !ok || id.Namespace() != namespace {
		return ID{}, false
	}
	return id, true
}

// StaticHost returns the host name that the provider gives an ingress service with deployment-ingress-static-hosts: a
// version 5 UUID of the lease ID and the service's name in base32hex, below the provider's ingress domain (provider:
// manifest/parse.go).
func (id ID) StaticHost(service, domain string) string {
	// The namespace for host names of RFC 4122, appendix C.
	space := []byte{0x6b, 0xa7, 0xb8, 0x10, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8}
	sum := sha1.Sum(append(space, id.String()+service...)) //nolint:gosec // see the import
	uuid := sum[:16]
	uuid[6] = uuid[6]&0x0f | 0x50
	uuid[8] = uuid[8]&0x3f | 0x80
	return hexLower.EncodeToString(uuid) + "." + domain
}

var plainEndpoint = lazy.Pattern(`^[a-z\d\-]+$`)

// SharingKey identifies an IP endpoint across all leases of an owner. MetalLB assigns Services with the same key the
// same address (provider: cluster/util/ip_sharing_key.go).
func SharingKey(owner, endpoint string) string {
	if !plainEndpoint().MatchString(endpoint) {
		sum := sha256.Sum256([]byte(endpoint))
		endpoint = hexLower.EncodeToString(sum[:15])
	}
	return owner + "-ip-" + endpoint
}

// EndpointOf returns the name of the owner's IP endpoint that has a sharing key. It returns the key of another owner's endpoint as it is.
func EndpointOf(owner, key string) string { return strings.TrimPrefix(key, owner+"-ip-") }

// OwnsSharingKey reports whether a sharing key is one of the owner's IP endpoints.
func OwnsSharingKey(owner, key string) bool { return strings.HasPrefix(key, owner+"-ip-") }

// LeasedIPName returns the name of the ProviderLeasedIP of one port of an IP endpoint (provider:
// cluster/kube/cluster_ip_connections.go).
func LeasedIPName(sharingKey string, protocol Protocol, externalPort uint16) string {
	return strings.ToLower(sharingKey + "-" + string(protocol) + "-" + strconv.Itoa(int(externalPort)))
}

// ParseLeasedIPName is the reverse of LeasedIPName. ok is false for names that LeasedIPName does not return.
func ParseLeasedIPName(name string) (sharingKey string, protocol Protocol, externalPort uint16, ok bool) {
	at := strings.LastIndexByte(name, '-')
	if at < 0 {
		return "", "", 0, false
	}
	port, err := strconv.ParseUint(name[at+1:], 10, 16)
	key, text := name[:at], ""
	if at = strings.LastIndexByte(key, '-'); at >= 0 {
		key, text = key[:at], strings.ToUpper(key[at+1:])
	}
	protocol = Protocol(text)
	if err != nil || at < 0 || protocol != TCP && protocol != UDP || LeasedIPName(key, protocol, uint16(port)) != name {
		return "", "", 0, false
	}
	return key, protocol, uint16(port), true
}

// IPServiceName returns the name of the LoadBalancer Service of one port of an IP endpoint, which is also the name of
// its port (provider: cluster/kube/operators/clients/metallb/client.go).
func IPServiceName(service string, externalPort uint16, protocol Protocol) string {
	return strings.ToLower(service + "-ip-" + strconv.Itoa(int(externalPort)) + "-" + string(protocol))
}

// SecondFamilySuffix is the suffix of the Service for the IPv6 address of a port that also has an IPv4 address. Two
// Services are needed because MetalLB assigns a Service only addresses of one pool (MetalLB 0.15: poolFor in
// internal/allocator), and this program's pools have one family each.
const SecondFamilySuffix = "-v6"

// HostPath returns the printed name of a path of a host. The root path has just the host's name.
func HostPath(host, path string) string {
	if path == "" || path == "/" {
		return host
	}
	return host + path
}

// RouteName returns the name of the route object of a path of a host. The root path's route is named after the host,
// like Akash's only route of a host; a wildcard's name starts with the label of its claim, and a further path's with a
// label that no host may have.
func RouteName(host, path string) string {
	if domain, wildcard := strings.CutPrefix(host, "*."); wildcard {
		host = "wc--any." + domain
	}
	if path == "" || path == "/" {
		return host
	}
	return "pt--" + PathHash(path) + "." + host
}

// PathHash returns the hash that identifies a further path in the name of its route; "" for the root.
func PathHash(path string) string {
	if path == "" || path == "/" {
		return ""
	}
	return Hash(path)[:13]
}

// RedirectName returns the name of the route that redirects the plain HTTP requests of another route to HTTPS.
func RedirectName(name string) string { return "rd--http." + name }

// ParseRouteName is the reverse of RouteName and RedirectName. It returns the host or wildcard, and the PathHash of the
// path.
func ParseRouteName(name string) (host, pathHash string, redirect bool) {
	name, redirect = strings.CutPrefix(name, "rd--http.")
	if rest, further := strings.CutPrefix(name, "pt--"); further {
		pathHash, name, _ = strings.Cut(rest, ".")
	}
	if domain, wildcard := strings.CutPrefix(name, "wc--any."); wildcard {
		name = "*." + domain
	}
	return name, pathHash, redirect
}

// maxPath is the Gateway API's limit; the other targets accept longer paths.
const maxPath = 1024

// CheckPath returns an error if a path cannot be routed. It accepts only what every target accepts, so that routes can
// be migrated between targets: the rules of the Gateway API and Kubernetes for prefixes, and the characters that
// ingress-nginx allows. It rejects a trailing slash: Ingress and the Gateway API treat /a/ like /a, OpenShift's router
// does not.
func CheckPath(path string) error {
	switch {
	case !strings.HasPrefix(path, "/"):
		return fmt.Errorf("the path %q does not begin with /", Clip(path))
	case len(path) > maxPath:
		return fmt.Errorf("the path has %d characters; at most %d are allowed", len(path), maxPath)
	case strings.Contains(path, "//"):
		return fmt.Errorf("the path %q has an empty segment", Clip(path))
	case len(path) > 1 && strings.HasSuffix(path, "/"):
		return fmt.Errorf("the path %q ends with a slash; write %q, which serves both", Clip(path), Clip(strings.TrimSuffix(path, "/")))
	}
	for i := range len(path) {
		if c := path[i]; !isPathByte(c) {
			return fmt.Errorf("the path %q may not hold %s (letters, digits, \"-\", \"_\" and \".\" in segments joined by \"/\")",
				Clip(path), badCharacter(path[i:]))
		}
	}
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return fmt.Errorf("the path %q has the segment %q", Clip(path), segment)
		}
	}
	return nil
}

func isPathByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("/-_.", c) >= 0
}

// badCharacter returns the first character of s, quoted.
func badCharacter(s string) string {
	for _, r := range s {
		return fmt.Sprintf("%q", r)
	}
	return ""
}

// CheckRoute returns an error if a path of a host or wildcard cannot be claimed and routed.
func CheckRoute(host, path string) error {
	if err := CheckHostOrWildcard(host); err != nil {
		return err
	}
	if err := CheckPath(path); err != nil {
		return err
	}
	return checkRouteName(host, path, false)
}

// checkRouteName returns an error if the names of the route's objects would be too long: for further paths, wildcards
// and redirects they are longer than the host.
func checkRouteName(host, path string, redirects bool) error {
	name := RouteName(host, path)
	if redirects {
		name = RedirectName(name)
	}
	if len(name) > validation.DNS1123SubdomainMaxLength {
		return fmt.Errorf("%q is too long: the route of its path %s would have a name of %d characters; at most %d are allowed",
			host, Clip(path), len(name), validation.DNS1123SubdomainMaxLength)
	}
	return nil
}
