package main

import (
	"context"
	"fmt"
	"sync/atomic"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"kubewright.dev/bench/internal/measure"
)

type phase = int32

const (
	noop phase = iota
	read
	update
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// What a reconcile is to do now, and how many have been done.
type stage struct {
	client client.Client
	phase  atomic.Int32
	// The status to write.
	replicas atomic.Int32
	done     atomic.Int64
	goal     atomic.Int64
	reached  chan struct{}
}

func (s *stage) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	if phase := s.phase.Load(); phase != noop {
		var deployment appsv1.Deployment
		if err := s.client.Get(ctx, request.NamespacedName, &deployment); err != nil {
			return reconcile.Result{}, err
		}
		if phase == update {
			replicas := s.replicas.Load()
			deployment.Status.ObservedGeneration = deployment.Generation
			deployment.Status.Replicas = replicas
			deployment.Status.UpdatedReplicas = replicas
			deployment.Status.ReadyReplicas = replicas
			deployment.Status.AvailableReplicas = replicas
			if err := s.client.Status().Update(ctx, &deployment); err != nil {
				return reconcile.Result{}, err
			}
		}
	}
	if s.done.Add(1) == s.goal.Load() {
		s.reached <- struct{}{}
	}
	return reconcile.Result{}, nil
}

func reconciles(ctx context.Context, w work, sample *measure.Sample) {
	manager := w.manager(w.options())
	s := &stage{client: manager.GetClient(), reached: make(chan struct{}, 1)}
	s.goal.Store(w.Objects)
	queues := make(chan queue, 1)
	measure.Fail(ctrl.NewControllerManagedBy(manager).
		For(&appsv1.Deployment{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(source.Func(func(_ context.Context, q queue) error {
			queues <- q
			return nil
		})).
		WithOptions(controller.Options{MaxConcurrentReconciles: w.Workers}).
		Complete(s))
	start(ctx, manager)
	q := <-queues
	// Everything that was there has been seen.
	<-s.reached

	requests := make([]reconcile.Request, w.Objects)
	for n := range requests {
		name := types.NamespacedName{Namespace: w.Namespace, Name: fmt.Sprintf("web-%010d", n)}
		requests[n] = reconcile.Request{NamespacedName: name}
	}
	// Processor time for one reconcile.
	rounds := func(phase phase, rounds int64) float64 {
		s.phase.Store(phase)
		before := measure.CPU()
		for round := range rounds {
			s.replicas.Store(int32(round) + 1)
			s.done.Store(0)
			s.goal.Store(w.Objects)
			for _, request := range requests {
				q.Add(request)
			}
			<-s.reached
		}
		return (measure.CPU() - before) / float64(rounds*w.Objects)
	}
	sample.Figures["noop_rate"] = 1 / rounds(noop, w.Noops)
	sample.Figures["read_rate"] = 1 / rounds(read, w.Noops)
	sample.Figures["status_cpu_micros"] = 1e6 * rounds(update, int64(w.Writes))
}
