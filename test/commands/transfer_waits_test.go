package commands

import (
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// handedOn is a host and a port of an address that one deployment serves and another holds since a
// transfer that knew no routes.
type handedOn struct {
	host, address, service, config, blueFile, greenFile string
	blue, green                                         lease.ID
}

func newHandedOn(t *testing.T) handedOn {
	t.Helper()
	owner := newOwner()
	h := handedOn{
		host: "shop." + newDomain(), config: configure(t, "ip: {ranges: ["+newNet()+"0/29]}"), service: lease.IPServiceName("game", 7001, lease.TCP),
		blue: leaseOf(owner, 1), green: leaseOf(owner, 2),
	}
	h.blueFile = define(t, h.blue, web("blue", 8080, h.host), leased("game", "public", 7001))
	h.greenFile = define(t, h.green, web("green", 8080, h.host), leased("game", "public", 7001))
	mustRun(t, 0, "apply", "--config", h.config, "-f", h.blueFile)
	h.address = addressOf(t, owner)
	mustRun(t, 0, "transfer", h.host, "public", "--to", h.green.String(), "--config", h.config).
		Prints(t, "host/"+h.host+" left (its routes follow with the next apply of the lease; until then the old ones serve)")
	return h
}

// blueServes fails the test unless all that the first deployment served is there.
func (h handedOn) blueServes(t *testing.T) {
	t.Helper()
	need(t, ingresses, h.blue.Namespace(), h.host)
	need(t, services, h.blue.Namespace(), h.service)
	held(t, h.host, "2 /")
}

// greenServes fails the test unless the second deployment serves, and the first one nothing any more.
func (h handedOn) greenServes(t *testing.T) {
	t.Helper()
	need(t, ingresses, h.green.Namespace(), h.host)
	need(t, services, h.green.Namespace(), h.service)
	if find(t, ingresses, h.blue.Namespace(), h.host) != nil || find(t, services, h.blue.Namespace(), h.service) != nil {
		t.Error("the old deployment serves beside the new one")
	}
	if from := claim(t, h.host).Parts[0].From; from != "" {
		t.Errorf("the claim says that %s serves it", from)
	}
}

// A transfer that waits for its routes is no problem: what serves stays until the new lease's own does.
func TestTransferThatWaitsForItsRoutes(t *testing.T) {
	h := newHandedOn(t)
	mustRun(t, 0, "state", "--problems", "--crashed-after", "0s", "--config", h.config)
	mustRun(t, 0, "repair", "--crashed-after", "0s", "--assume-crashed", "--config", h.config)
	h.blueServes(t)
	mustRun(t, 0, "explain", h.host, "--config", h.config).
		Prints(t, "Transferring: it was handed to lease "+h.green.String()+"; the ingress of deployment "+h.blue.Group().String()+" serves it until that lease is applied")
	mustRun(t, 0, "state", "hosts", "ips", "-n", h.green.Namespace(), "--config", h.config, "-o", "jsonpath={.hosts[*].state} {.hosts[*].from} {.ips[*].state}").
		Prints(t, "Transferring "+h.blue.Group().String()+" Transferring")

	mustRun(t, 0, "apply", "--config", h.config, "-f", h.blueFile).Prints(t, "host/"+h.host+" withheld", "ingress/"+h.host+" left (it is kept for lease "+h.green.Group().String()+" until that is applied)")
	h.blueServes(t)
	mustRun(t, 0, "release", h.blue.Group().String(), "--config", h.config).Prints(t, "ingress/"+h.host+" left (it is kept for lease "+h.green.Group().String()+" until that is applied)")
	h.blueServes(t)

	mustRun(t, 0, "apply", "--config", h.config, "-f", h.greenFile)
	h.greenServes(t)
	mustRun(t, 0, "state", "--problems", "--crashed-after", "0s", "--config", h.config)
	mustRun(t, 0, "apply", "--config", h.config, "-f", h.greenFile).Prints(t, "unchanged")
	mustRun(t, 0, "release", h.green.Group().String(), "--config", h.config)
}

// Who gives up what was handed to it takes what serves it down first: nothing is served without a claim.
func TestReleaseOfWhatWaitsForItsRoutes(t *testing.T) {
	h := newHandedOn(t)
	mustRun(t, 0, "release", h.green.Group().String(), "--config", h.config).Prints(t, "ingress/"+h.host+" deleted", "host/"+h.host+" released")
	if find(t, ingresses, h.blue.Namespace(), h.host) != nil || find(t, services, h.blue.Namespace(), h.service) != nil {
		t.Error("it is served without a claim")
	}
	held(t, h.host)
	mustRun(t, 0, "state", "--problems", "--crashed-after", "0s", "--config", h.config)
}

// What is handed back is served by its own routes again.
func TestTransferThereAndBack(t *testing.T) {
	h := newHandedOn(t)
	mustRun(t, 0, "transfer", h.host, "public", "--to", h.blue.String(), "--config", h.config)
	mustRun(t, 0, "state", "--problems", "--crashed-after", "0s", "--config", h.config)
	mustRun(t, 0, "explain", h.host, "--config", h.config).Prints(t, "Live: ingress")
	mustRun(t, 0, "apply", "--config", h.config, "-f", h.blueFile)
	mustRun(t, 0, "release", h.blue.Group().String(), "--config", h.config)
	held(t, h.host)
}

// What stays is told part by part: a port has moved to the new lease although the host's route waits for its
// controller. What is handed back meanwhile is the former lease's again, and in the end no route of the other is
// left.
func TestTransferBackWhileTheOldRouteServes(t *testing.T) {
	t.Parallel()
	owner, host, subnet := newOwner(), "shop."+newDomain(), newNet()
	config, address := configure(t, "target: httproute", "ip: {ranges: ["+subnet+"0/29]}"), claimOf(subnet+"0")
	blue, green := leaseOf(owner, 1), leaseOf(owner, 2)
	blueFile := define(t, blue, web("blue", 8080, host), leased("game", "public", 7001))
	greenFile := define(t, green, web("green", 8080, host), leased("game", "public", 7001))
	mustRun(t, 0, "apply", "--config", config, "-f", blueFile)
	mustRun(t, 0, "transfer", host, "public", "--to", green.String(), "--config", config)
	mustRun(t, 0, "apply", "--wait=false", "--config", config, "-f", greenFile).
		Prints(t, "httproute/"+host+" left (it stays", "service/"+lease.IPServiceName("game", 7001, lease.TCP)+" pruned")
	from := func(hostFrom, portFrom string) {
		t.Helper()
		if got, want := claim(t, host).Parts[0].From+" "+claim(t, address).Parts[0].From, hostFrom+" "+portFrom; got != want {
			t.Errorf("host and port are served by %q, want %q", got, want)
		}
	}
	from(blue.Group().String(), "")
	mustRun(t, 0, "state", "--problems", "--crashed-after", "0s", "--config", config, "-n", green.Namespace())

	// What the former lease was applied with is kept: its routes are known.
	mustRun(t, 0, "transfer", host, "public", "--to", blue.String(), "--config", config, "--wait=false").
		Prints(t, "httproute/"+host+" left (it stays", "service/"+lease.IPServiceName("game", 7001, lease.TCP)+" pruned")
	from("", "")
	need(t, httpRoutes, blue.Namespace(), host)
	mustRun(t, 0, "apply", "--assume-serving", "--config", config, "-f", blueFile).Prints(t, "httproute/"+host+" pruned")
	need(t, httpRoutes, blue.Namespace(), host)
	if find(t, httpRoutes, green.Namespace(), host) != nil || find(t, services, green.Namespace(), lease.IPServiceName("game", 7001, lease.TCP)) != nil {
		t.Error("the other lease serves beside the one that holds it")
	}
	from("", "")
	mustRun(t, 0, "release", blue.Group().String(), "--config", config)
}

// The next apply of the lease that holds it now takes over what was handed to it, also where it removes nothing that
// the lease itself no longer defines.
func TestTransferIsFollowedWithoutPruning(t *testing.T) {
	h := newHandedOn(t)
	mustRun(t, 0, "apply", "--prune=false", "--config", h.config, "-f", h.greenFile)
	h.greenServes(t)
	mustRun(t, 0, "apply", "--prune=false", "--config", h.config, "-f", define(t, h.green, web("green", 8080, "new."+h.host)))
	need(t, ingresses, h.green.Namespace(), h.host)
}
