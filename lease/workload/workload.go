// Package workload validates what a lease runs by the rules that all input formats share: those of Akash's SDL,
// manifest and chain, and those of the Kubernetes objects of a workload.
package workload

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/lazy"
	"github.com/akash-net/kubectl-akash-net/lease/resources"
)

// Parts of the names of a service's objects.
const (
	// NodePortSuffix is the suffix of the NodePort Service's name.
	NodePortSuffix = "-np"
	// SecretPrefix is the prefix of the name of the Secret with registry credentials.
	SecretPrefix = "docker-creds-" //nolint:gosec // a name, no secret
)

// Permissions are the words of params.permissions.read that grant rights.
var Permissions = []string{"logs", "events"}

// Check validates the workloads of a group. It does not repeat what the readers validate, namely amounts and attributes
// of GPUs and volumes.
func Check(def *lease.Definition) lease.Problems {
	w := def.Workloads
	if w == nil {
		return nil
	}
	c := checker{onNodes: map[string]bool{}}
	for _, s := range def.Services {
		c.onNodes[s.Name] = c.onNodes[s.Name] || hasNodePort(s.Expose)
	}
	units := map[uint32]*lease.Workload{}
	names := map[string]bool{}
	for i := range w.Services {
		s := &w.Services[i]
		if s.Name == "" {
			continue // reported by the reader
		}
		if names[s.Name] {
			c.Add(s.At, "there are two services named %q", s.Name)
		}
		names[s.Name] = true
		c.service(s)
		if first := units[s.Resources.ID]; first == nil {
			units[s.Resources.ID] = s
		} else if !sameUnit(first.Resources, s.Resources) {
			c.Add(s.At, "the services %q and %q have the resource id %d in common, but not the resources", first.Name, s.Name,
				s.Resources.ID)
		}
	}
	c.totals(w)
	for i := range w.Services {
		if s := &w.Services[i]; c.onNodes[s.Name] && names[s.Name+NodePortSuffix] {
			c.Add(s.At, "the NodePort Service of %q would have the name of the service %q: one of the two needs another name", s.Name,
				s.Name+NodePortSuffix)
		}
	}
	return c.Sorted()
}

// totals judges what the services take together.
func (c *checker) totals(w *lease.Workloads) {
	var units []resources.Unit
	for _, s := range w.Services {
		units = append(units, resources.Unit{Resources: s.Resources, Count: s.Count})
	}
	if err := resources.CheckTotals(units); err != nil {
		c.Add(w.Services[0].At, "%v", err)
	}
}

func sameUnit(a, b resources.Resources) bool {
	a.Endpoints, b.Endpoints = nil, nil
	return reflect.DeepEqual(a, b)
}

type checker struct {
	lease.Problems
	// onNodes has the services with a NodePort Service.
	onNodes map[string]bool
}

func (c *checker) service(s *lease.Workload) {
	if err := lease.CheckServiceName(s.Name); err != nil {
		c.Add(s.At, "%v", err)
	}
	if n := len(s.Name + NodePortSuffix); n > validation.DNS1123LabelMaxLength && c.onNodes[s.Name] {
		c.Add(s.At, "the NodePort Service would be named %q, %d characters; at most %d are allowed: shorten the service's name",
			s.Name+NodePortSuffix, n, validation.DNS1123LabelMaxLength)
	}
	if err := checkImage(s.Image); err != nil {
		c.Add(s.At, "service %q: %v", s.Name, err)
	}
	if s.Count == 0 {
		c.Add(s.At, "service %q: the count is 0; at least one must run", s.Name)
	}
	for i, entry := range s.Env {
		if err := checkEnv(entry); err != nil {
			c.Add(s.At, "service %q, env[%d]: %v", s.Name, i, err)
		}
	}
	c.volumes(s)
	c.params(s)
	c.credentials(s)
}

// hasNodePort reports whether a port is reachable from outside through a port of the nodes.
func hasNodePort(ports []lease.Expose) bool {
	return slices.ContainsFunc(ports, func(e lease.Expose) bool { return e.Global && !e.IsIngress() })
}

func checkImage(image string) error {
	switch {
	case image == "":
		return fmt.Errorf("it has no image")
	case strings.ContainsFunc(image, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }):
		return fmt.Errorf("%q is not the name of an image", lease.Clip(image))
	}
	return nil
}

// checkEnv validates an entry NAME=VALUE by Akash's rule for names, which is stricter than Kubernetes' own (chain-sdk:
// go/manifest/v2beta3). An entry may be a secret, also one that has lost its name, so messages do not contain it.
func checkEnv(entry string) error {
	name, value, _ := strings.Cut(entry, "=")
	if problems := validation.IsEnvVarName(name); len(problems) > 0 {
		return fmt.Errorf("it does not begin with the name of a variable (letters, digits, \"-\", \"_\" and \".\", no digit first); write NAME=VALUE")
	}
	if strings.ContainsRune(value, 0) {
		return fmt.Errorf("the value of the environment variable %q has a zero byte", lease.Clip(name))
	}
	return nil
}

// longestStateful is the longest service name with which a StatefulSet can always create pods. Each pod has a label
// with the name of a revision: the name of the StatefulSet, a dash and up to 10 characters
// (kubernetes/kubernetes#64023).
const longestStateful = validation.LabelValueMaxLength - 11

func (c *checker) volumes(s *lease.Workload) {
	if len(s.Name) > longestStateful && slices.ContainsFunc(s.Resources.Volumes, resources.Volume.Persistent) {
		c.Warn(s.At, "service %q: its name has %d characters, and with persistent storage Kubernetes may refuse its pods; with %d "+
			"it does not", s.Name, len(s.Name), longestStateful)
	}
	seen, mounted := map[string]bool{}, map[string]bool{}
	if s.Params != nil {
		for _, m := range s.Params.Storage {
			mounted[m.Volume] = true
		}
	}
	for _, v := range s.Resources.Volumes {
		if seen[v.Name] {
			c.Add(s.At, "service %q: there are two volumes named %q", s.Name, v.Name)
		}
		seen[v.Name] = true
		if !v.Persistent() && !v.InMemory() && !mounted[v.Name] {
			continue // no object uses its name
		}
		if len(validation.IsDNS1123Label(v.Name)) > 0 {
			c.Add(s.At, "service %q: %q is not the name of a volume (lower-case letters, digits and \"-\")", s.Name, v.Name)
		} else if n := len(s.Name + "-" + v.Name); n > validation.DNS1123LabelMaxLength {
			c.Add(s.At, "service %q: the volume would be named %q, %d characters; at most %d are allowed", s.Name, s.Name+"-"+v.Name, n,
				validation.DNS1123LabelMaxLength)
		}
	}
}

// params validates mounts and permissions (chain-sdk: go/sdl/v2.go).
func (c *checker) params(s *lease.Workload) {
	mounted, paths, volumes := map[string]bool{}, map[string]string{}, map[string]bool{}
	for _, v := range s.Resources.Volumes {
		volumes[v.Name] = true
	}
	if s.Params != nil {
		for _, m := range s.Params.Storage {
			if !volumes[m.Volume] {
				c.Add(m.At, "service %q mounts the volume %q, which its resources do not have", s.Name, m.Volume)
			}
			if err := checkMount(m.Path); err != nil {
				c.Add(m.At, "service %q, volume %q: %v", s.Name, m.Volume, err)
			} else if other, taken := paths[path.Clean(m.Path)]; taken {
				c.Add(m.At, "service %q: the volumes %q and %q are mounted at the same path %q", s.Name, other, m.Volume, m.Path)
			}
			if mounted[m.Volume] {
				c.Add(m.At, "service %q: the volume %q is mounted twice", s.Name, m.Volume)
			}
			mounted[m.Volume], paths[path.Clean(m.Path)] = true, m.Volume
		}
		if p := s.Params.Permissions; p != nil {
			for _, word := range p.Read {
				if word != Permissions[0] && word != Permissions[1] {
					c.Warn(s.At, "service %q: the permission to read %q is not known and gives no rights; %s are known", s.Name, word,
						strings.Join(Permissions, " and "))
				}
			}
		}
	}
	for _, v := range s.Resources.Volumes {
		if v.Persistent() && !mounted[v.Name] {
			c.Warn(s.At, "service %q: the persistent volume %q is mounted nowhere; say where in params.storage.%s.mount", s.Name, v.Name,
				v.Name)
		}
	}
}

// checkMount applies Akash's rule, and Kubernetes' rule that a mount path contains no colon.
func checkMount(p string) error {
	switch {
	case !path.IsAbs(p):
		return fmt.Errorf("the mount %q is not an absolute path", lease.Clip(p))
	case strings.ContainsRune(p, ':') || strings.ContainsRune(p, 0):
		return fmt.Errorf("the mount %q has a character that Kubernetes refuses in a path", lease.Clip(p))
	}
	return nil
}

// credentials validates credentials. A missing password is valid here: a definition may be written without it.
func (c *checker) credentials(s *lease.Workload) {
	k := s.Credentials
	if k == nil {
		return
	}
	for _, part := range []struct{ what, value string }{{"host", k.Host}, {"username", k.Username}} {
		if strings.TrimSpace(part.value) == "" {
			c.Add(k.At, "service %q: the credentials have no %s", s.Name, part.what)
		}
	}
	if n := len(SecretPrefix + s.Name); n > validation.DNS1123SubdomainMaxLength {
		c.Add(k.At, "service %q: the Secret's name would have %d characters", s.Name, n)
	}
}

// Patterns of names that Kubernetes' controllers derive from a workload's name: a ReplicaSet and its Pods end in hashes
// over an alphabet without vowels (apimachinery: util/rand), a Pod of a StatefulSet ends in its index.
var (
	replicaSet  = lazy.Pattern(`^-[b-df-hj-np-tv-xz0-9]{1,10}$`)
	pod         = lazy.Pattern(`^(-[b-df-hj-np-tv-xz0-9]{1,10}-[b-df-hj-np-tv-xz2-9]{5}|-\d{1,10})$`)
	volumeClaim = lazy.Pattern(`-\d{1,10}$`)
	leasedPort  = lazy.Pattern(`-ip-\d{1,5}-(tcp|udp)$`)
)

// IsLeasedPort reports whether a name is that of the Service of a leased port: SERVICE-ip-PORT-PROTOCOL.
func IsLeasedPort(name string) bool { return leasedPort().MatchString(name) }

// Made reports whether an object in a lease's namespace belongs to a service, judging by its kind and name. Events have
// only kind and name of an object, which may no longer exist.
func Made(service, kind, name string) bool {
	rest, after := strings.CutPrefix(name, service)
	if kind == "PersistentVolumeClaim" { // SERVICE-VOLUME-SERVICE-NUMBER
		number := volumeClaim().FindString(name)
		return number != "" && strings.HasPrefix(name, service+"-") && strings.HasSuffix(strings.TrimSuffix(name, number), "-"+service)
	}
	if !after {
		return false
	}
	switch kind {
	case "Deployment", "StatefulSet", "Ingress", "ServiceAccount", "HTTPRoute":
		return rest == ""
	case "Service", "Endpoints":
		return rest == "" || rest == NodePortSuffix || rest == leasedPort().FindString(rest)
	case "ReplicaSet":
		return replicaSet().MatchString(rest)
	case "Pod":
		return pod().MatchString(rest)
	}
	return false
}
