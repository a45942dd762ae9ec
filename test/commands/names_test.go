package commands

import (
	"strings"
	"testing"
)

// Things are named as they are printed, in every command that takes them; what does not exist is said to.
func TestNames(t *testing.T) {
	t.Parallel()
	domain, address, owner := newDomain(), newNet()+"1", newOwner()
	cfg := configure(t, "hosts: {wildcards: true}", "ip: {ranges: ["+address+"/32]}")
	do := func(code int, args ...string) result {
		t.Helper()
		return mustRun(t, code, append(args, "--config", cfg)...)
	}
	mine, other := leaseOf(owner, 1), leaseOf(owner, 2)
	endpoint := "names" + strings.TrimPrefix(strings.Split(domain, ".")[0], "n")
	do(0, "reserve", "host/shop."+domain, "Blog."+domain+".", "https://api."+domain+"/v2", "wildcard/*."+domain, "--address", "address/"+address, "--endpoint", endpoint, "--lease", "lease/"+mine.String(), "-o", "name").
		Prints(t, "host/shop."+domain+"\n", "host/blog."+domain+"\n", "host/*."+domain+"\n", "address/"+address+"\n")
	for _, name := range []string{"shop." + domain, "host/shop." + domain, "SHOP." + domain + ".", "https://shop." + domain + "/"} {
		do(0, "explain", name).Prints(t, "shop."+domain+" is held by "+mine.Group().String())
	}
	do(0, "explain", "api."+domain+"/v2").Prints(t, "api."+domain+"/v2 is held by "+mine.Group().String())
	do(0, "explain", "api."+domain+"/v3").Prints(t, "is held by nobody, and only the owner of api."+domain+" can take it")
	for _, name := range []string{"endpoint/" + endpoint, endpoint, "address/" + address, "ip/" + address, address} {
		do(0, "explain", name).Prints(t, address)
	}
	do(0, "explain", "lease/"+mine.String(), mine.Group().String()).Prints(t, "lease "+mine.Group().String())

	// state shows what is named, as it is printed or without its kind, and says what is not there.
	shop := "host/shop." + domain + "\n"
	for _, args := range [][]string{{"hosts", "Shop." + domain + "."}, {"host/shop." + domain}, {"hosts", "host/shop." + domain, "none." + domain, "--ignore-not-found"}} {
		if r := do(0, append([]string{"state", "-o", "name"}, args...)...); r.Stdout != shop {
			t.Errorf("%s", r)
		}
	}
	if r := do(0, "state", "ips", endpoint, "ip/"+address, "-o", "name"); r.Stdout != "address/"+address+"\n" {
		t.Errorf("%s", r)
	}
	if r := do(0, "state", "leases", mine.Group().String(), "-o", "name"); r.Stdout != "lease/"+mine.String()+"\n" {
		t.Errorf("%s", r)
	}
	if r := do(1, "state", "hosts", "shop."+domain, "none."+domain, "-o", "name").Says(t, "Error: host/none."+domain+" is not found among hosts"); r.Stdout != shop {
		t.Errorf("%s", r)
	}
	do(1, "state", "leases", other.Group().String(), "--watch").Says(t, "lease/"+other.Group().String()+" is not found among leases")
	do(1, "state", "hosts", "shop."+domain, "-n", other.Namespace()).Says(t, "is not found among hosts of namespace "+other.Namespace())

	do(1, "explain", other.Group().String()).Says(t, "Error: lease "+other.Group().String()+" holds nothing")
	do(0, "explain", other.Group().String(), "--ignore-not-found")
	do(1, "explain", "endpoint/nobody-has-this")
	do(1, "release", mine.String(), "host/none."+domain).Says(t, "host/none."+domain+" is not held by lease "+mine.Group().String())
	do(0, "release", mine.String(), "host/none."+domain, "--ignore-not-found")
	do(1, "transfer", "none."+domain, "--to", other.String()).Says(t, "host/none."+domain+" has no claim that can be transferred")

	do(0, "transfer", "host/shop."+domain, "endpoint/"+endpoint, "--to", "lease/"+other.String())
	held(t, "shop."+domain, "2 /")
	do(0, "release", "lease/"+other.String(), "host/shop."+domain, "endpoint/"+endpoint)
	held(t, "shop."+domain)
	do(0, "release", mine.Group().String(), "host/blog."+domain)
	held(t, "blog."+domain)
	do(0, "explain", "blog."+domain).Prints(t, "blog."+domain+" is free")

	// A name that no lease can have is not free.
	r := mustRun(t, 0, "explain", "*.w."+domain)
	if strings.Contains(r.Stdout, "is free") {
		t.Errorf("%s", r)
	}
}
