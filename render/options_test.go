package render_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
)

// optionsOn renders a host with HTTP options, and gives all objects as one JSON text.
func optionsOn(t *rapid.T, o lease.HTTPOptions, configure func(*config.ProviderConfig)) string {
	cfg := config.Default()
	configure(cfg)
	objects, err := render.Lease(definition(withHTTP(web("a.example.com"), o)), cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, object := range objects {
		data, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(data)
	}
	return b.String()
}

// found is the one value that a pattern finds.
func found(t *rapid.T, text, pattern string) string {
	m := regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1)
	if len(m) != 1 {
		t.Fatalf("%s is found %d times in %s", pattern, len(m), text)
	}
	return m[0][1]
}

func drawOptions(t *rapid.T) lease.HTTPOptions {
	ms := func(name string, most int) time.Duration {
		return time.Duration(rapid.IntRange(1, most).Draw(t, name)) * time.Millisecond
	}
	return lease.HTTPOptions{
		MaxBodySize: rapid.Uint32Range(1, lease.MaxBodySizeLimit).Draw(t, "body"), ReadTimeout: ms("read", 60_000), SendTimeout: ms("send", 60_000),
		NextTries: rapid.Uint32Min(1).Draw(t, "tries"), NextTimeout: ms("next", 4_294_967_295),
		NextCases: rapid.SampledFrom([][]string{{"off"}, {"error"}, {"500", "404"}, {"error", "timeout", "429"}}).Draw(t, "cases"),
	}
}

func nginxCases(cases []string) string {
	return regexp.MustCompile(`\b(\d)`).ReplaceAllString(strings.Join(cases, " "), "http_$1")
}

// NGINX Gateway Fabric is told times to the millisecond, and a body that is no smaller than the definition says.
func TestOptionsOfNGINXGatewayFabric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawOptions(t)
		text := optionsOn(t, o, gateway(config.GatewayNGF))
		for directive, limit := range map[string]time.Duration{"proxy_read_timeout": o.ReadTimeout, "proxy_send_timeout": o.SendTimeout, "proxy_next_upstream_timeout": o.NextTimeout} {
			got, err := time.ParseDuration(found(t, text, directive+` (\d+m?s);`))
			if err != nil || got != limit {
				t.Fatalf("%s is %s for %s", directive, got, limit)
			}
		}
		if found(t, text, `proxy_next_upstream ([^;]*);`) != nginxCases(o.NextCases) || found(t, text, `proxy_next_upstream_tries (\d+);`) != fmt.Sprint(o.NextTries) {
			t.Fatal(text)
		}
		size := found(t, text, `"maxSize":"(\d{1,4}[km]?)"`)
		unit := map[byte]uint64{'k': 1 << 10, 'm': 1 << 20}[size[len(size)-1]]
		digits := strings.TrimRight(size, "km")
		n, err := strconv.ParseUint(digits, 10, 64)
		if unit == 0 {
			unit = 1
		}
		if got := n * unit; err != nil || got < uint64(o.MaxBodySize) || got-uint64(o.MaxBodySize) >= unit {
			t.Fatalf("%d bytes are written %s", o.MaxBodySize, size)
		}
	})
}
