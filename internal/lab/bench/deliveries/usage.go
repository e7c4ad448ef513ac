package main

import (
	"context"
	"fmt"
	"runtime/metrics"
	"sync"
	"time"
)

// usage is what this process holds.
type usage struct {
	heap       uint64 // bytes in use, what is garbage included: HeapInuse of runtime.MemStats
	goroutines uint64
}

func (u usage) String() string {
	return fmt.Sprintf("heap in use %.1f MB, %d goroutines", float64(u.heap)/1e6, u.goroutines)
}

// current returns the usage of this moment.
func current() usage {
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/sched/goroutines:goroutines"},
	}
	metrics.Read(samples)
	return usage{samples[0].Value.Uint64() + samples[1].Value.Uint64(), samples[2].Value.Uint64()}
}

// meter looks at the usage ten times a second.
type meter struct {
	mu   sync.Mutex
	most usage
}

// run looks until ctx ends.
func (m *meter) run(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		m.look()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (m *meter) look() {
	now := current()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.most.heap = max(m.most.heap, now.heap)
	m.most.goroutines = max(m.most.goroutines, now.goroutines)
}

// peak returns the most of each since the last call.
func (m *meter) peak() usage {
	m.look()
	m.mu.Lock()
	defer m.mu.Unlock()
	most := m.most
	m.most = usage{}
	return most
}
