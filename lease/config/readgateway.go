package config

import (
	"regexp"
	"slices"

	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/lease/suggest"
)

var bufferSize = regexp.MustCompile(`^[1-9][0-9]*[kKmM]?$`)

func readGateway(c document.Cursor, g *Gateway) {
	m := c.Mapping(gatewayKeys)
	text(m.Get("name"), &g.Name, subdomain)
	text(m.Get("namespace"), &g.Namespace, namespace)
	switch v := m.Get("implementation"); v.Text() {
	case "":
	case GatewayAkash, GatewayNGF, GatewayStandard:
		g.Implementation = v.Text()
	default:
		v.Errorf("unknown implementation %q; %s, %s and %s are known%s", v.Text(), GatewayAkash, GatewayNGF, GatewayStandard,
			suggest.For(v.Text(), []string{GatewayAkash, GatewayNGF, GatewayStandard}))
	}
	listeners := m.Get("listeners").Mapping(listenerKeys)
	readListeners(listeners.Get("http"), &g.Listeners.HTTP)
	readListeners(listeners.Get("https"), &g.Listeners.HTTPS)
	readListeners(listeners.Get("passthrough"), &g.Listeners.Passthrough)
	if v := m.Get("proxyBufferSize"); !v.IsNull() {
		buffer(v, v.Text(), g)
	}
}

func buffer(c document.Cursor, size string, g *Gateway) {
	if size != "" && !bufferSize.MatchString(size) {
		c.Errorf("%q is not a buffer size such as 16k", size)
		return
	}
	g.ProxyBufferSize = size
}

// readListeners reads the names of a Gateway's listeners. An empty list means that there are none.
func readListeners(c document.Cursor, into *[]string) {
	if c.IsNull() {
		return
	}
	names := []string{}
	for item, name := range texts(c) {
		switch err := subdomain(name); {
		case err != nil:
			item.Report(err)
		case slices.Contains(names, name):
			item.Errorf("the listener %q is named twice", name)
		default:
			names = append(names, name)
		}
	}
	*into = names
}
