// Package hosttemplate generates host names for routed ports without hosts.
package hosttemplate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/lazy"
	"github.com/akash-net/kubectl-akash-net/lease/suggest"
)

// hashLength is the length of the hash in a generated name: 13 characters, 65 bits.
const hashLength = 13

// templateVariables maps each variable to its longest value: a service name, 64 bits, 32 bits, a namespace, the hash.
var templateVariables = map[string]string{
	"service":   strings.Repeat("s", validation.DNS1123LabelMaxLength),
	"dseq":      strings.Repeat("9", 20),
	"gseq":      strings.Repeat("9", 10),
	"namespace": strings.Repeat("n", 45),
	"hash":      strings.Repeat("h", hashLength),
}

var templateVariable = lazy.Pattern(`\$\{([^}]*)\}`)

// Check returns an error if no host names can be generated from the template. A template is a domain whose labels may
// contain ${service}, ${dseq}, ${gseq} and ${namespace}; the first label may end in ${hash}.
func Check(template string) error {
	for _, m := range templateVariable().FindAllStringSubmatch(template, -1) {
		if _, ok := templateVariables[m[1]]; !ok {
			return fmt.Errorf("unknown variable %q; ${service}, ${dseq}, ${gseq}, ${namespace} and ${hash} are known%s",
				lease.Clip(m[0]), suggest.For(m[1], slices.Sorted(maps.Keys(templateVariables))))
		}
	}
	first, domain, ok := strings.Cut(template, ".")
	switch {
	case !ok:
		return fmt.Errorf("%q has one label only; names are generated below a domain, such as ${service}-${dseq}.apps.example.com",
			lease.Clip(template))
	case strings.Contains(template[strings.LastIndexByte(template, '.'):], "${"):
		return fmt.Errorf("%q ends in a variable; names are generated below a domain of the provider's own, such as "+
			"${service}-${dseq}.apps.example.com", lease.Clip(template))
	case strings.Contains(strings.TrimSuffix(first, "${hash}"), "${hash}") || strings.Contains(domain, "${hash}"):
		return fmt.Errorf("${hash} stands at the end of the first label, or nowhere: it is added there")
	}
	for label := range strings.SplitSeq(domain, ".") {
		if n := len(label); n > validation.DNS1123LabelMaxLength && !strings.Contains(label, "${") {
			return fmt.Errorf("%q has a label of %d characters; at most %d are allowed", lease.Clip(template), n,
				validation.DNS1123LabelMaxLength)
		}
	}
	if n := longestName(template); n > validation.DNS1123SubdomainMaxLength {
		return fmt.Errorf("%q makes host names of up to %d characters; at most %d are allowed", lease.Clip(template), n,
			validation.DNS1123SubdomainMaxLength)
	}
	// Names with the shortest values are enough to find all errors of the template itself: like all values, they begin
	// and end with a letter or a digit.
	shortest := map[string]string{}
	for name, value := range templateVariables {
		shortest[name] = value[:1]
	}
	if err := lease.CheckHost(expandTemplate(template, shortest)); err != nil {
		return fmt.Errorf("%q makes no host names: %w", lease.Clip(template), err)
	}
	return nil
}

// Domain returns the domain of all names generated from the template: the labels after the first one, and after the
// last one with a variable. It is "" for an empty template.
func Domain(template string) string {
	labels := strings.Split(template, ".")
	for i := len(labels) - 1; i > 0; i-- {
		if strings.Contains(labels[i], "${") {
			return strings.Join(labels[i+1:], ".")
		}
	}
	return strings.Join(labels[1:], ".")
}

// longestName returns an upper bound for the length of generated names.
func longestName(template string) int {
	n := -1
	for i, label := range strings.Split(template, ".") {
		if i == 0 {
			label = strings.TrimSuffix(label, "${hash}") + "-${hash}"
		}
		length := len(expandVariables(label, templateVariables))
		n += min(length, validation.DNS1123LabelMaxLength) + 1
	}
	return n
}

// Host returns the host name for a routed port without hosts. The template must have passed Check. The first label ends
// in a hash of the lease, the service and the external port, so that the names of any two ports differ. The part before
// the hash is truncated to fit the label.
func Host(id lease.ID, template, service string, externalPort uint16) string {
	key := lease.Key(id.String(), service, strconv.Itoa(int(externalPort)))
	return expandTemplate(template, map[string]string{
		"service": service, "dseq": strconv.FormatUint(id.DSeq, 10), "gseq": strconv.FormatUint(uint64(id.GSeq), 10),
		"namespace": id.Namespace(), "hash": lease.Hash(key)[:hashLength],
	})
}

// MayBeOf reports whether a host is but for its hash what the template makes for the ports of a service.
func MayBeOf(id lease.ID, template, service, host string) bool {
	like := Host(id, template, service, 1)
	end := strings.IndexByte(like, '.')
	return len(host) == len(like) && host[:end-hashLength] == like[:end-hashLength] && host[end:] == like[end:]
}

func expandTemplate(template string, values map[string]string) string {
	labels := strings.Split(template, ".")
	for i, label := range labels {
		if i == 0 {
			label = strings.TrimSuffix(strings.TrimSuffix(label, "${hash}"), "-")
		}
		label = expandVariables(label, values)
		if i == 0 {
			label = withHash(label, values["hash"])
		}
		labels[i] = cutLabel(label, validation.DNS1123LabelMaxLength)
	}
	return strings.Join(labels, ".")
}

func expandVariables(label string, values map[string]string) string {
	return templateVariable().ReplaceAllStringFunc(label, func(v string) string { return values[v[2:len(v)-1]] })
}

// withHash returns the first label: as much of label as fits, and the hash. It drops a label that would be reserved for
// other claims.
func withHash(label, hash string) string {
	label = cutLabel(label, validation.DNS1123LabelMaxLength-1-len(hash))
	if label == "" || lease.IsReserved(label+"-"+hash) {
		return hash
	}
	return label + "-" + hash
}

// cutLabel truncates a label to n characters and removes dashes at the cut.
func cutLabel(label string, n int) string {
	if len(label) <= n {
		return label
	}
	return strings.TrimRight(label[:n], "-")
}
