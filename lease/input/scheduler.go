package input

import (
	"io"
	"strconv"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/lease/sdl"
)

// ReadScheduler reads the result of a reservation, as JSON or YAML: a mapping of resource unit IDs to scheduler params
// as in a Manifest object, or null. The error is that of the reader.
func ReadScheduler(r io.Reader, file string) (map[uint32]*lease.SchedulerParams, lease.Problems, error) {
	var problems lease.Problems
	params := map[uint32]*lease.SchedulerParams{}
	for doc, err := range document.Read(r, file) {
		if err != nil {
			return nil, problems, err
		}
		doc.Strict = true
		for key, v := range doc.Root().AnyMapping().Entries() {
			id, err := strconv.ParseUint(key.Key(), 10, 32)
			if err != nil || id == 0 || key.Key() != strconv.FormatUint(id, 10) {
				key.Errorf("%q is not the id of a resource unit", key.Key())
			} else if _, twice := params[uint32(id)]; twice {
				key.Errorf("the resource unit %d is given twice", id)
			}
			params[uint32(id)] = sdl.ReadSchedulerParams(v)
		}
		problems = append(problems, doc.Problems.Sorted()...)
	}
	return params, problems, nil
}
