package render

import "github.com/akash-net/kubectl-akash-net/lease"

// CheckNames returns an error if two objects have the same kind and name, which the names of services can cause. The
// error is of type lease.Problems.
func CheckNames(objects []Object, at lease.Place) error {
	var problems lease.Problems
	type key struct{ kind, namespace, name string }
	seen := make(map[key]bool, len(objects))
	for _, o := range objects {
		k := key{o.Kind.Kind, o.Namespace, o.Name}
		if seen[k] {
			problems.Add(at, "two objects of the lease would be %s: rename the service that one of them is for", o)
		}
		seen[k] = true
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}
