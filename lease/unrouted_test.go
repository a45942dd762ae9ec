package lease

import "testing"

// A host at a port that the HTTP router does not reach is named, with what would route it.
func TestWarnings(t *testing.T) {
	at := Place{File: "deploy.yaml", Line: 7, Column: 11}
	for name, tt := range map[string]struct {
		expose Expose
		want   string
	}{
		"as 80":             {Expose{Port: 8000, As: 80, Protocol: TCP, Global: true}, ""},
		"port 80":           {Expose{Port: 80, Protocol: TCP, Global: true}, ""},
		"as another port":   {Expose{Port: 8000, As: 8000, Protocol: TCP, Global: true}, `deploy.yaml:7:11: host "a.example.com" is claimed, but not routed over HTTP: service web exposes port 8000 as 8000, and only 80 is routed; write "as: 80"`},
		"a port of its own": {Expose{Port: 3000, Protocol: TCP, Global: true}, `deploy.yaml:7:11: host "a.example.com" is claimed, but not routed over HTTP: service web exposes port 3000 as 3000, and only 80 is routed; write "as: 80"`},
		"UDP":               {Expose{Port: 80, Protocol: UDP, Global: true}, `deploy.yaml:7:11: host "a.example.com" is claimed, but not routed over HTTP: service web exposes port 80 over UDP; write "as: 80" and protocol TCP`},
		"not global":        {Expose{Port: 80, Protocol: TCP}, `deploy.yaml:7:11: host "a.example.com" is claimed, but not routed over HTTP: service web does not expose port 80 to the outside; write "as: 80" and let it be global`},
		"at an address":     {Expose{Port: 25, Protocol: TCP, Global: true, IP: "mail"}, ""},
		"with TLS":          {Expose{Port: 8443, Protocol: TCP, Global: true, Routing: &Routing{TLS: &TLS{}}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			tt.expose.Hosts = []Host{{Name: "a.example.com", At: at}}
			got := ""
			if found := Warnings(&Definition{Services: []Service{{Name: "web", Expose: []Expose{tt.expose}}}}); len(found) > 0 {
				got = found.Error()
			}
			if got != tt.want {
				t.Errorf("the warning is\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}
