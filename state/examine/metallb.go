package examine

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
)

// leasesAddresses reports whether the configuration leases addresses.
func leasesAddresses(cfg *config.ProviderConfig) bool {
	return cfg.IP.Mode == config.ModePool || len(cfg.IP.Ranges.Include) > 0
}

// metallb checks whether MetalLB is installed, and whether its controller answers.
func (s *Seen) metallb() []Line {
	const installIt = "install MetalLB (https://metallb.io)"
	for _, k := range kinds.WrittenPools(s.Config) {
		line, served := s.serves(k, installIt)
		switch {
		case served:
		case line.Result == Problem && !leasesAddresses(s.Config):
			return []Line{ok("%s; the configuration leases no addresses", line.Text)}
		default:
			return []Line{line}
		}
	}
	return s.controller()
}

// prefix checks the prefix of MetalLB's annotations.
func (s *Seen) prefix() []Line {
	const mend = "kubectl akash-net config edit"
	want, has := config.MetalLBPrefix(s.Served[kinds.IPAddressPool.GroupVersion()].Value), s.Config.IP.AnnotationPrefix
	if want == has || want == config.Default().IP.AnnotationPrefix || !leasesAddresses(s.Config) { // it may be v0.14.9, which reads both
		return nil
	}
	return []Line{warning(mend, "ip.annotationPrefix is %s, which this MetalLB deprecates; it wants %s", has, want)}
}

// controller checks whether MetalLB's controller answers.
func (s *Seen) controller() []Line {
	namespace := s.Config.IP.MetalLBNamespace
	counted := slices.ContainsFunc(s.Pools.Value, func(o Object) bool { return state.PoolObjectOf(o).Counted })
	i := slices.IndexFunc(s.MetalLB.Value, isController)
	switch {
	case i >= 0 && isTrue(s.MetalLB.Value[i], "Available"):
		return []Line{ok("its controller is available (deployment %s/%s)", namespace, s.MetalLB.Value[i].GetName())}
	case i >= 0:
		name := s.MetalLB.Value[i].GetName()
		return []Line{problem("kubectl -n "+namespace+" describe deployment "+name, "its controller, deployment %s/%s, is not available%s: no address is granted",
			namespace, name, why(s.MetalLB.Value[i], "Available"))}
	case counted:
		return []Line{ok("its controller counts the addresses of pools in namespace %s", namespace)}
	case s.MetalLB.Unread != nil:
		return []Line{s.unknown(s.MetalLB.Unread)}
	}
	return []Line{warning("kubectl get deployments -A -l 'app.kubernetes.io/component=controller'; ip.metallbNamespace of the configuration names the namespace",
		"its resource definitions are installed; no Deployment of its controller was seen in namespace %s", namespace)}
}

// isController reports whether a Deployment is MetalLB's controller, by the labels of its manifests and of its chart.
func isController(o Object) bool {
	l := o.GetLabels()
	return l["app"] == "metallb" && l["component"] == "controller" ||
		l["app.kubernetes.io/name"] == "metallb" && l["app.kubernetes.io/component"] == "controller"
}

// pools checks whether the addresses that the configuration leases have pools, and whether these are announced.
func (s *Seen) pools() []Line {
	if _, served := s.serves(kinds.IPAddressPool, ""); !served {
		return nil
	}
	switch {
	case s.Pools.Unread != nil:
		return []Line{s.unknown(s.Pools.Unread)}
	case !leasesAddresses(s.Config):
		return []Line{ok("ip.ranges is empty: no addresses are leased")}
	case s.Config.IP.Mode == config.ModePool:
		return s.poolOfAdministrator()
	}
	var pools []state.PoolObject
	for _, o := range s.Pools.Value {
		pools = append(pools, state.PoolObjectOf(o))
	}
	var lines []Line
	for _, r := range s.Config.IP.Ranges.Include {
		lines = append(lines, s.rangeOf(r, state.NewPoolIndex(pools))...)
	}
	return append(lines, s.formerAdvertisements()...)
}

// formerAdvertisements finds the pools of this program that have an advertisement of this program of another type than configured.
func (s *Seen) formerAdvertisements() []Line {
	if s.L2Advertisements.Unread != nil || s.BGPAdvertisements.Unread != nil {
		return nil // announced says so
	}
	of := map[kinds.Kind][]Object{kinds.L2Advertisement: s.L2Advertisements.Value, kinds.BGPAdvertisement: s.BGPAdvertisements.Value}
	want := kinds.AdvertisementOf(s.Config)
	var lines []Line
	for _, former := range kinds.Advertisements {
		var only, both []string
		for _, o := range of[former] {
			switch pool := named(s.Pools.Value, o.GetName()); {
			case former == want || pool == nil || !isOurs(o) || !isOurs(pool) || o.GetDeletionTimestamp() != nil:
			case slices.ContainsFunc(of[want], func(a Object) bool { return selects(a, pool) }):
				both = append(both, o.GetName())
			default:
				only = append(only, o.GetName())
			}
		}
		if len(only) > 0 {
			lines = append(lines, warning(advertise(s.Config), "IPAddressPool %s is announced by the %s of this program alone; ip.advertisement.type is %s",
				some(only), former.Kind, s.Config.IP.Advertisement.Type))
		} else if len(both) > 0 {
			lines = append(lines, warning("kubectl -n "+s.Config.IP.MetalLBNamespace+" delete "+former.Plural+" -l "+lease.LabelOurs+"=true",
				"IPAddressPool %s is announced by the %s of this program, too; ip.advertisement.type is %s", some(both), former.Kind, s.Config.IP.Advertisement.Type))
		}
	}
	return lines
}

// isOurs reports whether this program has created an object.
func isOurs(o Object) bool { return o.GetLabels()[lease.LabelOurs] == "true" }

// advertise returns the command that writes the advertisements of the pools. Its field manager is that of apply, so that later applies may
// change them.
func advertise(cfg *config.ProviderConfig) string {
	leases := ""
	if cfg.IP.Mode == config.ModeDedicated {
		leases = " -R -f LEASES"
	}
	return "kubectl akash-net render pools --ledger cluster" + leases + " | kubectl apply --server-side --field-manager=" + lease.FieldManager + " -f -"
}

// poolOfAdministrator checks the pool from which MetalLB chooses addresses (ip.mode pool). Services that name the pool "default"
// get the address of any pool, as Akash's do.
func (s *Seen) poolOfAdministrator() []Line {
	if pool := named(s.Pools.Value, s.Config.IP.Pool); pool != nil {
		return []Line{s.announced(pool, "the pool of ip.pool")}
	}
	if line, missing := s.poolMissing(); missing {
		return []Line{line}
	}
	var lines []Line
	for _, pool := range assigning(s.Pools.Value) {
		lines = append(lines, s.announced(pool, "MetalLB chooses from it"))
	}
	return lines
}

// poolMissing reports whether there is no pool from which MetalLB could choose an address.
func (s *Seen) poolMissing() (line Line, missing bool) {
	const edit = "set ip.pool of the configuration, or create the pool"
	name, namespace := s.Config.IP.Pool, s.Config.IP.MetalLBNamespace
	switch {
	case named(s.Pools.Value, name) != nil:
	case name != config.Default().IP.Pool && len(s.Pools.Value) == 0:
		return problem(edit, "there is no IPAddressPool %s/%s (ip.pool), nor another one", namespace, name), true
	case name != config.Default().IP.Pool:
		return problem(edit, "there is no IPAddressPool %s/%s (ip.pool); there are %s", namespace, name, some(names(s.Pools.Value))), true
	case len(assigning(s.Pools.Value)) == 0:
		return problem(edit, "there is no IPAddressPool in namespace %s that assigns addresses by itself", namespace), true
	}
	return Line{}, false
}

// assigning returns those of the pools from which MetalLB chooses addresses by itself.
func assigning(pools []Object) []Object {
	return slices.DeleteFunc(slices.Clone(pools), func(o Object) bool {
		assign, set, _ := unstructured.NestedBool(o.Object, "spec", "autoAssign")
		return set && !assign
	})
}

// rangeOf checks the pools that have addresses of a configured range.
func (s *Seen) rangeOf(r config.Range, pools *state.PoolIndex) []Line {
	var lines []Line
	for _, piece := range s.Config.IP.Ranges.Pieces(r) {
		for _, pool := range pools.Sharing(piece) {
			switch o := named(s.Pools.Value, pool.Name); {
			case !pool.Ours:
				lines = append(lines, problem("kubectl -n "+pool.Ref.Namespace+" edit ipaddresspool "+pool.Name+", or exclude the addresses in ip.ranges",
					"%s: IPAddressPool %s/%s, which this program did not create, has addresses of it; MetalLB rejects pools that overlap, so apply refuses the range",
					r.Text, pool.Ref.Namespace, pool.Name))
			case o != nil && s.Config.IP.Mode == config.ModeRange:
				lines = append(lines, s.announced(o, r.Text))
			}
		}
	}
	switch {
	case len(lines) > 0:
		return lines
	case s.Config.IP.Mode == config.ModeDedicated:
		return []Line{ok("%s: each leased address has a pool of its own", r.Text)}
	}
	return []Line{ok("%s: apply creates IPAddressPool %s with its %s when a lease needs it", r.Text, r.PoolName(), kinds.AdvertisementOf(s.Config).Kind)}
}

// announced checks whether an advertisement selects a pool. of says what the pool is for.
func (s *Seen) announced(pool Object, of string) Line {
	for _, a := range slices.Concat(s.L2Advertisements.Value, s.BGPAdvertisements.Value) {
		if selects(a, pool) {
			return ok("%s: IPAddressPool %s is announced by %s %s", of, pool.GetName(), a.GetKind(), a.GetName())
		}
	}
	for _, u := range []*Unread{s.L2Advertisements.Unread, s.BGPAdvertisements.Unread} {
		if u != nil {
			line := s.unknown(u)
			line.Text = of + ": whether IPAddressPool " + pool.GetName() + " is announced is not known: " + line.Text
			return line
		}
	}
	mend := "create an L2Advertisement or a BGPAdvertisement for it (https://metallb.io/configuration)"
	if state.PoolObjectOf(pool).Ours {
		mend = advertise(s.Config)
	}
	return problem(mend, "%s: nothing announces IPAddressPool %s: its addresses are granted, and not reached", of, pool.GetName())
}

// selects reports whether an advertisement selects a pool of its namespace: by name or by label, or all without either (MetalLB:
// internal/config, selectedPools).
func selects(advertisement, pool Object) bool {
	if advertisement.GetNamespace() != pool.GetNamespace() || advertisement.GetDeletionTimestamp() != nil {
		return false
	}
	byName, _, _ := unstructured.NestedStringSlice(advertisement.Object, "spec", "ipAddressPools")
	byLabel, _, _ := unstructured.NestedSlice(advertisement.Object, "spec", "ipAddressPoolSelectors")
	if len(byName)+len(byLabel) == 0 || slices.Contains(byName, pool.GetName()) {
		return true
	}
	return slices.ContainsFunc(byLabel, func(v any) bool { return matches(v, pool.GetLabels()) })
}

// matches reports whether a label selector, as an object has it, matches labels.
func matches(selector any, l map[string]string) bool {
	var parsed metav1.LabelSelector
	fields, ok := selector.(map[string]any)
	if !ok || runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &parsed) != nil {
		return false
	}
	matcher, err := metav1.LabelSelectorAsSelector(&parsed)
	return err == nil && matcher.Matches(labels.Set(l))
}

// lower returns the kind of an object as kubectl names it.
func lower(o Object) string { return strings.ToLower(o.GetKind()) }
