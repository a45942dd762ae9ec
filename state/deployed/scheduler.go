package deployed

import (
	"reflect"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// Scheduled are the cards that an earlier reservation chose, by the id of the resource unit, as the Manifest in the cluster
// has them (before; nil where there is none). A choice counts as long as the unit asks for the same cards.
func Scheduled(def, before *lease.Definition) map[uint32]*lease.SchedulerParams {
	out := map[uint32]*lease.SchedulerParams{}
	if before == nil || before.Workloads == nil || def.Workloads == nil {
		return out
	}
	for i := range def.Workloads.Services {
		w := &def.Workloads.Services[i]
		for j := range before.Workloads.Services {
			was := &before.Workloads.Services[j]
			if was.Scheduler != nil && was.Resources.ID == w.Resources.ID && reflect.DeepEqual(was.Resources.GPU, w.Resources.GPU) {
				out[w.Resources.ID] = was.Scheduler
			}
		}
	}
	return out
}
