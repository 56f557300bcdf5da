// What the work queues of client-go and controller-runtime cost: nanoseconds per operation, the best of several rounds.
// The rows are those of `cargo run --release --example throughput -p kubewright-workqueue`.
package main

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

const (
	rounds     = 100
	short      = 20_000
	manyRounds = 2
	many       = 1_000_000
	workers    = 1000
)

type queue = workqueue.TypedRateLimitingInterface[uint64]

type kind struct {
	name string
	make func() queue
}

func main() {
	limiter := func() workqueue.TypedRateLimiter[uint64] {
		return workqueue.NewTypedItemExponentialFailureRateLimiter[uint64](100*time.Second, 1000*time.Second)
	}
	measure(kind{"client-go", func() queue { return workqueue.NewTypedRateLimitingQueue(limiter()) }})
	measure(kind{"controller-runtime priority queue", func() queue {
		return priorityqueue.New("", func(o *priorityqueue.Opts[uint64]) { o.RateLimiter = limiter() })
	}})
}

func measure(k kind) {
	fmt.Printf("%-44s %10s\n", k.name, "ns/op")
	row("add+get+done", short, func() time.Duration {
		q := k.make()
		defer q.ShutDown()
		start := time.Now()
		for n := range uint64(short) {
			q.Add(n % 100)
			item, _ := q.Get()
			q.Done(item)
		}
		return time.Since(start)
	})
	row("add+get+done, 100 at a time", short, func() time.Duration {
		q := k.make()
		defer q.ShutDown()
		start := time.Now()
		for batch := range uint64(short / 100) {
			for n := range uint64(100) {
				q.Add(batch*100 + n)
			}
			take(q, 100)
		}
		return time.Since(start)
	})
	row("fill 1M, then empty it", many, func() time.Duration {
		q := k.make()
		defer q.ShutDown()
		start := time.Now()
		for n := range uint64(many) {
			q.Add(n)
		}
		take(q, many)
		return time.Since(start)
	})
	row("add+get+done with 1M queued", many, func() time.Duration {
		q := k.make()
		defer q.ShutDown()
		for n := range uint64(many) {
			q.Add(n)
		}
		start := time.Now()
		for n := range uint64(many) {
			q.Add(many + n)
			take(q, 1)
		}
		return time.Since(start)
	})
	row("1,000 workers, 1M items, 2 threads", many, func() time.Duration { return manyWorkers(k, 2) })
	row("1,000 workers, 1M items, 1 thread", many, func() time.Duration { return manyWorkers(k, 1) })
	row("add+get+done, 2 threads contend", short, func() time.Duration {
		q := k.make()
		defer q.ShutDown()
		var group sync.WaitGroup
		start := time.Now()
		for half := range uint64(2) {
			group.Go(func() {
				for n := range uint64(short / 2) {
					q.Add(n*2 + half)
					take(q, 1)
				}
			})
		}
		group.Wait()
		return time.Since(start)
	})
	row("add_after, then due, get, done", short, func() time.Duration { return delayed(k, true) })
	row("add_after alone", short, func() time.Duration { return delayed(k, false) })
	row("add_rate_limited, exponential", short, func() time.Duration {
		q := k.make()
		defer q.ShutDown()
		start := time.Now()
		for n := range uint64(short) {
			q.AddRateLimited(n)
		}
		return time.Since(start)
	})
}

func row(what string, operations int, round func() time.Duration) {
	count := rounds
	if operations == many {
		count = manyRounds
	}
	best := time.Duration(1<<63 - 1)
	for range count {
		// What the round before left is not this one's cost.
		if operations == many {
			runtime.GC()
		}
		best = min(best, round())
	}
	fmt.Printf("%-44s %10.1f\n", what, float64(best.Nanoseconds())/float64(operations))
}

func take(q queue, count int) {
	for range count {
		item, _ := q.Get()
		q.Done(item)
	}
}

// From the first add until the last of the waiting workers is done with the last item.
func manyWorkers(k kind, threads int) time.Duration {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
	q := k.make()
	var done atomic.Int64
	finished := make(chan struct{})
	for range workers {
		go func() {
			for {
				item, shutdown := q.Get()
				if shutdown {
					return
				}
				q.Done(item)
				if done.Add(1) == many {
					close(finished)
				}
			}
		}()
	}
	time.Sleep(20 * time.Millisecond)
	start := time.Now()
	for n := range uint64(many) {
		q.Add(n)
	}
	<-finished
	took := time.Since(start)
	q.ShutDown()
	return took
}

func delayed(k kind, taken bool) time.Duration {
	q := k.make()
	defer q.ShutDown()
	start := time.Now()
	for n := range uint64(short) {
		delay := time.Duration(1 + scatter(n)%1_000_000)
		if !taken {
			delay *= 1_000_000
		}
		q.AddAfter(n, delay)
	}
	if taken {
		take(q, short)
	}
	return time.Since(start)
}

// Numbers without an order.
func scatter(n uint64) uint64 {
	n *= 0x9E3779B97F4A7C15
	return n<<31 | n>>33
}
