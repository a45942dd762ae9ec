package model

import (
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/protocol"
)

// The protocol reads claims as they are in a cluster; a moment has them in four numbers. What is here leads from
// one to the other.

// book is what claims and wants look like to the protocol, each made once.
type book struct {
	objects map[objectKey]*state.Claim
	wants   map[Client]state.Hold
}

type objectKey struct {
	thing int
	claim claim
}

// never is a moment at which no hold has ended.
var never time.Time

// root is the key of the one part that claims have here.
var root = state.RouteKey("/")

// groups are the deployment groups of the owners: each has one.
var groups = func() (out [most + 1]lease.Group) {
	for owner := range out {
		out[owner] = lease.Group{Owner: "akash1owner" + strconv.Itoa(owner), DSeq: 1, GSeq: 1}
	}
	return out
}()

func group(owner uint8) lease.Group { return groups[owner] }

// decide judges parts for the owners.
var decide = func() (out [most + 1]func(*state.Claim, state.Part) state.Finding) {
	for owner, g := range groups {
		out[owner] = func(c *state.Claim, p state.Part) state.Finding {
			return state.Judge{Group: g}.Decide(state.Hold{}, p.Key, c, nil)
		}
	}
	return out
}()

func nonce(run uint8) string { return strconv.Itoa(int(run)) }

func uid(c claim) types.UID { return types.UID(strconv.Itoa(int(c.uid))) }

// name is what a thing is called: a wildcard is above the hosts of its domain.
func (w *World) name(thing int) string {
	over := thing
	if !wildcard(thing) {
		over = w.Over[thing]
	}
	domain := "d" + strconv.Itoa(over) + ".example.com"
	if wildcard(thing) {
		return "*." + domain
	}
	return "h" + strconv.Itoa(thing) + "." + domain
}

func part(owner, mark uint8, bound bool) state.Part {
	g := group(owner)
	p := state.Part{Key: root, Path: "/", Bound: bound, Lease: lease.ID{Owner: g.Owner, DSeq: g.DSeq, GSeq: g.GSeq}}
	if mark != 0 {
		p.Run = nonce(mark)
	}
	return p
}

// want is what a client wants to hold.
func (w *World) want(c Client) state.Hold {
	want, known := w.shelf().wants[c]
	if !known {
		want = state.Hold{Kind: kind(c.Thing), Thing: w.name(c.Thing), Parts: []state.Part{part(c.Owner, 0, false)}}
		w.book.wants[c] = want
	}
	return want
}

func kind(thing int) state.Kind {
	if wildcard(thing) {
		return state.Wildcard
	}
	return state.Host
}

// object is a claim as a run reads it; nil where there is none.
func (w *World) object(thing int, c claim) *state.Claim {
	if c.uid == 0 {
		return nil
	}
	key := objectKey{thing, c}
	o := w.shelf().objects[key]
	if o == nil {
		o = &state.Claim{
			Kind: kind(thing), Thing: w.name(thing), Owner: group(c.owner).Owner, UID: uid(c),
			Parts: []state.Part{part(c.owner, c.mark, c.bound)},
		}
		w.book.objects[key] = o
	}
	return o
}

func (w *World) shelf() *book {
	if w.book == nil {
		w.book = &book{objects: map[objectKey]*state.Claim{}, wants: map[Client]state.Hold{}}
	}
	return w.book
}

// hosts are the claims on hosts, as a LIST gives them.
func (w *World) hosts(s *moment) []*state.Claim {
	out := make([]*state.Claim, 0, len(w.Over))
	for host := range w.Over {
		if c := w.object(host, s.claims[host]); c != nil {
			out = append(out, c)
		}
	}
	return out
}

// write makes of a claim what the parts say: the API server keeps its owner and its UID.
func (c *claim) write(parts []state.Part) {
	if len(parts) == 0 {
		*c = claim{}
		return
	}
	mark, _ := strconv.Atoi(parts[0].Run)
	c.mark, c.bound = uint8(mark), parts[0].Bound
}

// binding is what the protocol does with a pending wildcard.
type binding struct {
	Next  protocol.Next
	Parts []state.Part
}

func (w *World) binding(c Client, own claim, stand, ended []*state.Claim) (b binding) {
	b.Next, b.Parts = protocol.Bind(w.want(c), w.object(c.Thing, own), group(c.Owner), stand, ended)
	return b
}

// final takes the marks away.
func (w *World) final(run uint8) func(*state.Claim) ([]state.Part, bool) {
	return func(c *state.Claim) ([]state.Part, bool) {
		parts := append([]state.Part{}, c.Parts...)
		for i := range parts {
			if !w.OldMark || parts[i].Run == nonce(run) {
				parts[i].Run = ""
			}
		}
		return parts, true
	}
}
