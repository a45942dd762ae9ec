package render_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/akash-net/kubectl-akash-net/emit"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
)

// BenchmarkRender renders and writes 1,000 leases of one host each: 2,000 objects.
func BenchmarkRender(b *testing.B) {
	defs := make([]*lease.Definition, 1000)
	for i := range defs {
		defs[i] = definition(web(fmt.Sprintf("shop-%d.example.com", i)))
		defs[i].Lease.DSeq = uint64(8438017 + i)
	}
	for _, target := range []string{config.TargetIngress, config.TargetHTTPRoute} {
		for _, format := range []string{emit.YAML, emit.JSON} {
			b.Run(target+"/"+format, func(b *testing.B) {
				cfg := config.Default()
				cfg.Target = target
				b.ReportAllocs()
				for b.Loop() {
					if err := renderAll(defs, cfg, format); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func renderAll(defs []*lease.Definition, cfg *config.ProviderConfig, format string) error {
	e, err := emit.NewEncoder(io.Discard, format)
	if err != nil {
		return err
	}
	for _, def := range defs {
		objects, err := render.Lease(def, cfg, nil)
		if err != nil {
			return err
		}
		for _, o := range objects {
			if err := e.Encode(o.Config); err != nil {
				return err
			}
		}
	}
	return e.Close()
}
