// A program of the benchmark: a worker of River, or a client that inserts jobs. The benchmark starts it with a channel
// for messages (NODE_CHANNEL_FD), on which each message is a line of JSON.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// Settings from the documentation's page on benchmarks and the command `river bench` that it describes.
const (
	maxWorkers        = 2_000
	fetchCooldown     = 2 * time.Millisecond
	fetchPollInterval = 20 * time.Millisecond
)

type settings struct {
	// Connection string of pgx.
	Store string `json:"store"`
}

// jobArgs is a job of the benchmark.
type jobArgs struct {
	N      int    `json:"n"`
	HoldMs int    `json:"holdMs,omitempty"`
	Filler string `json:"filler,omitempty"`
}

func (jobArgs) Kind() string { return "noop" }

func main() {
	ctx := context.Background()
	if len(os.Args) != 3 {
		fail(fmt.Errorf("usage: river-peer worker|client SETTINGS"))
	}
	var given settings
	if err := json.Unmarshal([]byte(os.Args[2]), &given); err != nil {
		fail(err)
	}
	pool, err := pgxpool.New(ctx, given.Store)
	if err != nil {
		fail(err)
	}
	channel, err := openChannel()
	if err != nil {
		fail(err)
	}
	if os.Args[1] == "worker" {
		err = serveWorker(ctx, channel, pool)
	} else {
		err = serveClient(ctx, channel, pool)
	}
	if err != nil {
		fail(err)
	}
}

func serveClient(ctx context.Context, channel *channel, pool *pgxpool.Pool) error {
	driver := riverpgxv5.New(pool)
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: quiet()})
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	client, err := river.NewClient(driver, &river.Config{Logger: quiet()})
	if err != nil {
		return err
	}
	return channel.serve(func(order order) (*report, error) { return nil, insert(ctx, client, order.Jobs) })
}

func insert(ctx context.Context, client *river.Client[pgx.Tx], jobs []job) error {
	if len(jobs) == 1 {
		_, err := client.Insert(ctx, jobs[0].jobArgs, jobs[0].options())
		return err
	}
	params := make([]river.InsertManyParams, len(jobs))
	for index, job := range jobs {
		params[index] = river.InsertManyParams{Args: job.jobArgs, InsertOpts: job.options()}
	}
	_, err := client.InsertManyFast(ctx, params)
	return err
}

func serveWorker(ctx context.Context, channel *channel, pool *pgxpool.Pool) error {
	counts := &tally{}
	go counts.tell(channel)
	var client *river.Client[pgx.Tx]
	return channel.serve(func(order order) (*report, error) {
		switch order.Kind {
		case "EXPECT":
			counts.expect(order.Expected)
		case "START":
			started, err := newWorker(pool, counts)
			if err != nil {
				return nil, err
			}
			client = started
			return nil, client.Start(ctx)
		case "STOP":
			return nil, client.Stop(ctx)
		case "REPORT":
			return counts.report(), nil
		}
		return nil, nil
	})
}

func newWorker(pool *pgxpool.Pool, counts *tally) (*river.Client[pgx.Tx], error) {
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(_ context.Context, job *river.Job[jobArgs]) error {
		counts.ran(job.Args.N)
		if job.Args.HoldMs > 0 {
			time.Sleep(time.Duration(job.Args.HoldMs) * time.Millisecond)
		}
		return nil
	}))
	return river.NewClient(riverpgxv5.New(pool), &river.Config{
		FetchCooldown:     fetchCooldown,
		FetchPollInterval: fetchPollInterval,
		Logger:            quiet(),
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: maxWorkers}},
		Workers:           workers,
	})
}

func quiet() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "river-peer:", err)
	os.Exit(1)
}
