package nebula

import (
	"forgekernel/nebula/job"
	"forgekernel/nebula/sched"
	"forgekernel/nebula/serve"
)

// Joined is the job that a rank of a launcher leads: [job.Join] gave the service, and
// spec is what the ranks agreed on. Closing the job closes the service. It has no
// name, and no later job takes its place.
func Joined(m *Model, spec job.Spec, s *serve.Local) (*Job, error) {
	r := &local{s}
	router, err := sched.NewRouter(0, r)
	if err != nil {
		return nil, err
	}
	return &Job{model: m, o: options{Spec: spec, replicas: 1}, router: router, replicas: []replica{r}}, nil
}
