package deployed

import (
	"reflect"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// Scheduled returns the GPUs that an earlier reservation chose, by the ID of the resource unit. before is the
// definition of the Manifest in the cluster, or nil. A choice stays valid while the unit asks for the same GPUs.
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
