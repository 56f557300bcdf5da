// Package measure is what the peers of the benchmark share: processor time, memory, the digest that gates a figure, and
// the one line of JSON that a peer prints.
package measure

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
)

// Sample is what one run of a peer found.
type Sample struct {
	Figures    map[string]float64 `json:"figures"`
	Digests    map[string]string  `json:"digests"`
	CPUSeconds float64            `json:"cpu_seconds"`
	PeakBytes  float64            `json:"peak_bytes"`
	Versions   map[string]string  `json:"versions"`
}

// New is an empty sample.
func New() *Sample {
	return &Sample{Figures: map[string]float64{}, Digests: map[string]string{}, Versions: versions()}
}

// Print writes the sample as one line, with what the process used in all.
func (s *Sample) Print() {
	s.CPUSeconds = CPU()
	s.PeakBytes = Peak()
	Fail(json.NewEncoder(os.Stdout).Encode(s))
}

// Digest is independent of the order of the objects.
type Digest uint64

// Add takes an object in.
func (d *Digest) Add(namespace, name, uid, resourceVersion string) {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%s|%s|%s", namespace, name, uid, resourceVersion)
	*d += Digest(h.Sum64())
}

func (d Digest) String() string { return fmt.Sprintf("%016x", uint64(d)) }

// CPU is user and system time of this process, in seconds.
func CPU() float64 {
	var usage syscall.Rusage
	Fail(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return seconds(usage.Utime) + seconds(usage.Stime)
}

// Peak is the most memory that was resident, in bytes.
func Peak() float64 { return status("VmHWM:") }

// Resident is the memory that is resident now, in bytes.
func Resident() float64 { return status("VmRSS:") }

func status(field string) float64 {
	text, err := os.ReadFile("/proc/self/status")
	Fail(err)
	for line := range strings.SplitSeq(string(text), "\n") {
		if rest, found := strings.CutPrefix(line, field); found {
			kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			Fail(err)
			return kib * 1024
		}
	}
	return 0
}

// The modules that are measured, as they were built in.
func versions() map[string]string {
	found := map[string]string{}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return found
	}
	found["go"] = info.GoVersion
	for _, module := range info.Deps {
		switch module.Path {
		case "k8s.io/client-go", "sigs.k8s.io/controller-runtime":
			found[module.Path] = module.Version
		}
	}
	return found
}

// Fail ends the process if there is an error.
func Fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
