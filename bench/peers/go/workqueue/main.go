// Command workqueue is the peer of the workqueue case: what the queues of client-go and controller-runtime cost.
//
//	workqueue client-go|priority-queue SHORT MANY
//
// Figures are nanoseconds per operation: of the short rounds the best, of the rounds with MANY items the only one. The
// digest of a row is the sum of the items that were taken.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"kubewright.dev/bench/internal/measure"
)

const (
	shortRounds = 20
	workers     = 1000
)

type queue = workqueue.TypedRateLimitingInterface[uint64]

// What a round took, and the sum of what was taken from the queue.
type outcome struct {
	time time.Duration
	sum  uint64
}

type bench struct {
	make        func() queue
	short, many uint64
	sample      *measure.Sample
}

func main() {
	if len(os.Args) != 4 {
		measure.Fail(fmt.Errorf("usage: workqueue client-go|priority-queue SHORT MANY"))
	}
	limiter := func() workqueue.TypedRateLimiter[uint64] {
		return workqueue.NewTypedItemExponentialFailureRateLimiter[uint64](100*time.Second, 1000*time.Second)
	}
	b := bench{sample: measure.New()}
	switch os.Args[1] {
	case "client-go":
		b.make = func() queue { return workqueue.NewTypedRateLimitingQueue(limiter()) }
	case "priority-queue":
		b.make = func() queue {
			return priorityqueue.New("", func(o *priorityqueue.Opts[uint64]) { o.RateLimiter = limiter() })
		}
	default:
		measure.Fail(fmt.Errorf("no queue %q", os.Args[1]))
	}
	var err error
	b.short, err = strconv.ParseUint(os.Args[2], 10, 64)
	measure.Fail(err)
	b.many, err = strconv.ParseUint(os.Args[3], 10, 64)
	measure.Fail(err)

	b.row("one_by_one", b.short, b.oneByOne)
	b.row("by_hundreds", b.short, b.byHundreds)
	b.row("fill_and_empty", b.many, b.fillAndEmpty)
	b.row("with_many_queued", b.many, b.withManyQueued)
	b.row("many_workers", b.many, b.manyWorkers)
	b.row("delayed_due", b.short, func() outcome { return b.delayed(true) })
	b.row("delayed_add", b.short, func() outcome { return b.delayed(false) })
	b.sample.Print()
}

func (b *bench) row(name string, operations uint64, round func() outcome) {
	count := shortRounds
	if operations == b.many {
		count = 1
	}
	best := outcome{time: 1<<63 - 1}
	for range count {
		// What the round before left is not this one's cost.
		runtime.GC()
		found := round()
		if found.time < best.time {
			best = found
		}
	}
	b.sample.Figures[name] = float64(best.time.Nanoseconds()) / float64(operations)
	b.sample.Digests[name] = fmt.Sprintf("%016x", best.sum)
}

func (b *bench) oneByOne() outcome {
	q := b.make()
	defer q.ShutDown()
	var sum uint64
	start := time.Now()
	for n := range b.short {
		q.Add(n % 100)
		sum += take(q, 1)
	}
	return outcome{time.Since(start), sum}
}

func (b *bench) byHundreds() outcome {
	q := b.make()
	defer q.ShutDown()
	var sum uint64
	start := time.Now()
	for batch := range b.short / 100 {
		for n := range uint64(100) {
			q.Add(batch*100 + n)
		}
		sum += take(q, 100)
	}
	return outcome{time.Since(start), sum}
}

func (b *bench) fillAndEmpty() outcome {
	q := b.make()
	defer q.ShutDown()
	start := time.Now()
	for n := range b.many {
		q.Add(n)
	}
	sum := take(q, b.many)
	return outcome{time.Since(start), sum}
}

func (b *bench) withManyQueued() outcome {
	q := b.make()
	defer q.ShutDown()
	for n := range b.many {
		q.Add(n)
	}
	var sum uint64
	start := time.Now()
	for n := range b.many {
		q.Add(b.many + n)
		sum += take(q, 1)
	}
	return outcome{time.Since(start), sum}
}

// From the first add until the last of the waiting workers is done with the last item.
func (b *bench) manyWorkers() outcome {
	q := b.make()
	var done, sum, waiting atomic.Uint64
	finished := make(chan struct{})
	for range workers {
		go func() {
			waiting.Add(1)
			for {
				item, shutdown := q.Get()
				if shutdown {
					return
				}
				q.Done(item)
				sum.Add(item)
				if done.Add(1) == b.many {
					close(finished)
				}
			}
		}()
	}
	for waiting.Load() < workers {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(20 * time.Millisecond)
	start := time.Now()
	for n := range b.many {
		q.Add(n)
	}
	<-finished
	took := time.Since(start)
	q.ShutDown()
	return outcome{took, sum.Load()}
}

func (b *bench) delayed(due bool) outcome {
	q := b.make()
	defer q.ShutDown()
	var sum uint64
	start := time.Now()
	for n := range b.short {
		delay := time.Duration(1 + scatter(n)%1_000_000)
		if !due {
			delay *= 1_000_000
		}
		q.AddAfter(n, delay)
	}
	if due {
		sum = take(q, b.short)
	}
	return outcome{time.Since(start), sum}
}

func take(q queue, count uint64) uint64 {
	var sum uint64
	for range count {
		item, _ := q.Get()
		q.Done(item)
		sum += item
	}
	return sum
}

// Numbers without an order.
func scatter(n uint64) uint64 {
	n *= 0x9E3779B97F4A7C15
	return n<<31 | n>>33
}
