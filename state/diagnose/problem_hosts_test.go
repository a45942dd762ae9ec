package diagnose

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/dns"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// nextOrder is the order after that of statetest.Shop, of which nothing is in the cluster.
var nextOrder = func() lease.ID {
	id := statetest.Shop
	id.OSeq++
	return id
}()

// besides are variants of a case without its problem.
type besides = map[string]func(f *facts)

// beside returns one variant.
func beside(name string, change func(f *facts)) besides { return besides{name: change} }

var claimProblems = []aProblem{
	{state.RoomGone, "the node of a reservation is gone", func(f *facts) { f.reserves("rs--1"); f.Lost = map[string]bool{"rs--1": true} }, besides{
		"it is back":            func(f *facts) { f.Lost = map[string]bool{} },
		"nodes may not be read": func(f *facts) { f.Lost = nil },
		"another's is gone":     func(f *facts) { f.Lost = map[string]bool{"rs--2": true} },
	}},
	{state.CrashedRun, "a run took a host and made nothing", func(f *facts) { f.holds(statetest.Shop, atHost, marked) }, besides{
		"it ended":         func(f *facts) { f.Claims[0].Parts[0].Run = "" },
		"it is at work":    func(f *facts) { f.Runs = []*state.Announcement{announced("n0nce", 10)} },
		"the hold is over": func(f *facts) { ends(1)(&f.Claims[0].Parts[0]) },
	}},
	{state.CrashedRun, "a run took a host and routed it", func(f *facts) { f.holds(statetest.Shop, atHost, marked); f.routes("ingress", statetest.Shop, atHost) },
		beside("its announcement has gone since the claim was read", func(f *facts) { f.Runs = []*state.Announcement{} })},
	{state.CrashedRun, "a run took a host and declared it alone", func(f *facts) {
		f.holds(statetest.Shop, atHost, marked)
		f.routes(kinds.ProviderHost.Singular, statetest.Shop, atHost)
	},
		beside("another command works in its place", func(f *facts) {
			dead, by := announced("n0nce", 0), announced("another", 10)
			dead.Phase, dead.FencedBy = state.Fenced, "another"
			f.Runs = []*state.Announcement{dead, by}
		})},
	{state.CrashedRun, "a run took over a host that the former holder serves", func(f *facts) {
		f.holds(statetest.Shop, atHost, marked, func(p *state.Part) { p.From = sibling.Group().String() })
		f.routes("ingress", sibling, atHost)
	}, beside("it ended", func(f *facts) { f.Claims[0].Parts[0].Run = "" })},
	{state.CrashedRun, "a run took over a host and its ProviderHost, and Akash's operator serves it for the former holder", func(f *facts) {
		f.holds(statetest.Shop, atHost, marked, func(p *state.Part) { p.From = sibling.Group().String() })
		f.routes(kinds.ProviderHost.Singular, statetest.Shop, atHost)
		byAkash(f.routes("ingress", sibling, atHost))
	}, beside("it ended", func(f *facts) { f.Claims[0].Parts[0].Run = "" })},
	{state.NamespaceGone, "the namespace of a lease that was applied is gone", func(f *facts) {
		f.holds(statetest.Shop, atHost, wasApplied)
		delete(f.Namespaces, statetest.Shop.Namespace())
	}, besides{
		"it is there":            func(f *facts) { f.Namespaces[statetest.Shop.Namespace()] = true },
		"it was only reserved":   func(f *facts) { f.Claims[0].Parts[0].Applied = false },
		"a run has just begun":   func(f *facts) { marked(&f.Claims[0].Parts[0]) },
		"the hold ended as well": func(f *facts) { ends(1)(&f.Claims[0].Parts[0]) },
		"the next order serves it": func(f *facts) {
			f.Namespaces[nextOrder.Namespace()] = true
			f.routes("ingress", nextOrder, atHost)
		},
		"the next order serves it, by Akash's operator": func(f *facts) {
			f.Namespaces[nextOrder.Namespace()] = true
			byAkash(f.routes("ingress", nextOrder, atHost))
		},
	}},
	{state.NamespaceGone, "the namespaces of two orders are gone, and what is left is the first one's", func(f *facts) {
		f.holds(nextOrder, atHost, wasApplied)
		f.routes(kinds.ProviderHost.Singular, statetest.Shop, atHost)
		delete(f.Namespaces, statetest.Shop.Namespace())
	}, besides{
		"the first one lives": func(f *facts) {
			f.Namespaces[statetest.Shop.Namespace()] = true
			f.routes("ingress", statetest.Shop, atHost)
		},
		"the next order has only reserved it": func(f *facts) { f.Claims[0].Parts[0].Applied = false },
	}},
	{state.NamespaceGone, "the namespace is gone, and a ProviderHost shows that it was there", func(f *facts) {
		f.holds(statetest.Shop, atHost)
		f.routes(kinds.ProviderHost.Singular, statetest.Shop, atHost)
		delete(f.Namespaces, statetest.Shop.Namespace())
	}, beside("a pipeline delivered it", func(f *facts) {
		f.Objects[0].Written = statetest.Minute(0).AddDate(-9999, 0, 0)
		f.Objects[0].Ours = false
	})},
	{state.HoldEnded, "a hold is over", func(f *facts) { f.holds(statetest.Shop, atHost, ends(4)) }, besides{
		"it is not over yet": func(f *facts) { ends(10)(&f.Claims[0].Parts[0]) },
		"it has no end":      func(f *facts) { f.Claims[0].Parts[0].Expires = "" },
	}},
	{state.HoldEnded, "a wildcard is pending for years", func(f *facts) {
		f.holds(statetest.Shop, "*.example.com", marked, ends(100*365*24*60)).Kind = state.Wildcard
	}, besides{
		"it is bound":                 func(f *facts) { f.Claims[0].Parts[0].Bound = true },
		"it ends as soon as runs say": func(f *facts) { ends(11)(&f.Claims[0].Parts[0]) },
	}},
	{state.NothingLeft, "nothing serves what a lease was applied for", func(f *facts) { f.holds(statetest.Shop, atHost, wasApplied) }, besides{
		"it was only reserved":      func(f *facts) { f.Claims[0].Parts[0].Applied = false },
		"its route is there":        func(f *facts) { f.routes("ingress", statetest.Shop, atHost) },
		"its ProviderHost is there": func(f *facts) { byAkash(f.routes(kinds.ProviderHost.Singular, statetest.Shop, atHost)) },
		"a redirect of it is there": func(f *facts) {
			f.routes("httproute", statetest.Shop, atHost, func(u *state.Use) { u.Path, u.Redirect = "/x", true })
		},
		"it was written of late":     func(f *facts) { f.Claims[0].Updated = statetest.Minute(9) },
		"a former holder serves it":  func(f *facts) { f.Claims[0].Parts[0].From = sibling.Group().String() },
		"a run has it":               func(f *facts) { marked(&f.Claims[0].Parts[0]) },
		"the claim is being deleted": func(f *facts) { f.Claims[0].Deleting = true },
	}},
	{state.NothingLeft, "nothing serves one path of two", func(f *facts) {
		c := f.holds(statetest.Shop, atHost, wasApplied)
		c.Parts = append(c.Parts, state.Part{Key: state.RouteKey("/v1"), Path: "/v1", Lease: statetest.Shop, Service: "api", Port: 80, Applied: true})
		f.routes("ingress", statetest.Shop, atHost)
	}, beside("both are served", func(f *facts) {
		f.routes("ingress", statetest.Shop, atHost, func(u *state.Use) { u.Path, u.Service = "/v1", "api" })
	})},
	{state.UnreadableClaim, "a claim cannot be understood", func(f *facts) { f.holds(statetest.Shop, "*.example.com").Unreadable = "annotation x is not JSON" },
		beside("it can", func(f *facts) { f.Claims[0].Unreadable = "" })},
	{state.UnreadableClaim, "an object with the name of a served host says that it is a reservation", func(f *facts) {
		f.routes("ingress", statetest.Shop, atHost)
		f.reserves(atHost)
		f.Contents.Reservations[0].Unreadable = "its name is not that of a reservation"
	}, beside("it is being deleted", func(f *facts) { f.Contents.Reservations[0].Deleting = true })},
	{state.UnreadableDefinition, "an object with the name of a served host says that it is a definition", func(f *facts) {
		f.routes("ingress", statetest.Shop, atHost)
		f.Definitions = []KeptDefinition{{ObjectRef: state.ObjectRef{Kind: "lease", Name: atHost}, Unreadable: "it has no text"}}
	}, beside("somebody has deleted it", func(f *facts) { f.Definitions = nil })},
	{state.Terminating, "a claim is kept by finalizers", func(f *facts) {
		c := f.holds(statetest.Shop, atHost)
		c.Deleting, c.Finalizers = true, []string{"example.com/keep", "example.com/too"}
	}, besides{
		"nothing keeps it":        func(f *facts) { f.Claims[0].Finalizers = nil },
		"it is not being deleted": func(f *facts) { f.Claims[0].Deleting = false },
	}},
	{state.Terminating, "a released route is kept by finalizers, and its ProviderHost is gone", func(f *facts) {
		f.holds(statetest.Shop, atHost)
		o := f.routes("ingress", statetest.Shop, atHost)
		o.ByOperators, o.Deleting, o.Finalizers = true, true, []string{"example.com/keep"}
	}, besides{
		"nothing keeps it": func(f *facts) { f.Objects[0].Finalizers = nil },
		"it is of another definition than what stands": func(f *facts) {
			f.Objects[0].Finalizers, f.Objects[0].Definition = nil, "former"
			f.holds(statetest.Shop, "b.example.com")
			f.routes("ingress", statetest.Shop, "b.example.com").Definition = "latter"
			f.routes(kinds.ProviderHost.Singular, statetest.Shop, "b.example.com").Definition = "latter"
		},
		"somebody else made it": func(f *facts) { f.Objects[0].Ours, f.Objects[0].HasLease = false, false },
	}},
	{state.LostMarks, "a claim was restored from a backup", func(f *facts) { f.holds(statetest.Shop, atHost).Unmanaged = []lease.Group{statetest.Shop.Group()} }, besides{
		"its managers own it":     func(f *facts) { f.Claims[0].Unmanaged = nil },
		"it is being deleted":     func(f *facts) { f.Claims[0].Deleting = true },
		"it cannot be understood": func(f *facts) { f.Claims[0].Unreadable = "x" },
	}},
	{state.BlockedHost, "a claimed host is blocked", func(f *facts) { f.holds(statetest.Shop, atHost); f.Config.Hosts.Blocked = []string{atHost} },
		beside("another is", func(f *facts) { f.Config.Hosts.Blocked = []string{"b.example.com"} })},
	{state.BlockedHost, "a blocked host is served, and nobody has claimed it", func(f *facts) {
		f.routes("ingress", statetest.Shop, atHost)
		f.routes(kinds.ProviderHost.Singular, statetest.Shop, atHost)
		f.Config.Hosts.Blocked = []string{".example.com"}
	}, beside("another domain is blocked", func(f *facts) { f.Config.Hosts.Blocked = []string{".example.org"} })},
}

var hostProblems = []aProblem{
	{state.RouteWithoutClaim, "a lease serves what nobody has claimed", func(f *facts) {
		f.routes("ingress", statetest.Shop, atHost)
		f.routes(kinds.ProviderHost.Singular, statetest.Shop, atHost)
	}, besides{
		"it holds it":                      func(f *facts) { f.holds(statetest.Shop, atHost) },
		"another does":                     func(f *facts) { f.holds(statetest.Blog, atHost) },
		"nobody can read the claim":        func(f *facts) { f.holds(statetest.Blog, atHost).Unreadable = "x" },
		"it has no parts that can be read": func(f *facts) { c := f.holds(statetest.Blog, atHost); c.Unreadable, c.Parts = "x", nil },
		"Akash wrote it":                   func(f *facts) { byAkash(&f.Objects[0]); byAkash(&f.Objects[1]) },
	}},
	{state.RouteWithoutClaim, "a lease serves a path that it does not hold", func(f *facts) {
		f.holds(statetest.Shop, atHost)
		f.routes("ingress", statetest.Shop, atHost, func(u *state.Use) { u.Path, u.Service = "/v1", "api" })
	}, beside("it is a redirect", func(f *facts) { f.Objects[0].Uses[0].Redirect = true })},
	{state.StrayRoute, "a route of another owner's host", func(f *facts) {
		f.holds(statetest.Blog, atHost)
		f.routes("ingress", statetest.Shop, atHost)
		f.routes(kinds.ProviderHost.Singular, statetest.Shop, atHost)
	},
		beside("it is the holder's", func(f *facts) { f.Claims = nil; f.holds(statetest.Shop, atHost) })},
	{state.StrayRoute, "a route below another owner's wildcard", func(f *facts) {
		f.holds(statetest.Blog, "*.example.com", func(p *state.Part) { p.Bound = true }).Kind = state.Wildcard
		f.routes("ingress", statetest.Shop, atHost)
	}, besides{
		"the wildcard is pending": func(f *facts) { f.Claims[0].Parts[0].Bound = false },
		"it is its owner's": func(f *facts) {
			f.Claims = nil
			f.holds(sibling, "*.example.com", func(p *state.Part) { p.Bound = true })
		},
	}},
	{state.StrayRoute, "a route of the former holder, which nobody waits for", func(f *facts) { f.holds(sibling, atHost); f.routes("ingress", statetest.Shop, atHost) },
		beside("it serves until the next apply", func(f *facts) { f.Claims[0].Parts[0].From = statetest.Shop.Group().String() })},
	{state.StrayRoute, "Akash's provider declares it for a sibling", func(f *facts) {
		f.holds(statetest.Shop, atHost)
		byAkash(f.routes(kinds.ProviderHost.Singular, sibling, atHost))
		byAkash(f.routes("ingress", sibling, atHost))
	}, beside("the claim has followed", func(f *facts) { f.Claims[0].Parts[0].Lease = sibling })},
	{state.StrayRoute, "Akash's operator has just made its route for a sibling", func(f *facts) {
		f.holds(statetest.Shop, atHost)
		byAkash(f.routes("ingress", sibling, atHost)).Since = statetest.Minute(9)
	}, beside("for the holder", func(f *facts) { f.Claims = nil; f.holds(sibling, atHost) })},
	{state.StrayRoute, "Akash's operator serves it for a sibling", func(f *facts) { f.holds(statetest.Shop, atHost); byAkash(f.routes("ingress", sibling, atHost)) }, besides{
		"for the holder":             func(f *facts) { f.Claims = nil; f.holds(sibling, atHost) },
		"the claim cannot be read":   func(f *facts) { f.Claims[0].Unreadable = "x" },
		"for the holder's successor": func(f *facts) { f.Claims[0].Parts[0].From = sibling.Group().String() },
		"a run takes it":             func(f *facts) { marked(&f.Claims[0].Parts[0]) },
	}},
	{state.NotDeclared, "Akash's operator serves it since a transfer, and nothing declares it", func(f *facts) {
		f.holds(statetest.Shop, atHost, func(p *state.Part) { p.From = sibling.Group().String() })
		byAkash(f.routes("ingress", sibling, atHost))
	}, besides{
		"it is declared":        func(f *facts) { byAkash(f.routes(kinds.ProviderHost.Singular, sibling, atHost)) },
		"it was made of late":   func(f *facts) { f.Objects[0].Since = statetest.Minute(9) },
		"this program wrote it": func(f *facts) { f.Objects[0].Ours = true },
	}},
	{state.StrayRoute, "Akash's operator serves it for another owner", func(f *facts) { f.holds(statetest.Blog, atHost); byAkash(f.routes("ingress", statetest.Shop, atHost)) },
		beside("nobody holds it", func(f *facts) { f.Claims = nil })},
	{state.StrayRoute, "Akash's provider has moved a declaration of ours to a sibling", func(f *facts) {
		f.holds(statetest.Shop, atHost)
		byAkash(f.routes(kinds.ProviderHost.Singular, sibling, atHost)).MovedFrom = []lease.Group{statetest.Shop.Group()}
	}, beside("the claim has followed", func(f *facts) { f.Claims[0].Parts[0].Lease = sibling })},
	{state.RouteDiffers, "a route leads elsewhere", func(f *facts) {
		f.holds(statetest.Shop, atHost)
		f.routes("ingress", statetest.Shop, atHost, backendIs("old"))
	}, besides{
		"it leads where the claim says": func(f *facts) { f.Claims[0].Parts[0].Service = "old" },
		"the claim names no backend":    func(f *facts) { f.Claims[0].Parts[0].Service = "" },
		"it is a redirect":              func(f *facts) { f.Objects[0].Uses[0].Redirect = true },
	}},
	{state.RouteDiffers, "a route of Akash's operator leads to another port", func(f *facts) {
		f.holds(statetest.Shop, atHost)
		byAkash(f.routes("ingress", statetest.Shop, atHost, func(u *state.Use) { u.Port = 8080 }))
	}, besides{
		"it has caught up":                 func(f *facts) { f.Claims[0].Parts[0].Port = 8080 },
		"the claim cannot be read":         func(f *facts) { f.Claims[0].Unreadable = "x" },
		"a Route names the container port": func(f *facts) { f.Objects[0].Kind = "route" },
		"a run is about to change it":      func(f *facts) { marked(&f.Claims[0].Parts[0]) },
		"Akash's provider declares that port, by a tenant's update": func(f *facts) {
			byAkash(f.routes(kinds.ProviderHost.Singular, statetest.Shop, atHost, func(u *state.Use) { u.Port = 8080 }))
		},
		"Akash's provider has written that port over a ProviderHost of ours": func(f *facts) {
			f.routes(kinds.ProviderHost.Singular, statetest.Shop, atHost, func(u *state.Use) { u.Port = 8080 }).Shared = true
		},
	}},
	{state.RouteDiffers, "somebody has written another port over a ProviderHost of ours, and the operator has followed", func(f *facts) {
		f.holds(statetest.Shop, atHost)
		byAkash(f.routes("ingress", statetest.Shop, atHost, func(u *state.Use) { u.Port = 8080 }))
		f.routes(kinds.ProviderHost.Singular, statetest.Shop, atHost, func(u *state.Use) { u.Port = 8080 })
	}, beside("the claim says it", func(f *facts) { f.Claims[0].Parts[0].Port = 8080 })},
	{state.StrayRoute, "the operator has left the former lease's route beside the holder's", func(f *facts) {
		f.holds(sibling, atHost)
		f.routes(kinds.ProviderHost.Singular, sibling, atHost)
		byAkash(f.routes("ingress", sibling, atHost))
		byAkash(f.routes("ingress", statetest.Shop, atHost)).Since = statetest.Minute(9)
	}, beside("it is the holder's", func(f *facts) { f.Objects = f.Objects[:2] })},
	{state.StrayRoute, "the operator has not yet moved the route to the holder", func(f *facts) {
		f.holds(sibling, atHost)
		f.routes(kinds.ProviderHost.Singular, sibling, atHost)
		byAkash(f.routes("ingress", statetest.Shop, atHost))
	}, beside("it serves until the next apply", func(f *facts) { transferredFrom(statetest.Shop)(&f.Claims[0].Parts[0]) })},
	{state.OperatorStops, "a ProviderHost of a lease without Manifest", func(f *facts) {
		f.holds(statetest.Shop, atHost)
		f.routes(kinds.ProviderHost.Singular, statetest.Shop, atHost)
		f.Lacks = lacksManifest
	}, besides{
		"the operator finds it":    func(f *facts) { f.Lacks = func(lease.ID, string, uint16) string { return "" } },
		"no hostname operator":     func(f *facts) { f.Lacks = nil },
		"nothing but its route is": func(f *facts) { f.Objects[0].Kind = "ingress" },
	}},
	{state.OperatorStops, "the same, while its host is served", func(f *facts) {
		f.holds(statetest.Shop, atHost)
		f.routes(kinds.ProviderHost.Singular, statetest.Shop, atHost)
		f.routes("ingress", statetest.Shop, atHost)
		f.Lacks = lacksManifest
	}, beside("the operator finds it", func(f *facts) { f.Lacks = func(lease.ID, string, uint16) string { return "" } })},
	{state.TwoRoutes, "a stranger serves the host too", func(f *facts) {
		f.holds(statetest.Shop, atHost)
		u := f.routes("ingress", statetest.Shop, atHost).Uses[0]
		u.Name, u.UID, u.HasLease = "by-hand", "x", false
		f.Uses[atHost] = append(f.Uses[atHost], u)
	}, besides{
		"it redirects":            func(f *facts) { f.Uses[atHost][1].Redirect = true },
		"it is a canary":          func(f *facts) { f.Uses[atHost][1].Matches = []string{"canary"} },
		"it is the same object":   func(f *facts) { f.Uses[atHost][1].UID = types.UID(f.Objects[0].UID) },
		"it is of Akash's kind":   func(f *facts) { f.Uses[atHost][1].Kind = kinds.ProviderHost.Singular },
		"none of it is a lease's": func(f *facts) { f.Claims, f.Objects = nil, nil; f.Uses[atHost][0].HasLease = false },
	}},
	{state.MigrationUnderWay, "two kinds of route serve one host of a lease", func(f *facts) {
		f.holds(statetest.Shop, atHost)
		f.routes("ingress", statetest.Shop, atHost)
		f.routes("httproute", statetest.Shop, atHost)
	}, besides{
		"two of a kind do":         func(f *facts) { f.Uses[atHost][1].Kind = "ingress" },
		"one does":                 func(f *facts) { f.Uses[atHost] = f.Uses[atHost][:1] },
		"one is of another tenant": func(f *facts) { f.Uses[atHost][1].Lease = statetest.Blog },
	}},
	{state.MixedDefinitions, "the objects of a lease are of two definitions", func(f *facts) {
		f.holds(statetest.Shop, atHost)
		f.routes("ingress", statetest.Shop, atHost)
		f.object("service", statetest.Shop, "x").Definition = "e"
	}, besides{
		"they are of one":          func(f *facts) { f.Objects[1].Definition = "d" },
		"one of them is not ours":  func(f *facts) { f.Objects[1].Ours = false },
		"one has lost its mark":    func(f *facts) { f.Objects[1].Definition = "" },
		"one serves another lease": func(f *facts) { p := &f.Claims[0].Parts[0]; p.Lease, p.From = sibling, statetest.Shop.Group().String() },
		"they are of two leases":   func(f *facts) { f.Objects[1].Lease = sibling },
	}},
	{state.NotServed, "a ProviderHost stands alone", func(f *facts) {
		f.holds(statetest.Shop, atHost)
		f.routes(kinds.ProviderHost.Singular, statetest.Shop, atHost)
	}, besides{
		"a route serves it":            func(f *facts) { f.routes("ingress", statetest.Shop, atHost) },
		"the former holder serves it":  func(f *facts) { transferredFrom(sibling)(&f.Claims[0].Parts[0]); f.routes("ingress", sibling, atHost) },
		"the claim cannot be read":     func(f *facts) { f.Claims[0].Unreadable = "x" },
		"it was made of late":          func(f *facts) { f.Objects[0].Since = statetest.Minute(9) },
		"a run has it":                 func(f *facts) { marked(&f.Claims[0].Parts[0]) },
		"the namespace is gone":        func(f *facts) { delete(f.Namespaces, statetest.Shop.Namespace()) },
		"the hold is over":             func(f *facts) { ends(1)(&f.Claims[0].Parts[0]) },
		"the claim is another lease's": func(f *facts) { f.Claims[0].Parts[0].Lease = sibling },
	}},
	{state.NotServed, "a ProviderHost stands alone, and a path of the host is served", func(f *facts) {
		f.holds(statetest.Shop, atHost).Parts = append(f.Claims[0].Parts, state.Part{Key: state.RouteKey("/v1"), Path: "/v1", Lease: statetest.Shop})
		f.routes(kinds.ProviderHost.Singular, statetest.Shop, atHost)
		f.routes("ingress", statetest.Shop, atHost, func(u *state.Use) { u.Path = "/v1" })
	}, beside("a route serves it", func(f *facts) { f.routes("ingress", statetest.Shop, atHost) })},
	{state.NotServed, "a ProviderHost stands alone, and its host was transferred", func(f *facts) {
		f.holds(sibling, atHost, transferredFrom(statetest.Shop))
		f.routes(kinds.ProviderHost.Singular, statetest.Shop, atHost)
	}, besides{
		"a route serves it":            func(f *facts) { f.routes("ingress", statetest.Shop, atHost) },
		"a route of the holder's does": func(f *facts) { f.routes("ingress", sibling, atHost) },
		"it was made of late":          func(f *facts) { f.Objects[0].Since = statetest.Minute(9) },
		"a run has it":                 func(f *facts) { marked(&f.Claims[0].Parts[0]) },
	}},
	{state.NotServed, "Akash's hostname operator has not routed a ProviderHost of a host that was transferred", func(f *facts) {
		f.holds(sibling, atHost, transferredFrom(statetest.Shop))
		f.routes(kinds.ProviderHost.Singular, statetest.Shop, atHost).ForOperator = true
	}, beside("it has", func(f *facts) { byAkash(f.routes("ingress", statetest.Shop, atHost)) })},
	{state.NotServed, "Akash's hostname operator has not routed a ProviderHost", func(f *facts) {
		f.holds(statetest.Shop, atHost)
		f.routes(kinds.ProviderHost.Singular, statetest.Shop, atHost).ForOperator = true
	}, beside("it has", func(f *facts) { byAkash(f.routes("ingress", statetest.Shop, atHost)) })},
	{state.NotDeclared, "a route of ours, and its ProviderHost is gone", func(f *facts) {
		f.holds(statetest.Shop, atHost)
		f.routes("ingress", statetest.Shop, atHost).ByOperators = true
	}, besides{
		"it is there":              func(f *facts) { f.routes(kinds.ProviderHost.Singular, statetest.Shop, atHost) },
		"the claim cannot be read": func(f *facts) { f.Claims[0].Unreadable = "x" },
		"it was moved from here": func(f *facts) {
			byAkash(f.routes(kinds.ProviderHost.Singular, sibling, atHost)).MovedFrom = []lease.Group{statetest.Shop.Group()}
		},
		"the operators do not know the route": func(f *facts) { f.Objects[0].ByOperators = false },
		"it serves a path":                    func(f *facts) { f.Objects[0].Uses[0].Path = "/v1" },
		"a run has it":                        func(f *facts) { marked(&f.Claims[0].Parts[0]) },
	}},
	{state.NotDeclared, "a route that the operator left, of a claim", func(f *facts) { f.holds(statetest.Shop, atHost); byAkash(f.routes("ingress", statetest.Shop, atHost)) },
		beside("it was made of late", func(f *facts) { f.Objects[0].Since = statetest.Minute(9) })},
	{state.NotDeclared, "a route that the operator left, of nobody", func(f *facts) { byAkash(f.routes("ingress", statetest.Shop, atHost)) }, besides{
		"its ProviderHost is there": func(f *facts) { byAkash(f.routes(kinds.ProviderHost.Singular, statetest.Shop, atHost)) },
		"it was made of late":       func(f *facts) { f.Objects[0].Since = statetest.Minute(9) },
		"the claim cannot be read":  func(f *facts) { f.holds(statetest.Shop, atHost).Unreadable = "x" },
	}},
	{state.LostMarks, "somebody has written over a route", func(f *facts) {
		f.holds(statetest.Shop, atHost)
		f.routes("ingress", statetest.Shop, atHost).Lost = []string{state.MarkAnnotation, state.MarkFields}
	}, besides{
		"it has its marks":   func(f *facts) { f.Objects[0].Lost = nil },
		"Akash keeps it":     func(f *facts) { f.Objects[0].Kept = true },
		"it is none of ours": func(f *facts) { f.Objects[0].Ours = false },
		"an operator has taken the annotation": func(f *facts) {
			f.Objects[0].ByProvider, f.Objects[0].Lost = true, []string{state.MarkAnnotation}
		},
	}},
	{state.LostMarks, "somebody has written over a route of nobody", func(f *facts) { f.routes("ingress", statetest.Shop, atHost).Lost = []string{state.MarkAnnotation} },
		beside("it has its marks", func(f *facts) { f.Objects[0].Lost = nil })},
	{state.OldManagedFields, "managed fields are of a version that is gone", func(f *facts) {
		f.holds(statetest.Shop, atHost)
		f.routes("ingress", statetest.Shop, atHost)
		f.routes(kinds.ProviderHost.Singular, statetest.Shop, atHost).OldVersions = true
	}, beside("they are not", func(f *facts) { f.Objects[1].OldVersions = false })},
	{state.StaleReport, "a router that is gone has left its report", func(f *facts) {
		f.holds(statetest.Shop, atHost)
		f.routes("httproute", statetest.Shop, atHost).Reports = []state.Report{
			{Route: "httproute n/x", By: "gateway/old", Verdict: state.RouteAccepted, Stale: "Gateway gateway/old is gone"}, {Route: "httproute n/x", By: "gateway/new", Verdict: state.RouteAccepted},
		}
	}, besides{
		"it is there":              func(f *facts) { f.Objects[0].Reports = f.Objects[0].Reports[1:] },
		"the route is of no lease": func(f *facts) { f.Objects[0].Labelled, f.Objects[0].Ours = false, false },
	}},
	{state.StrayRecord, "a DNS record of a host that nobody holds", func(f *facts) { f.recorded("192.0.2.1") }, besides{
		"its lease holds it": func(f *facts) { f.holds(statetest.Shop, atHost) },
		"its route serves another": func(f *facts) {
			f.holds(sibling, atHost, func(p *state.Part) { p.From = statetest.Shop.Group().String() })
		},
		"the claim cannot be read": func(f *facts) { f.holds(sibling, atHost).Unreadable = "x" },
		"it is being deleted":      func(f *facts) { f.Records[0].Object.State = view.StateTerminating },
		"it names no lease":        func(f *facts) { f.Records[0].Object.HasLease = false },
	}},
	{state.RecordDiffers, "a DNS record leads elsewhere", func(f *facts) { f.recorded("192.0.2.2"); f.holds(statetest.Shop, atHost) }, besides{
		"it leads where it should":   func(f *facts) { f.Records[0].Want[0].Values = []string{"192.0.2.1"} },
		"nobody knows where to lead": func(f *facts) { f.Records[0].Known = false },
	}},
}

// recorded adds a DNS record of the lease with the value 192.0.2.1, which should have another value.
func (f *facts) recorded(want string) {
	f.Config.DNS.Form = config.DNSEndpoint
	a := func(value string) []dns.Record {
		return []dns.Record{{Name: atHost, Type: dns.A, Values: []string{value}}}
	}
	o := view.RecordObject{Labelled: state.Labelled{Kind: "dnsendpoint", Namespace: statetest.Shop.Namespace(), Name: atHost, Lease: statetest.Shop, HasLease: true}, Host: atHost, Records: a("192.0.2.1")}
	f.Records = []OwnRecord{{Ref: state.ObjectRef{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}, Object: o, Want: a(want), Known: true}}
}

func lacksManifest(lease.ID, string, uint16) string { return "no Manifest" }

// reserves adds a reservation of the order of statetest.Shop.
func (f *facts) reserves(name string) {
	f.Contents.Reservations = append(f.Contents.Reservations, &reserved.Claim{
		Order: statetest.Shop.Order(), ObjectName: name, Bound: &reserved.Part{Asked: "a"}, Created: statetest.Minute(1)})
}
