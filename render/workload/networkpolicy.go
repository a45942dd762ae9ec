package workload

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	netv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	metaac "k8s.io/client-go/applyconfigurations/meta/v1"
	netac "k8s.io/client-go/applyconfigurations/networking/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
)

const (
	labelName          = "app.kubernetes.io/name"
	labelNamespaceName = "kubernetes.io/metadata.name"
	labelOpenShift     = "policy-group.network.openshift.io/ingress"
	restrictionsName   = "akash-deployment-restrictions"
	ingressNGINX       = "ingress-nginx"
	everyIPv4          = "0.0.0.0/0"
	everyIPv6          = "::/0"
)

// The private networks that leases cannot reach, in the order of Akash's provider, and those that a strict policy also
// blocks: link-local addresses, where clouds serve metadata, and shared address space.
var (
	privateIPv4 = []string{"10.0.0.0/8", "192.168.0.0/16", "172.16.0.0/12"}
	strictIPv4  = []string{"169.254.0.0/16", "100.64.0.0/10"}
	privateIPv6 = []string{"fc00::/7", "fe80::/10"}
)

// networkPolicies isolates the lease (provider: cluster/kube/builder/netpol.go): one policy for all its pods, then for
// each service the policies for its ports and for the API servers that it may reach.
func (b *builder) networkPolicies() []render.Object {
	if !b.cfg.Workloads.NetworkPolicies {
		return nil
	}
	objects := []render.Object{b.restrictions()}
	owner := map[string]string{}
	for i := range b.def.Workloads.Services {
		s, n := b.service(&b.def.Workloads.Services[i]), len(objects)
		if ports := policyPorts(s.ports, func(e lease.Expose) bool { return e.Global && !e.IsIngress() }); len(ports) > 0 {
			objects = append(objects, s.policy("akash-"+s.Name+"-np", netac.NetworkPolicySpec().WithPolicyTypes(netv1.PolicyTypeIngress).
				WithIngress(netac.NetworkPolicyIngressRule().WithPorts(ports...))))
		}
		if ports := policyPorts(s.ports, func(e lease.Expose) bool { return e.IP != "" }); len(ports) > 0 {
			objects = append(objects, s.policy("akash-"+s.Name+"-ip", netac.NetworkPolicySpec().WithPolicyTypes(netv1.PolicyTypeIngress).
				WithIngress(netac.NetworkPolicyIngressRule().WithPorts(ports...).WithFrom(b.anywhere()...))))
		}
		if s.reads() && len(b.cfg.Workloads.APIServers) > 0 {
			objects = append(objects,
				s.policy("akash-apiserver-"+s.Name, netac.NetworkPolicySpec().WithPolicyTypes(netv1.PolicyTypeEgress).
					WithEgress(apiServerRule(b.cfg.Workloads.APIServers))))
		}
		for _, o := range objects[n:] {
			if other, taken := owner[o.Name]; taken {
				b.problems.Add(s.At, "a NetworkPolicy of the service %q would have the name %q of one of the service %q: one of the two "+
					"services needs another name", s.Name, o.Name, other)
			}
			owner[o.Name] = s.Name
		}
	}
	return objects
}

// policy renders a policy for the pods of the service.
func (s *service) policy(name string, spec *netac.NetworkPolicySpecApplyConfiguration) render.Object {
	return s.builder.policy(name, spec.WithPodSelector(matching(lease.LabelService, s.Name)))
}

func (b *builder) policy(name string, spec *netac.NetworkPolicySpecApplyConfiguration) render.Object {
	return render.Object{Kind: kinds.NetworkPolicy, Namespace: b.ns, Name: name, Config: netac.NetworkPolicy(name, b.ns).
		WithLabels(b.baseLabels()).WithAnnotations(b.annotations()).WithSpec(spec)}
}

// matching returns a selector for labels, given as name, value, ….
func matching(pairs ...string) *metaac.LabelSelectorApplyConfiguration {
	labels := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		labels[pairs[i]] = pairs[i+1]
	}
	return metaac.LabelSelector().WithMatchLabels(labels)
}

// restrictions allows ingress from the lease's own pods and from the routers that serve its hosts, and egress to the
// lease's own pods, the cluster's DNS and public addresses.
func (b *builder) restrictions() render.Object {
	own := netac.NetworkPolicyPeer().WithNamespaceSelector(matching(lease.LabelNamespace, b.ns))
	spec := netac.NetworkPolicySpec().WithPodSelector(metaac.LabelSelector()).
		WithPolicyTypes(netv1.PolicyTypeIngress, netv1.PolicyTypeEgress).
		WithIngress(from(own), from(netac.NetworkPolicyPeer().
			WithNamespaceSelector(matching(labelName, ingressNGINX)).WithPodSelector(matching(labelName, ingressNGINX))))
	if b.routes(config.TargetHTTPRoute) && b.cfg.Gateway.Namespace != "" {
		spec.WithIngress(from(netac.NetworkPolicyPeer().WithNamespaceSelector(matching(labelNamespaceName, b.cfg.Gateway.Namespace))))
	}
	if b.routes(config.TargetRoute) {
		spec.WithIngress(from(netac.NetworkPolicyPeer().WithNamespaceSelector(matching(labelOpenShift, ""))))
	}
	dns := netac.NetworkPolicyPeer().WithNamespaceSelector(matching(labelNamespaceName,
		"kube-system")).WithPodSelector(matching("k8s-app", "kube-dns"))
	spec.WithEgress(
		to(own),
		to(dns).WithPorts(policyPort(corev1.ProtocolUDP, 53), policyPort(corev1.ProtocolTCP, 53)),
		to(b.public()...),
	)
	return b.policy(restrictionsName, spec)
}

// routes reports whether the target is the configuration's or that of any service.
func (b *builder) routes(target string) bool {
	return b.cfg.Target == target || slices.ContainsFunc(b.def.Services, func(s lease.Service) bool { return s.Target == target })
}

func from(peers ...*netac.NetworkPolicyPeerApplyConfiguration) *netac.NetworkPolicyIngressRuleApplyConfiguration {
	return netac.NetworkPolicyIngressRule().WithFrom(peers...)
}

func to(peers ...*netac.NetworkPolicyPeerApplyConfiguration) *netac.NetworkPolicyEgressRuleApplyConfiguration {
	return netac.NetworkPolicyEgressRule().WithTo(peers...)
}

func block(cidr string, except ...string) *netac.NetworkPolicyPeerApplyConfiguration {
	return netac.NetworkPolicyPeer().WithIPBlock(netac.IPBlock().WithCIDR(cidr).WithExcept(except...))
}

// public returns the addresses outside the cluster that a lease may reach.
func (b *builder) public() []*netac.NetworkPolicyPeerApplyConfiguration {
	if !b.cfg.Workloads.StrictNetworkPolicies {
		return []*netac.NetworkPolicyPeerApplyConfiguration{block(everyIPv4, privateIPv4...)}
	}
	return []*netac.NetworkPolicyPeerApplyConfiguration{block(everyIPv4, slices.Concat(privateIPv4, strictIPv4)...),
		block(everyIPv6, privateIPv6...)}
}

// anywhere returns the sources that may reach a leased address.
func (b *builder) anywhere() []*netac.NetworkPolicyPeerApplyConfiguration {
	peers := []*netac.NetworkPolicyPeerApplyConfiguration{block(everyIPv4)}
	if b.cfg.Workloads.StrictNetworkPolicies {
		peers = append(peers, block(everyIPv6))
	}
	return peers
}

// policyPorts returns the container ports of the selected exposes, in their order and with repeats.
func policyPorts(exposes []lease.Expose, which func(lease.Expose) bool) []*netac.NetworkPolicyPortApplyConfiguration {
	var ports []*netac.NetworkPolicyPortApplyConfiguration
	for _, e := range exposes {
		if which(e) {
			ports = append(ports, policyPort(corev1.Protocol(e.Protocol), e.Port))
		}
	}
	return ports
}

func policyPort(protocol corev1.Protocol, port uint16) *netac.NetworkPolicyPortApplyConfiguration {
	return netac.NetworkPolicyPort().WithProtocol(protocol).WithPort(intstr.FromInt32(int32(port)))
}

// apiServerRule allows egress to each API server on the ports of all of them.
func apiServerRule(servers []netip.AddrPort) *netac.NetworkPolicyEgressRuleApplyConfiguration {
	rule := netac.NetworkPolicyEgressRule()
	var ports []uint16
	for _, s := range servers {
		rule.WithTo(block(netip.PrefixFrom(s.Addr(), s.Addr().BitLen()).String()))
		if !slices.Contains(ports, s.Port()) {
			ports = append(ports, s.Port())
			rule.WithPorts(policyPort(corev1.ProtocolTCP, s.Port()))
		}
	}
	return rule
}
