package sdl_test

import (
	"strings"
	"testing"
	"unicode"
)

// secretPlaces are documents with a password, or a variable of the environment, in the place of SECRET.
var secretPlaces = map[string]string{
	"password of an SDL":             strings.Replace(sdl, "image: nginx", "image: nginx\n    credentials: {host: ghcr.io, username: bob, password: SECRET}", 1),
	"password of an SDL, in lines":   strings.Replace(sdl, "image: nginx", "image: nginx\n    credentials:\n      host: ghcr.io\n      password: SECRET\n      username: bob", 1),
	"variable of an SDL":             strings.Replace(sdl, "image: nginx", "image: nginx\n    env: [A=SECRET, B=c]", 1),
	"variable of an SDL, in lines":   strings.Replace(sdl, "image: nginx", "image: nginx\n    env:\n    - A=SECRET\n    - B=c", 1),
	"environment that is no list":    strings.Replace(sdl, "image: nginx", "image: nginx\n    env: SECRET", 1),
	"environment that is a mapping":  strings.Replace(sdl, "image: nginx", "image: nginx\n    env: {A: SECRET}", 1),
	"environment of mappings":        strings.Replace(sdl, "image: nginx", "image: nginx\n    env: [{A: SECRET}, [SECRET]]", 1),
	"variable of a LeaseDefinition":  secretDefinition("env: [A=SECRET]"),
	"environment of one, no list":    secretDefinition("env: SECRET"),
	"password of a LeaseDefinition":  secretDefinition("credentials: {host: a, username: b, password: SECRET}"),
	"password that is a list of one": secretDefinition("credentials: {host: a, username: b, password: [SECRET]}"),
	"password of a manifest":         `[{"name":"dc","services":[{"name":"web","image":"a","credentials":{"host":"a","username":"b","password":SECRET},"expose":[{"port":80,"global":true}]}]}]`,
	"variable of a manifest":         `[{"name":"dc","services":[{"name":"web","image":"a","env":[SECRET],"expose":[{"port":80,"global":true}]}]}]`,
	"environment of one, a text":     `[{"name":"dc","services":[{"name":"web","image":"a","env":SECRET,"expose":[{"port":80,"global":true}]}]}]`,
	"credentials that are a text":    strings.Replace(sdl, "image: nginx", "image: nginx\n    credentials: SECRET", 1),
}

func secretDefinition(workload string) string {
	return `{apiVersion: net.akash.network/v1alpha1, kind: LeaseDefinition, metadata: {name: a}, spec: {
lease: {owner: akash1xqnd68gm, dseq: 1, gseq: 1, oseq: 1, provider: akash1yqd7y67h},
services: [{name: web, expose: [{port: 80}], workload: {image: a, resources: {cpu: 1, memory: 1Gi}, ` + workload + `}}]}}`
}

// No message repeats a password or the value of a variable, however it is mistyped: with each sign of YAML before or
// behind it, with each tag, quoted or not.
func TestNoMessageRepeatsASecret(t *testing.T) {
	const secret = "hunter2"
	before := []string{"", "!!int ", "!!bool ", "!!float ", "!!null ", "!!timestamp ", "!!binary ", "!!str ", "!own ", "&a ", "<<: ", "- ", "? ", "\\"}
	behind := []string{"", ": ", " #", "\\", ",,", "\t", "'", `"`, "}", "]"}
	for sign := '!'; sign <= '~'; sign++ {
		if !unicode.IsLetter(sign) && !unicode.IsDigit(sign) && sign != ',' { // behind a comma it would be a key
			before = append(before, string(sign))
		}
	}
	var signs [][2]string
	for _, b := range before {
		signs = append(signs, [2]string{b, ""})
	}
	for _, e := range behind {
		signs = append(signs, [2]string{"", e}, [2]string{"!!int ", e})
	}
	told := 0
	for place, document := range secretPlaces {
		for _, sign := range signs {
			for _, quote := range []string{"", `"`} {
				text := sign[0] + quote + secret + quote + sign[1]
				_, problems := readWorkloads(t, strings.ReplaceAll(document, "SECRET", text))
				for _, p := range problems {
					told++
					if strings.Contains(p.Error(), secret) {
						t.Errorf("%s, %q: %s", place, text, p.Error())
					}
				}
			}
		}
	}
	if told < 500 {
		t.Errorf("only %d problems were told", told)
	}
}
