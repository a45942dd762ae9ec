package state

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1 "k8s.io/client-go/applyconfigurations/coordination/v1"
	strictjson "sigs.k8s.io/json"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
)

// ReadClaim reads a claim from the metadata of a Lease object. It takes the holders from the annotations and never from
// managedFields. ok is false for an object that is not a claim.
func ReadClaim(meta *metav1.ObjectMeta) (c Claim, ok bool) {
	version, isClaim := meta.Annotations[AnnotationLedger]
	if !isClaim && meta.Labels[LabelKind] == "" || IsAnnouncement(meta.Name) || IsReservation(meta.Name) {
		return Claim{}, false
	}
	c = Claim{
		Owner:           intern(meta.Labels[LabelOwner]),
		SharingKey:      meta.Annotations[AnnotationSharingKey],
		UID:             meta.UID,
		ResourceVersion: meta.ResourceVersion,
		Created:         meta.CreationTimestamp.Time,
		Updated:         lastWritten(meta),
		Deleting:        meta.DeletionTimestamp != nil,
		Finalizers:      meta.Finalizers,
	}
	c.setThing(meta.Name, Kind(meta.Labels[LabelKind]))
	if version != LedgerVersion {
		c.Unreadable = fmt.Sprintf("it was written for version %q of the ledger, which this program does not know", version)
		return c, true
	}
	// Sort, so that Parts are sorted and the last of several faults is reported.
	for _, key := range slices.Sorted(maps.Keys(meta.Annotations)) {
		if !strings.HasPrefix(key, routePrefix) && !strings.HasPrefix(key, PortPrefix) && !strings.HasPrefix(key, waitPrefix) {
			continue
		}
		part, err := readPart(key, meta.Annotations[key])
		if err != nil {
			c.Unreadable = err.Error()
			continue
		}
		if c.Unreadable == "" {
			c.Unreadable = c.Kind.checkPart(part)
		}
		if part.Lease.Owner != c.Owner {
			c.Unreadable = fmt.Sprintf("annotation %s names an owner who is not the claim's", key)
		}
		if strings.HasPrefix(key, waitPrefix) {
			c.Waits = append(c.Waits, part)
		} else {
			c.Parts = append(c.Parts, part)
		}
	}
	for _, p := range c.Parts {
		if g := p.Lease.Group(); !managed.AppliedBy(meta, g) && !slices.Contains(c.Unmanaged, g) {
			c.Unmanaged = append(c.Unmanaged, g)
		}
	}
	for e := range managed.Of(meta) {
		if g, ours := e.Group(); ours && len(c.Entries(g)) == 0 && !slices.Contains(c.Former, g) {
			c.Former = append(c.Former, g)
		}
	}
	return c, true
}

// checkPart returns why a claim of the kind cannot have the part, or "". The parts of a host are paths and their keys
// are hashes of them; the parts of an address are TCP or UDP ports. Parts that are waited for are not checked.
func (k Kind) checkPart(p Part) string {
	isPort := strings.HasPrefix(p.Key, PortPrefix)
	switch {
	case strings.HasPrefix(p.Key, waitPrefix):
	case k.HasPorts() != isPort:
		return fmt.Sprintf("annotation %s is no part of a claim of kind %s", p.Key, k)
	case isPort && !p.namesPort():
		return fmt.Sprintf("annotation %s names no port", p.Key)
	case !isPort && p.Path != "" && RouteKey(p.Path) != p.Key:
		return fmt.Sprintf("annotation %s has a path that is not the one of its name", p.Key)
	}
	return ""
}

// setThing sets the kind and the thing of the claim. Only the name decides, because the name makes a claim exclusive: a
// name that no other kind uses is a host. A claim whose label names another kind is unreadable.
func (c *Claim) setThing(name string, label Kind) {
	c.Kind, c.Thing = Host, name
	domain, isWildcard := strings.CutPrefix(name, wildcardLabel+".")
	isEndpoint := strings.HasPrefix(name, endpointPrefix)
	switch a, isAddress := parseAddressName(name); {
	case isAddress:
		c.Kind, c.Thing = Address, a.String()
	case isEndpoint && name == EndpointName(c.SharingKey):
		c.Kind, c.Thing = Endpoint, c.SharingKey
	case isWildcard:
		c.Kind, c.Thing = Wildcard, "*."+domain
	}
	switch {
	case isEndpoint && c.Kind != Endpoint:
		c.Unreadable = "its name is not that of its sharing key"
	case label != "" && label != c.Kind:
		c.Unreadable = fmt.Sprintf("its label says that it is of kind %s, and its name is that of kind %s", label, c.Kind)
	}
	if !c.Kind.HasPorts() {
		c.SharingKey = "" // the annotation has no meaning on a host
	}
}

// lastWritten returns the time of the last write according to the managed fields.
func lastWritten(meta *metav1.ObjectMeta) time.Time {
	if at := managed.LastWritten(meta); at.After(meta.CreationTimestamp.Time) {
		return at
	}
	return meta.CreationTimestamp.Time
}

// readPart parses the annotation of a part.
func readPart(key, value string) (Part, error) {
	p, ok := readWritten(value)
	if !ok {
		var err error
		if p, err = readStrictly(key, value); err != nil {
			return p, err
		}
	}
	p.Key = key
	id, err := lease.ParseID(p.LeaseText)
	if err != nil {
		return p, fmt.Errorf("annotation %s: %w", key, err)
	}
	// Thousands of claims name the same owners, providers, services and paths: store each string once.
	id.Owner, id.Provider = intern(id.Owner), intern(id.Provider)
	p.Key, p.Path, p.Service = intern(p.Key), intern(p.Path), intern(p.Service)
	p.Lease, p.LeaseText = id, "" // value computes the text from Lease
	p.Run, p.Held = readMark(p.Run)
	return p, nil
}

// readWritten reads the annotation of a part as value writes it: its fields in their order, without spaces, in letters that need no escape. ok is
// false for any other text. It takes a tenth of the time of readStrictly.
func readWritten(text string) (p Part, ok bool) {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '\\' {
			return p, false
		}
	}
	rest, begin := text, "{"
	has := func(field string) bool {
		after, first := strings.CutPrefix(rest, begin)
		after, then := strings.CutPrefix(after, field)
		if first && then {
			rest, begin = after, ","
		}
		return first && then
	}
	of := func(field string) (value string) {
		if has(field) {
			value, rest, _ = strings.Cut(rest, `"`)
		}
		return value
	}
	p.For, p.LeaseText = strings.Clone(of(`"for":"`)), of(`"lease":"`)
	p.Path, p.Service = of(`"path":"`), of(`"service":"`)
	if has(`"port":`) {
		digits, _, _ := strings.Cut(rest, ",")
		digits = strings.TrimSuffix(digits, "}")
		port, err := strconv.ParseUint(digits, 10, 16)
		if err != nil || digits[0] == '0' {
			return p, false
		}
		p.Port, rest = uint16(port), rest[len(digits):]
	}
	p.Definition, p.Run = strings.Clone(of(`"definition":"`)), strings.Clone(of(`"run":"`))
	p.Expires, p.From = strings.Clone(of(`"expires":"`)), strings.Clone(of(`"from":"`))
	p.Bound, p.Applied = has(`"bound":true`), has(`"applied":true`)
	return p, rest == "}" && begin == ","
}

// readStrictly reads any JSON. It rejects duplicate keys and keys in another case, which other parsers might read differently.
func readStrictly(key, value string) (p Part, _ error) {
	twice, err := strictjson.UnmarshalStrict([]byte(value), &p, strictjson.DisallowDuplicateFields)
	if err != nil {
		return p, fmt.Errorf("annotation %s is not JSON", key)
	}
	if len(twice) > 0 {
		return p, fmt.Errorf("annotation %s: %w", key, twice[0])
	}
	return p, nil
}

func intern(s string) string { return unique.Make(s).Value() }

// value returns the value of the part's annotation.
func (p Part) value() string {
	p.LeaseText = p.Lease.String()
	if p.Held {
		p.Run = touchMark(p.Run)
	}
	out, _ := json.Marshal(p) // cannot fail: the struct has only strings, numbers and booleans
	return string(out)
}

// Configuration returns what a deployment group applies to hold exactly these parts of the claim. It is pinned to the
// UID and resource version of the object that was read. A new claim has neither.
func (c *Claim) Configuration(namespace string, parts []Part) *coordinationv1.LeaseApplyConfiguration {
	ac := c.pinned(namespace).
		WithLabels(map[string]string{LabelKind: string(c.Kind), LabelOwner: c.Owner}).
		WithAnnotations(map[string]string{AnnotationLedger: LedgerVersion}).
		WithSpec(coordinationv1.LeaseSpec().WithHolderIdentity(c.Owner))
	if c.Kind.HasPorts() {
		ac.WithAnnotations(map[string]string{AnnotationSharingKey: c.SharingKey})
	}
	for _, p := range parts {
		ac.WithAnnotations(map[string]string{p.Key: p.value()})
	}
	return ac
}

// Withdrawal returns what a deployment group applies to give up its parts of the claim while other groups keep theirs.
func (c *Claim) Withdrawal(namespace string) *coordinationv1.LeaseApplyConfiguration {
	return c.pinned(namespace)
}

func (c *Claim) pinned(namespace string) *coordinationv1.LeaseApplyConfiguration {
	ac := coordinationv1.Lease(c.Name(), namespace)
	if c.UID != "" {
		ac.WithUID(c.UID).WithResourceVersion(c.ResourceVersion)
	}
	return ac
}

// Part is what one deployment group holds of a claim: a path of a host, or a port of an address. The value of its
// annotation contains the lease. So two leases never write the same value, and server-side apply never makes both of
// them owners.
type Part struct {
	// Key is the annotation key. It locks the part.
	Key string `json:"-"`
	// For is the key of the part that is waited for. It is empty for a part that is held.
	For string `json:"for,omitempty"`
	// Lease is the holder.
	Lease lease.ID `json:"-"`
	// LeaseText is Lease as stored.
	LeaseText string `json:"lease"`
	// Path is the path on the host. Service and Port are the backend.
	Path    string `json:"path,omitempty"`
	Service string `json:"service,omitempty"`
	Port    uint16 `json:"port,omitempty"`
	// HTTP are the options of the route to a host that is waited for. Definition is the hash of the definition that
	// asks for it.
	HTTP       *lease.HTTPOptions `json:"http,omitempty"`
	Definition string             `json:"definition,omitempty"`
	// Run is the mark of the run that took the part (see Mark). Claim.Meet removes the marks of runs that have ended.
	Run string `json:"run,omitempty"`
	// Held is true if the lease held the part before that run, which has only touched or renewed it: whatever becomes of the run,
	// the lease holds the part. It is stored in the mark (touchesFrom).
	Held bool `json:"-"`
	// Expires is when a hold ends, by the API server's clock, in RFC 3339. It is empty for a part without an end.
	Expires string `json:"expires,omitempty"`
	// From is the deployment group (OWNER/DSEQ/GSEQ) whose objects still serve the part after a transfer, until the new
	// holder is applied. It is empty if the objects of the holder serve the part.
	From string `json:"from,omitempty"`
	// Bound is true once a run has checked that no other owner has a host below the wildcard. Until then the wildcard
	// is pending and yields to such hosts.
	Bound bool `json:"bound,omitempty"`
	// Applied is true once a run has written the objects of Lease for the part. It is false for parts that were only
	// reserved or transferred, or that an older version applied.
	Applied bool `json:"applied,omitempty"`
}

// WhileTurned is the end of a hold while a run turns it into a claim. The last write of the run removes it. If the run
// fails it gives back the hold: a claim never becomes a hold, and the guard refuses that. If it crashes, the hold has become a claim.
const WhileTurned = "2199-12-31T23:59:59Z"

// RouteKey returns the annotation key of a path of a host. The root path is "" or "/".
func RouteKey(path string) string {
	if path == "" || path == "/" { // of nearly all routes
		return rootKey
	}
	return routePrefix + lease.Hash(path)
}

var rootKey = routePrefix + lease.Hash("/")

// PortKey returns the annotation key of a port of an address.
func PortKey(protocol lease.Protocol, port uint16) string {
	return PortPrefix + strings.ToLower(string(protocol)) + "-" + strconv.Itoa(int(port))
}

// OtherProtocol returns the key of the same port number in the other protocol, or "" for a key that names no port.
func OtherProtocol(key string) string {
	switch protocol, port := (Part{Key: key}).ProtocolPort(); protocol {
	case lease.TCP:
		return PortKey(lease.UDP, port)
	case lease.UDP:
		return PortKey(lease.TCP, port)
	}
	return ""
}

// WholeAddress is the annotation key of an address that is reserved before its ports are known.
const WholeAddress = PortPrefix + "any"

// ProtocolPort returns the protocol and the port of a part of an address, or "" and 0 for a path.
func (p Part) ProtocolPort() (lease.Protocol, uint16) {
	protocol, port, _ := strings.Cut(strings.TrimPrefix(p.Key, PortPrefix), "-")
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || !strings.HasPrefix(p.Key, PortPrefix) {
		return "", 0
	}
	return lease.Protocol(strings.ToUpper(protocol)), uint16(n)
}

// namesPort reports whether the key is WholeAddress or one that PortKey makes.
func (p Part) namesPort() bool {
	protocol, port := p.ProtocolPort()
	return p.Key == WholeAddress ||
		port > 0 && (protocol == lease.TCP || protocol == lease.UDP) && p.Key == PortKey(protocol, port)
}

// Same reports whether both parts are stored alike.
func (p Part) Same(q Part) bool {
	p.LeaseText, q.LeaseText = "", ""
	return reflect.DeepEqual(p, q)
}

// Wait returns the entry that notes that the deployment group waits for the part.
func (p Part) Wait(definition string, http *lease.HTTPOptions) Part {
	p.For, p.Run, p.Expires, p.From, p.Bound, p.Applied = p.Key, "", "", "", false, false
	p.Key = waitPrefix + lease.Hash(p.Lease.Group().String()+" "+p.Key)
	p.Definition, p.HTTP = definition, http
	return p
}

// Ended reports whether the hold has expired, plus Margin. Anyone may remove it then. now is by the API server's clock.
func (p Part) Ended(now time.Time) bool {
	if p.Expires == "" {
		return false
	}
	at, err := time.Parse(time.RFC3339, p.Expires)
	return err == nil && now.After(at.Add(Margin))
}

// Lapsed reports whether what a run has announced with an end has ended, or ends later than any run announces: then
// somebody else has written it, and nobody may have to wait for that. now is by the API server's clock.
func (p Part) Lapsed(now time.Time) bool {
	at, err := time.Parse(time.RFC3339, p.Expires)
	return p.Ended(now) || err == nil && at.Sub(now) > MaxLasts+Margin
}

// PortText formats a part of an address for people, for example 443/tcp.
func (p Part) PortText() string {
	if p.Key == WholeAddress {
		return "(no port yet)"
	}
	protocol, port := p.ProtocolPort()
	return strconv.Itoa(int(port)) + "/" + strings.ToLower(string(protocol))
}

// A run marks the parts that it takes with the nonce of its command's announcement and, from the command's second run
// on, the number of the run. While the announcement exists, the run may give the part back. Once it is gone, the part
// is settled and the mark has no meaning. A command that ends with unfinished work leaves an announcement of the unfinished
// groups alone: the parts of its other groups are settled too.

// nonceAlphabet lists the digits of a nonce in sort order.
const nonceAlphabet = "234567abcdefghijklmnopqrstuvwxyz"

// NewNonce returns the nonce of a command that begins at the given time: 13 letters and digits. If two commands begin
// at least a tenth of a second apart by one clock, the nonce of the first sorts first; so a command that waits for a
// deployment group is not overtaken by later ones (protocol.NextTurn). Only the random rest makes nonces unique.
func NewNonce(begun time.Time) string {
	const long = 7 // 5 bits each: 108 years in tenths of a second
	var when [long]byte
	for i, tenths := long-1, uint64(begun.UnixMilli()/100); i >= 0; i, tenths = i-1, tenths/32 {
		when[i] = nonceAlphabet[tenths%32]
	}
	return string(when[:]) + strings.ToLower(rand.Text()[:13-long])
}

// Mark returns the mark of a run of a command. The first run has number 0.
func Mark(nonce string, run int) string {
	if run == 0 {
		return nonce
	}
	return nonce + "-" + strconv.Itoa(run)
}

// touchesFrom is added to the number in the mark of a run that has only touched or renewed a part, which its lease held before. So a version of
// this program, or of the guard, that does not know it takes the mark for that of any other run of the command.
const touchesFrom = 500_000_000

// readMark returns a mark without touchesFrom, and whether it had them.
func readMark(stored string) (mark string, touched bool) {
	nonce, number, _ := strings.Cut(stored, "-")
	if n, err := strconv.Atoi(number); err == nil && n >= touchesFrom {
		return Mark(nonce, n-touchesFrom), true
	}
	return stored, false
}

// touchMark returns a mark with touchesFrom.
func touchMark(mark string) string {
	nonce, number, _ := strings.Cut(mark, "-")
	n, _ := strconv.Atoi(number) // the first run has no number
	return Mark(nonce, n+touchesFrom)
}

// NonceOf returns the nonce of the command whose run has the mark.
func NonceOf(mark string) string {
	nonce, _, _ := strings.Cut(mark, "-")
	return nonce
}

// Nonces returns the nonces of the marks on the claim, in the order of its parts.
func (c *Claim) Nonces() (nonces []string) {
	for _, p := range c.Parts {
		if p.Run != "" {
			nonces = append(nonces, NonceOf(p.Run))
		}
	}
	return nonces
}

// Meet removes the marks of commands that are not announced, and sets AtWork to the first command that is.
func (c *Claim) Meet(announced map[string]*Announcement, now time.Time) {
	c.Settle(func(p Part) bool { return announced[NonceOf(p.Run)].HasEndedFor(p.Lease.Group()) })
	if nonces := c.Nonces(); len(nonces) > 0 {
		c.AtWork = announced[nonces[0]].Stands(now)
	}
}

// Settle removes the marks of runs that have ended.
func (c *Claim) Settle(ended func(marked Part) bool) {
	for i := range c.Parts {
		if p := &c.Parts[i]; p.Run != "" && ended(*p) {
			if p.Run, p.Held = "", false; p.Expires == WhileTurned {
				p.Expires = ""
			}
		}
	}
}

// SettleHeld removes the marks of other commands from parts that their lease held before.
func (c *Claim) SettleHeld(own func(nonce string) bool) {
	c.Settle(func(p Part) bool { return p.Held && !own(NonceOf(p.Run)) })
}
