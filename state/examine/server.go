package examine

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
)

// The versions of Kubernetes that first have what is needed as stable API: server-side apply, with which all objects are written
// (KEP-555), and ValidatingAdmissionPolicies, of which the guard consists (KEP-3488).
var (
	withApply    = version.MustParseGeneric("1.22")
	withPolicies = version.MustParseGeneric("1.30")
)

func (s *Seen) kubernetes() []Line {
	if s.Version.Unread != nil {
		return []Line{s.unknown(s.Version.Unread)}
	}
	v, err := version.ParseGeneric(s.Version.Value)
	switch {
	case err != nil:
		return []Line{{Result: Unknown, Text: "the server says that its version is " + s.Version.Value}}
	case v.LessThan(withApply):
		return []Line{problem("upgrade the cluster", "version %s; this program needs %s, for server-side apply", s.Version.Value, withApply)}
	case v.LessThan(withPolicies):
		return []Line{warning("upgrade the cluster", "version %s; the guard (install --guard) needs %s", s.Version.Value, withPolicies)}
	}
	return []Line{ok("version %s", s.Version.Value)}
}

// tolerated is how far clocks may be apart without a warning.
const tolerated = 5 * time.Second

func (s *Seen) clock() []Line {
	const mend = "set this machine's clock, or the server's"
	switch c := s.Clock; {
	case !c.Seen:
		return []Line{{Result: Unknown, Text: "the server has not told its time"}}
	case c.Least > tolerated:
		return []Line{warning(mend, "this machine's clock is %s behind the server's; holds expire by the server's", c.Least.Round(time.Second))}
	case c.Most < -tolerated:
		return []Line{warning(mend, "this machine's clock is %s ahead of the server's; holds expire by the server's", (-c.Most).Round(time.Second))}
	}
	return []Line{ok("this machine's clock and the server's agree")}
}

const install = "kubectl akash-net install"

func (s *Seen) configuration() []Line {
	c := s.Configured.Value
	switch {
	case s.Configured.Unread != nil:
		line := s.unknown(s.Configured.Unread)
		line.Text += "; the default configuration is checked instead"
		return []Line{line}
	case c.Missing && s.Applied != "":
		return []Line{warning(state.RestoreLedger, "there is no %s; the default configuration is checked instead", c.Place)}
	case c.Missing && s.Before:
		return []Line{ok("there is none yet; the default one is checked, or that of --config")}
	case c.Missing:
		return []Line{warning(install, "there is no %s; the default configuration is in effect", c.Place)}
	case len(c.Problems) == 0:
		return []Line{ok("%s is valid", c.Place)}
	}
	var lines []Line
	for _, p := range c.Problems {
		result := Problem
		if p.Warning {
			result = Warning
		}
		lines = append(lines, Line{Result: result, Text: p.Error(), Mend: c.Edit})
	}
	if c.Problems.Failed() {
		lines = append(lines, warning(c.Edit, "the default configuration is checked instead"))
	}
	return lines
}

func (s *Seen) namespaces() []Line {
	wanted := []string{s.Config.LedgerNamespace, s.Config.ManifestNamespace}
	var lines []Line
	var there []string
	for _, name := range slices.Compact(wanted) {
		o := s.Namespaces[name]
		switch {
		case o.Unread != nil:
			lines = append(lines, s.unknown(o.Unread))
		case o.Value == nil && s.Applied != "" && name == s.Config.LedgerNamespace:
			lines = append(lines, problem(state.RestoreLedger, "the ledger is lost: there is no namespace %s, and leases have objects, such as %s", name, s.Applied))
		case o.Value == nil && s.Before:
		case o.Value == nil:
			lines = append(lines, problem(install, "there is no namespace %s", name))
		case o.Value.GetDeletionTimestamp() != nil:
			lines = append(lines, problem("kubectl describe namespace "+name, "namespace %s is being deleted; install waits until it is gone", name))
		default:
			there = append(there, name)
		}
	}
	switch {
	case len(lines) > 0:
		return lines
	case len(there) == 0:
		return []Line{ok("%s do not exist yet; install brings them", list(slices.Compact(wanted)))}
	}
	return []Line{ok("%s", list(there))}
}

// definitions checks Akash's resource definitions.
func (s *Seen) definitions() []Line {
	var lines []Line
	var there []string
	for _, k := range []kinds.Kind{kinds.Manifest, kinds.ProviderHost, kinds.ProviderLeasedIP} {
		crd := s.Definitions[k.Plural+"."+k.Group]
		absent := crd.Unread == nil && crd.Value == nil
		mend := "upgrade Akash's provider"
		if absent || crd.Unread != nil {
			mend = install
		}
		line, served := s.serves(k, mend)
		switch {
		case served:
			there = append(there, k.Plural)
		case !s.Before || !absent || line.Result == Unknown:
			lines = append(lines, line)
		}
	}
	switch group := kinds.Manifest.GroupVersion().String(); {
	case len(lines) > 0:
		return lines
	case len(there) == 0:
		return []Line{ok("%s is not served yet; install brings it", group)}
	default:
		return []Line{ok("%s serves %s", group, list(there))}
	}
}

// dns checks the kind of DNS records.
func (s *Seen) dns() []Line {
	var lines []Line
	for _, k := range kinds.WrittenRecords(s.Config) {
		line, served := s.serves(k, "install it, or configure another dns.form")
		if served {
			line = ok("%s serves %s (dns.form: %s)", k.GroupVersion(), k.Plural, strings.ToLower(s.Config.DNS.Form))
		}
		lines = append(lines, line)
	}
	return lines
}
