package commands

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Leases of one input are served in its order, however many are worked on at a time: of several that ask for the same thing the
// first gets it, and addresses are given in that order. So a plan of them is always the same, and apply carries it out.
func TestInputIsServedInOrder(t *testing.T) {
	t.Parallel()
	subnet, domain := newNet(), newDomain()
	config := configure(t, "ip: {ranges: ["+subnet+"0/28]}")
	owner := newOwner()
	var ids []lease.ID
	var texts []string
	for i := range uint64(4) { // deployments of one owner, which ask for the same
		ids = append(ids, leaseOf(owner, i+1))
		port := 7001
		if i == 3 { // but the last asks for another port of the address
			port = 7004
		}
		texts = append(texts, read(t, define(t, ids[i], web("web", 8080, "a."+domain, fmt.Sprintf("own%d.%s", i, domain)), leased("game", "public", port))))
	}
	for i := range 8 { // other owners, an address each
		id := leaseOf(newOwner(), 1)
		ids, texts = append(ids, id), append(texts, read(t, define(t, id, web("web", 8080, fmt.Sprintf("other%d.%s", i, domain)), leased("game", "public", 7001))))
	}
	input := file(t, strings.Join(texts, "---\n"))
	args := []string{"-f", input, "--config", config, "--concurrency", "16"}
	saved := mustRun(t, 1, append([]string{"diff", "-o", "json"}, args...)...).Stdout
	for range 3 {
		if again := mustRun(t, 1, append([]string{"diff", "-o", "json"}, args...)...).Stdout; again != saved {
			t.Fatalf("two plans of one input differ:\n%s\n%s", saved, again)
		}
	}
	mustRun(t, 0, append([]string{"apply", "--dry-run=client"}, args...)...).Prints(t,
		"host/a."+domain+" withheld (held by deployment "+ids[0].Group().String()+")", "address/"+subnet+"0 claimed", "address/"+subnet+"8 claimed")
	mustRun(t, 0, "apply", "--plan", file(t, saved), "--config", config, "--concurrency", "16", "--wait=false")
	for range 2 {
		held(t, "a."+domain, "1 /")
		for i, id := range append(ids[:1:1], ids[4:]...) {
			name := state.AddressName(netip.MustParseAddr(fmt.Sprintf("%s%d", subnet, i)))
			want := []string{"1 7001/tcp"}
			if i == 0 {
				want = append(want, "4 7004/tcp")
			}
			held(t, name, want...)
			if owner := claim(t, name).Owner; owner != id.Owner {
				t.Errorf("%s is held by %s, want %s", name, owner, id.Owner)
			}
		}
		p := startProxy(t, func(string) bool { return false })
		mustRun(t, 0, append([]string{"apply", "--wait=false", "--kubeconfig", p.kubeconfig}, args...)...)
		if writes := p.sent(everything...); len(writes) > 0 {
			t.Errorf("applied again, it wrote %q", writes)
		}
	}
}
