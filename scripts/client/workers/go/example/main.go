// Renders invoices: STEWARD_URL=https://steward.example STEWARD_KEY=sk_... go run ./example
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"steward.example/worker"
)

func render(ctx context.Context, job *worker.Job) (any, error) {
	var invoice struct {
		Number         string
		Paid           *bool
		Pages          int
		SecondsPerPage float64
	}
	if err := json.Unmarshal(job.Args, &invoice); err != nil {
		return nil, err
	}
	if invoice.Number == "" {
		return nil, worker.Hopeless{Reason: "an invoice needs a number"}
	}
	if invoice.Paid != nil && !*invoice.Paid {
		return nil, worker.Postpone{Seconds: 60}
	}
	if invoice.Pages < 0 {
		return nil, errors.New("an invoice cannot have fewer than 0 pages")
	}
	for page := 1; page <= invoice.Pages; page++ {
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("not finished: %s", job.Reason())
		case <-time.After(time.Duration(invoice.SecondsPerPage * float64(time.Second))):
		}
		job.Log("info", fmt.Sprintf("rendered page %d of %s", page, invoice.Number), map[string]any{"page": page})
		job.Progress(float64(100*page)/float64(invoice.Pages), fmt.Sprintf("page %d", page))
	}
	return map[string]any{"number": invoice.Number, "traceparent": job.Traceparent}, nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	invoices := worker.Worker{
		URL:         os.Getenv("STEWARD_URL"),
		Key:         func() string { return os.Getenv("STEWARD_KEY") },
		Handlers:    map[string]worker.Handler{"invoice.render": render},
		Concurrency: 100,
		Grace:       5 * time.Second,
	}
	if queue := os.Getenv("STEWARD_QUEUE"); queue != "" {
		invoices.Queues = []string{queue}
	}
	if err := invoices.Run(ctx); err != nil {
		log.Fatal(err)
	}
}
