package diagnose

import (
	"fmt"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// BenchmarkProblems looks for problems of 8,000 hosts: of as many leases, and of one lease that is gone, of whose hosts each has two routes,
// while a command is at work on 8,000 others. Twice as many take twice the time.
func BenchmarkProblems(b *testing.B) {
	for _, n := range []int{4000, 8000} {
		b.Run(fmt.Sprint(n, " leases"), func(b *testing.B) {
			f := newFacts(b)
			for i := range n {
				id := lease.ID{Owner: fmt.Sprint("akash1", i%100), DSeq: uint64(i + 1), GSeq: 1, OSeq: 1, Provider: shop.Provider}
				f.keeps(id, f.holds(id, i))
				f.Namespaces[id.Namespace()] = true
			}
			f.repeat(b)
		})
		b.Run(fmt.Sprint(n, " hosts of a lease that is gone"), func(b *testing.B) {
			f, a := newFacts(b), announced("n0nce", 10)
			for i := range n {
				f.routes("httproute", shop, f.holds(shop, i))
				a.Groups = append(a.Groups, lease.Group{Owner: shop.Owner, DSeq: uint64(i + 10), GSeq: 1})
			}
			f.Runs = append(f.Runs, a)
			f.keeps(shop, "h0.example.com")
			delete(f.Namespaces, shop.Namespace())
			f.repeat(b)
		})
	}
}

// holds adds a host that a lease holds, declares and routes.
func (f *facts) holds(id lease.ID, i int) string {
	host := fmt.Sprintf("h%d.example.com", i)
	hold := state.HostWant{Host: host, Service: "web", Port: 80}.Hold(id)
	c := hold.Claim()
	c.Parts = hold.Parts
	f.Contents.Claims = append(f.Contents.Claims, c)
	f.routes("ingress", id, host)
	f.routes("providerhost", id, host)
	return host
}

func (f *facts) repeat(b *testing.B) {
	for b.Loop() {
		f.find()
	}
}
