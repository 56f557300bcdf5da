// Command informer is the peer of the informer benchmark: client-go's shared informer on the same replayed bytes.
//
//	informer URL PODS EVENTS typed|dynamic
//
// It prints processor seconds and memory as JSON, after it has checked that every pod is there.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

func main() {
	if len(os.Args) != 5 {
		fail(fmt.Errorf("usage: informer URL PODS EVENTS typed|dynamic"))
	}
	pods, err := strconv.Atoi(os.Args[2])
	fail(err)
	events, err := strconv.ParseInt(os.Args[3], 10, 64)
	fail(err)
	host := fmt.Sprintf("%s/pods-%d/events-%d/relist-0", os.Args[1], pods, events)

	informer := typed(host)
	if os.Args[4] == "dynamic" {
		informer = untyped(host)
	}
	var seen atomic.Int64
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, _ interface{}) { seen.Add(1) },
	})
	fail(err)
	before := processorSeconds()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go informer.Run(ctx.Done())
	for !informer.HasSynced() {
		time.Sleep(2 * time.Millisecond)
	}
	sync := processorSeconds()
	for seen.Load() < events {
		time.Sleep(2 * time.Millisecond)
	}
	ingest := processorSeconds() - sync
	if count := len(informer.GetStore().ListKeys()); count != pods {
		fail(fmt.Errorf("%d pods of %d", count, pods))
	}
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	found := map[string]float64{
		"sync_cpu_seconds": sync - before,
		"bytes_per_pod":    float64(memory.HeapAlloc) / float64(pods),
		"peak_bytes":       peak(),
	}
	if events > 0 {
		found["events_per_cpu_second"] = float64(events) / ingest
	}
	fail(json.NewEncoder(os.Stdout).Encode(found))
}

func typed(host string) cache.SharedIndexInformer {
	scheme := kruntime.NewScheme()
	fail(corev1.AddToScheme(scheme))
	metav1.AddToGroupVersion(scheme, corev1.SchemeGroupVersion)
	client, err := rest.RESTClientFor(&rest.Config{
		Host:    host,
		APIPath: "/api",
		QPS:     -1,
		ContentConfig: rest.ContentConfig{
			GroupVersion:         &corev1.SchemeGroupVersion,
			NegotiatedSerializer: serializer.NewCodecFactory(scheme).WithoutConversion(),
		},
	})
	fail(err)
	source := cache.NewListWatchFromClient(client, "pods", "", fields.Everything())
	return cache.NewSharedIndexInformer(source, &corev1.Pod{}, 0, cache.Indexers{})
}

func untyped(host string) cache.SharedIndexInformer {
	client, err := dynamic.NewForConfig(&rest.Config{Host: host, QPS: -1})
	fail(err)
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	return factory.ForResource(corev1.SchemeGroupVersion.WithResource("pods")).Informer()
}

// User and system time of this process.
func processorSeconds() float64 {
	var usage syscall.Rusage
	fail(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return seconds(usage.Utime) + seconds(usage.Stime)
}

// The most memory that was in use.
func peak() float64 {
	text, err := os.ReadFile("/proc/self/status")
	fail(err)
	for _, line := range strings.Split(string(text), "\n") {
		if rest, found := strings.CutPrefix(line, "VmHWM:"); found {
			kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			fail(err)
			return kib * 1024
		}
	}
	return 0
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
