package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/riverqueue/river"
)

// job is a job as the benchmark sends it.
type job struct {
	jobArgs
	// Planned time in milliseconds since 1970; 0: now.
	RunAtMs int64 `json:"runAtMs"`
}

func (j job) options() *river.InsertOpts {
	if j.RunAtMs == 0 {
		return nil
	}
	return &river.InsertOpts{ScheduledAt: time.UnixMilli(j.RunAtMs)}
}

// order is a message of the benchmark.
type order struct {
	ID   int    `json:"id"`
	Kind string `json:"kind"`
	// Number of jobs to expect.
	Expected int `json:"jobs"`
	// Jobs to insert.
	Jobs []job `json:"insert"`
}

// answer is a message to the benchmark.
type answer struct {
	Kind   string             `json:"kind"`
	ID     int                `json:"id,omitempty"`
	Runs   int64              `json:"runs,omitempty"`
	Reason string             `json:"reason,omitempty"`
	Report *report            `json:"report"`
	About  *map[string]string `json:"about,omitempty"`
}

// channel is the connection to the benchmark.
type channel struct {
	file    *os.File
	sending sync.Mutex
}

func openChannel() (*channel, error) {
	number, err := strconv.Atoi(os.Getenv("NODE_CHANNEL_FD"))
	if err != nil {
		return nil, errors.New("this program is started by the benchmark")
	}
	return &channel{file: os.NewFile(uintptr(number), "channel")}, nil
}

func (c *channel) send(message answer) {
	line, err := json.Marshal(message)
	if err != nil {
		fail(err)
	}
	c.sending.Lock()
	defer c.sending.Unlock()
	if _, err := c.file.Write(append(line, '\n')); err != nil {
		fail(err)
	}
}

// serve obeys all orders, inserts side by side and others one after the other, until the benchmark ends.
func (c *channel) serve(obey func(order) (*report, error)) error {
	c.send(answer{Kind: "READY", About: &map[string]string{}})
	reader := bufio.NewReaderSize(c.file, 1<<20)
	for {
		line, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		var given order
		if err := json.Unmarshal(line, &given); err != nil {
			return err
		}
		if given.Kind == "INSERT" {
			go c.answer(given, obey)
		} else if given.Kind != "" {
			c.answer(given, obey)
		}
	}
}

func (c *channel) answer(given order, obey func(order) (*report, error)) {
	report, err := obey(given)
	if err != nil {
		c.send(answer{Kind: "FAILED", ID: given.ID, Reason: err.Error()})
		return
	}
	c.send(answer{Kind: "DONE", ID: given.ID, Report: report})
}
