package lease_test

import (
	"strings"
	"testing"
)

// What is wrong with a value is told where the value stands, and nothing is told of what follows from it: each of these
// definitions has one mistake.
func TestOneMistakeIsToldOnce(t *testing.T) {
	const endpoint = "\nipEndpoints: [{name: pub}]"
	for spec, want := range map[string]string{
		"services: [{expose: [{port: 80}]}]":                                                                                            `1:12: spec.services[0]: "name" is missing`,
		"services: [{name: ~}, {name: web}]":                                                                                            `"name" is missing`,
		"services: [{name: [web], expose: [{port: 80}]}]":                                                                               "expected a text, found a list",
		"services: [{name: 80}]":                                                                                                        `expected a text, found the number 80; write "80"`,
		"services: [{name: web, expose: [{as: 80, global: true, hosts: [a.example.com]}]}]":                                             `"port" is missing`,
		"services: [{name: web, expose: [{port: x, global: true, path: /v1, hosts: [a.b.c]}]}]":                                         `"x" is not a port (1 to 65535)`,
		"services: [{name: web, expose: [{port: 70000, global: true, tls: {}, hosts: [a.b.c]}]}]":                                       "70000 is not a port (1 to 65535)",
		"services: [{name: web, expose: [{port: 80, global: maybe, hosts: [a.b.c]}]}]":                                                  `expected true or false, found the text "maybe"`,
		"services: [{name: web, expose: [{port: 80, global: true, hosts: [a.b.c, [d]]}]}]":                                              "expected a text, found a list",
		"services: [{name: web, expose: [{port: 80, global: true, hosts: a.b.c}]}]":                                                     `expected a list, found the text "a.b.c"`,
		"services: [{name: web, expose: [{port: 0, global: true, ip: pub}]}]" + endpoint:                                                "0 is not a port (1 to 65535)",
		"services: [{name: web, expose: [{port: 443, global: true, ip: pub}]}]":                                                         `no endpoint named "pub"`,
		"services: [{name: web, expose: [{port: 443, global: true, ip: pub}]}]\nipEndpoints: [{name: pub}, {addresses: [203.0.113.7]}]": `"name" is missing`,
		"services: [{name: web, expose: [{port: 443, global: true, ip: pub}]}]\nipEndpoints: [{name: pub, addresses: [203.0.113.07]}]":  `"203.0.113.07" is not an IP address`,
		"services: [{name: web, expose: [{port: 443, global: true, ip: pub}]}]\nipEndpoints: [{name: pub, addresses: 203.0.113.7}]":     "expected a list",
		"services: [{name: web, expose: [{port: 80, global: true, hosts: [a.b.c], http: {readTimeout: 60}}]}]":                          `"60" is not a duration such as 60s, 1m30s or 500ms`,
		"services: [{name: web, expose: [{port: 80, global: true, hosts: [a.b.c], http: {readTimeout: 1.5ms}}]}]":                       "is not a whole number of milliseconds",
		"services: [{name: web, expose: [{port: 80, global: true, hosts: [a.b.c], http: {readTimeout: -1s}}]}]":                         "is negative",
		"services: [{name: web, expose: [{port: 80, global: true, hosts: [a.b.c], http: {nextCases: [off, error]}}]}]":                  `beside "off" there may be no other case`,
		"services: [{name: web, expose: [{port: 80, global: true, hosts: [a.b.c], weight: 300}]}]":                                      "300 is not a weight (0 to 256)",
		"services: [{name: web, expose: [{port: 80, global: true, hosts: [a.b.c], sticky: {cookie: 'a b'}}]}]":                          `"a b" is not the name of a cookie`,
		"services: [{name: web, expose: [{port: 80, global: true, hosts: [a.b.c], alternateBackends: [{port: 80}]}]}]":                  `"service" is missing`,
		"services: [{name: web, expose: [{port: 80, global: true, hosts: [a.b.c], headers: {request: [{action: Delete}]}}]}]":           `"name" is missing`,
		"services: [{name: web, expose: [{port: 80, global: true, hosts: [a.b.c], headers: {request: [{name: A}]}}]}]":                  `"action" is missing`,
		"services: [{name: web, expose: [{port: 80, global: true, hosts: [a.b.c], headers: {request: [{name: A, action: ''}]}}]}]":      "the action is empty",
		"services: [{name: web, expose: [{port: 80, global: true, hosts: [a.b.c], tls: {termination: Edge}}]}]":                         `unknown termination "Edge"; edge, passthrough and reencrypt are known; did you mean "edge"?`,
		"services: [{name: web, expose: [{port: 80, global: true, hosts: [a.b.c], tls: {issuer: {}}}]}]":                                `"name" is missing`,
		"services: [{name: web, target: Route, expose: [{port: 80}]}]":                                                                  `unknown target "Route"`,
		"services: [{name: web, port: 80}]":                                                                                             `unknown key "port"`,
		"services: [{name: web, name: api}]":                                                                                            `key "name" is given twice (also in line 2)`,
		"services: {web: {}}":                                                                                                           "expected a list, found a mapping",
		"services: ~":                                                                                                                   `"services" is missing`,
		"services: []\nipEndpoints: {pub: {}}":                                                                                          "expected a list, found a mapping",
		"services: []\nlease: {owner: akash1xqnd68gm, dseq: 0, gseq: 1, oseq: 1, provider: akash1yqd7y67h}":                             "0 is not a number (1 or more)",
		"services: []\nlease: {owner: akash1xqnd68gm, dseq: 18446744073709551616, gseq: 1, oseq: 1, provider: akash1yqd7y67h}":          "18446744073709551616 is not a number",
		"services: []\nlease: {owner: akash1xqnd68gm, dseq: 1, gseq: 4294967296, oseq: 1, provider: akash1yqd7y67h}":                    "4294967296 is not a number (1 to 4294967295)",
		"services: []\nlease: {owner: akash1xqnd68gm, dseq: '01', gseq: 1, oseq: 1, provider: akash1yqd7y67h}":                          `"01" is not a number`,
		"services: []\nlease: {owner: Akash1x, dseq: 1, gseq: 1, oseq: 1, provider: akash1yqd7y67h}":                                    `"Akash1x" is not an Akash address`,
		"services: []\nlease: {owner: akash1xqnd68gm, dseq: 1, gseq: 1, oseq: 1}":                                                       `"provider" is missing`,
		"services: []\nlease: {owner: 7, dseq: 1, gseq: 1, oseq: 1, provider: akash1yqd7y67h}":                                          `expected a text, found the number 7`,
	} {
		said := told(t, spec)
		if !strings.Contains(said, want) || strings.Count(said, "\n") != 1 {
			t.Errorf("%s:\n%swant %s, once", spec, said, want)
		}
	}
}

// Several mistakes are told at once, in the order of the lines, each with its place.
func TestAllMistakesAreTold(t *testing.T) {
	said := told(t, `services:
- {expose: [{port: 443, global: true, ip: pub}]}
- {expose: [{port: x, global: true, ip: pub}, {port: y, global: true, ip: pub2}]}
- name: Web
  expose:
  - {port: 80, global: true, hosts: [A.b, a.b], path: v1}
  - {port: 80, global: true, hosts: [a.b]}
ipEndpoints: [{name: pub}, {name: pub2}, {name: p}]
`)
	const want = `:2:3: spec.services[0]: "name" is missing
:3:3: spec.services[1]: "name" is missing
:3:20: spec.services[1].expose[0].port: "x" is not a port (1 to 65535)
:3:54: spec.services[1].expose[1].port: "y" is not a port (1 to 65535)
:4:9: spec.services[2].name: "Web" is not a service name (lower-case letters, digits and "-", a letter first)
:6:38: spec.services[2].expose[0].hosts[0]: "A.b" is not lower case; write "a.b"
:6:55: spec.services[2].expose[0].path: the path "v1" does not begin with /
:8:49: spec.ipEndpoints[2].name: "p" is not an endpoint name (two or more of a-z, 0-9, "-" and "_", a letter first)
:8:49: spec.ipEndpoints[2].name: endpoint "p" is declared but never used
`
	if said != want {
		t.Errorf("%swant\n%s", said, want)
	}
}
