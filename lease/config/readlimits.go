package config

import (
	"math"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/akash-net/kubectl-akash-net/lease/document"
)

// minDocument is the smallest valid limit, in bytes. A smaller one would reject ordinary documents.
const minDocument = 64 << 10

func readLimits(c document.Cursor, l *Limits) {
	m := c.Mapping(limitKeys)
	size(m.Get("documentSize"), &l.DocumentSize)
	size(m.Get("inputSize"), &l.InputSize)
	number(m.Get("services"), &l.Services, "a number of services")
	number(m.Get("hosts"), &l.Hosts, "a number of hosts")
	number(m.Get("ports"), &l.Ports, "a number of ports")
}

// size reads a quantity of bytes, such as 16Mi.
func size(c document.Cursor, value *int64) {
	if c.IsNull() {
		return
	}
	q, err := resource.ParseQuantity(c.Word())
	if err != nil || q.Value() < minDocument || q.CmpInt64(math.MaxInt64) >= 0 {
		c.Errorf("%q is not a size such as 16Mi (64Ki or more)", c.Raw())
		return
	}
	*value = q.Value()
}

func number(c document.Cursor, value *int, what string) {
	if n, ok := c.Uint(1, math.MaxInt32, what); ok {
		*value = int(n)
	}
}
