package main

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"kubewright.dev/bench/internal/measure"
)

// A manager that runs, and when it began to lead.
type candidate struct {
	leads chan time.Time
	stop  context.CancelFunc
	ended chan struct{}
}

func (w work) candidate(leading, overlaps *atomic.Int64) candidate {
	options := w.options()
	options.LeaderElection = true
	options.LeaderElectionID = "leader"
	options.LeaderElectionNamespace = w.Namespace
	options.LeaderElectionReleaseOnCancel = true
	m := w.manager(options)
	leads := make(chan time.Time, 1)
	measure.Fail(m.Add(manager.RunnableFunc(func(ctx context.Context) error {
		leads <- time.Now()
		if leading.Add(1) > 1 {
			overlaps.Add(1)
		}
		<-ctx.Done()
		leading.Add(-1)
		return nil
	})))
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		measure.Fail(m.Start(ctx))
		close(ended)
	}()
	return candidate{leads, stop, ended}
}

// From telling one manager to stop until what needs to lead has been started by the other.
func handOvers(_ context.Context, w work, sample *measure.Sample) {
	var leading, overlaps atomic.Int64
	first := w.candidate(&leading, &overlaps)
	<-first.leads
	var times []time.Duration
	for number := range w.HandOvers {
		second := w.candidate(&leading, &overlaps)
		// It has tried and failed, and the leader is somewhere between two renewals.
		time.Sleep(time.Duration(500+331*(number%7)) * time.Millisecond)
		began := time.Now()
		first.stop()
		times = append(times, (<-second.leads).Sub(began))
		<-first.ended
		first = second
	}
	first.stop()
	<-first.ended
	slices.Sort(times)
	sample.Figures["hand_over"] = millis(times[len(times)/2])
	sample.Figures["hand_over_longest"] = millis(times[len(times)-1])
	sample.Digests["leaders at once"] = fmt.Sprint(1 + overlaps.Load())
}
