package main

import (
	"sync"
	"time"
)

// Interval of progress reports.
const tellEvery = 10 * time.Millisecond

// report is what a worker saw of the jobs since "expect".
type report struct {
	Runs        int64     `json:"runs"`
	Distinct    int64     `json:"distinct"`
	FirstAtMs   float64   `json:"firstAtMs"`
	StartedAtMs []float64 `json:"startedAtMs"`
}

// tally counts the jobs that run in this process.
type tally struct {
	lock sync.Mutex
	seen report
}

func (t *tally) expect(jobs int) {
	t.lock.Lock()
	defer t.lock.Unlock()
	t.seen = report{StartedAtMs: make([]float64, jobs)}
}

func (t *tally) ran(n int) {
	atMs := float64(time.Now().UnixNano()) / 1e6
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.seen.Runs++; t.seen.Runs == 1 {
		t.seen.FirstAtMs = atMs
	}
	if n < len(t.seen.StartedAtMs) && t.seen.StartedAtMs[n] == 0 {
		t.seen.StartedAtMs[n] = atMs
		t.seen.Distinct++
	}
}

func (t *tally) report() *report {
	t.lock.Lock()
	defer t.lock.Unlock()
	seen := t.seen
	seen.StartedAtMs = append([]float64{}, t.seen.StartedAtMs...)
	return &seen
}

func (t *tally) tell(channel *channel) {
	var told int64
	for range time.Tick(tellEvery) {
		t.lock.Lock()
		runs := t.seen.Runs
		t.lock.Unlock()
		if runs == told {
			continue
		}
		told = runs
		channel.send(answer{Kind: "RUNS", Runs: runs})
	}
}
