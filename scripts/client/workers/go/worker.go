// Package worker runs jobs of a Steward service in this process. It needs Go 1.19 or later and no modules.
package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

const (
	settledAtOnce, linesOfAJob, linesAtOnce = 100, 100, 2000 // keep requests below their 8 MiB
	outputBytes, errorBytes, lineBytes      = 64 << 10, 8 << 10, 2 << 10
	noteBytes                               = 500
	longPoll, longestBeat, longestPause     = 20 * time.Second, 10 * time.Second, 15 * time.Second
	collect                                 = 10 * time.Millisecond // in which the jobs of a request come together
)

// Hopeless is an error that no retry can help: the job becomes a dead letter at once.
type Hopeless struct{ Reason string }

// Postpone is an error that makes the job run again later. It does not count as a failure.
type Postpone struct{ Seconds int }

// Refused is the answer to a request that the service would refuse again.
type Refused struct{ Answer string }

func (e Hopeless) Error() string { return e.Reason }
func (e Postpone) Error() string { return fmt.Sprintf("postponed by %d s", e.Seconds) }
func (e Refused) Error() string  { return e.Answer }

type object = map[string]any

type key struct {
	JobID   string
	Attempt int
}

// Job is a job for a handler.
type Job struct {
	key
	JobTypeName string
	TenantID    string // empty if the job has none
	Args        json.RawMessage
	MaxRetries  int
	Deadline    time.Time
	Traceparent string

	worker *Worker // its mutex guards the members below
	report object  // progress to send; may be nil
	lines  []object
	result object // nil while the handler runs
	reason string
	end    context.CancelFunc
}

// Progress reports progress, 0 to 100. The next heartbeat sends it.
func (j *Job) Progress(percent float64, note string) {
	percent = math.Max(0, math.Min(100, percent))
	j.worker.locked(func() { j.report = object{"percent": percent, "note": cut(note, noteBytes)} })
}

// Log adds a line to the log of this attempt. The next heartbeat sends it. A long message is cut.
func (j *Job) Log(level, message string, fields object) {
	line := object{"level": level, "message": cut(message, lineBytes/2), "fields": fields}
	if !fits(line) {
		delete(line, "fields")
	}
	if !fits(line) { // a byte may take six in JSON
		line["message"] = cut(message, lineBytes/7)
	}
	j.worker.locked(func() { j.lines = append(j.lines, line) })
}

func fits(line object) bool {
	text, err := json.Marshal(line)
	return err == nil && len(text) <= lineBytes && !strings.Contains(string(text), `\u0000`)
}

// Reason says why the handler's context has ended: "cancel" (a caller asked for it), "lost" (the job runs elsewhere or is
// over, its result is not taken) or "stopping" (the worker ends).
func (j *Job) Reason() (reason string) {
	j.worker.locked(func() { reason = j.reason })
	return reason
}

func (j *Job) interrupt(reason string) {
	j.reason = reason
	j.end()
}

// Handler runs a job. It returns the output, which is stored as JSON. An error is a failed attempt.
type Handler func(ctx context.Context, job *Job) (any, error)

// Worker claims jobs of the handlers' types and runs up to Concurrency of them at once.
type Worker struct {
	URL         string
	Key         func() string // returns an API key or a token
	Handlers    map[string]Handler
	Concurrency int
	Queues      []string      // if given, only jobs of these queues
	Grace       time.Duration // for running jobs when the worker stops

	mutex      sync.Mutex // guards the members below and those of the jobs
	changed    *sync.Cond
	held       map[key]*Job // claimed and not yet settled
	beatEvery  time.Duration
	nextBeat   time.Time
	claimsFrom time.Time  // in the future while the service drains
	beating    sync.Mutex // held during a heartbeat
}

// Run works until ctx ends. Then running jobs get the grace time, and the others are released. It returns Refused if the
// service refuses to give jobs.
func (w *Worker) Run(ctx context.Context) error {
	w.held, w.changed = map[key]*Job{}, sync.NewCond(&w.mutex)
	over, end := context.WithCancel(context.Background())
	defer end()
	every(over, 100*time.Millisecond, w.changed.Broadcast) // waits check their time
	every(over, collect, func() { w.settleEnded(over) })
	every(over, time.Second/2, func() { w.beatWhenDue(over) })
	stopped := make(chan time.Time, 1)
	go func() {
		<-ctx.Done()
		stopped <- time.Now()
	}()
	err := w.claimLoop(ctx, over)
	graceEnds := time.Now().Add(w.Grace)
	if ctx.Err() != nil {
		graceEnds = (<-stopped).Add(w.Grace)
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.wait(time.Until(graceEnds), func() bool { return len(w.jobs(true)) == 0 })
	for _, job := range w.jobs(true) {
		job.interrupt("stopping")
		w.finish(job, object{"outcome": "released"})
	}
	w.wait(longestBeat/2, func() bool { return len(w.held) == 0 })
	return err
}

func every(ctx context.Context, pause time.Duration, do func()) {
	go func() {
		for ; ctx.Err() == nil; time.Sleep(pause) {
			do()
		}
	}()
}

func (w *Worker) locked(do func()) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	do()
}

func (w *Worker) wait(limit time.Duration, isOver func() bool) {
	for end := time.Now().Add(limit); !isOver() && time.Now().Before(end); {
		w.changed.Wait()
	}
}

func (w *Worker) jobs(running bool) (jobs []*Job) {
	for _, job := range w.held {
		if (job.result == nil) == running {
			jobs = append(jobs, job)
		}
	}
	return jobs
}

func (w *Worker) claimLoop(ctx, over context.Context) error {
	host, _ := os.Hostname()
	types := []string{}
	for name := range w.Handlers {
		types = append(types, name)
	}
	claim := object{"types": types, "queues": w.Queues, "worker": fmt.Sprintf("%s:%d", host, os.Getpid())}
	for {
		claim["max"], claim["waitSeconds"], claim["requestId"] = w.places(ctx), int(longPoll.Seconds()), newID()
		if ctx.Err() != nil {
			return nil
		}
		answer, err := w.post(ctx, "claim", claim)
		if ctx.Err() != nil { // the answer may be lost: asked again, to release its jobs
			claim["max"], claim["waitSeconds"] = 1, 0
			shortly, end := context.WithTimeout(over, longestBeat/2)
			answer, err = w.post(shortly, "claim", claim)
			end()
			if err != nil {
				return nil // they wait for the end of their lease
			}
		}
		if err != nil {
			return err
		}
		w.locked(func() { w.start(ctx, answer) })
	}
}

// places is the number of jobs to claim. Results that are not settled limit it too.
func (w *Worker) places(ctx context.Context) (places int) {
	time.Sleep(collect)
	w.locked(func() {
		w.wait(time.Hour, func() bool {
			places = least(w.Concurrency-len(w.jobs(true)), 2*w.Concurrency-len(w.held), 500)
			return ctx.Err() != nil || places > 0 && time.Now().After(w.claimsFrom)
		})
	})
	return places
}

func (w *Worker) start(ctx context.Context, answer answer) {
	w.beatEvery = time.Duration(least(answer.LeaseSeconds*1000/3, int(longestBeat.Milliseconds()))) * time.Millisecond
	if len(w.held) == 0 {
		w.nextBeat = time.Now().Add(w.beatEvery)
	}
	for n := range answer.Jobs {
		job := &answer.Jobs[n].Job
		if w.held[job.key] != nil {
			continue // the answer came twice
		}
		handling, end := context.WithCancel(context.Background())
		w.held[job.key], job.worker, job.end = job, w, end
		if ctx.Err() != nil {
			w.finish(job, object{"outcome": "released"})
		} else {
			go w.run(handling, job)
		}
	}
}

func (w *Worker) run(ctx context.Context, job *Job) {
	output, err := w.handle(ctx, job)
	result := object{"outcome": "succeeded", "output": output}
	var postpone Postpone
	if errors.As(err, &postpone) {
		result = object{"outcome": "postponed", "retryInSeconds": postpone.Seconds}
	} else if errors.As(err, &Hopeless{}) {
		result = object{"outcome": "hopeless", "error": cut(err.Error(), errorBytes)}
	} else if err != nil {
		result = object{"outcome": "failed", "error": cut(err.Error(), errorBytes)}
	}
	w.locked(func() { w.finish(job, result) })
}

func (w *Worker) handle(ctx context.Context, job *Job) (encoded json.RawMessage, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		}
	}()
	output, err := w.Handlers[job.JobTypeName](ctx, job)
	if err != nil {
		return nil, err
	}
	if encoded, err = json.Marshal(output); len(encoded) > outputBytes {
		err = fmt.Errorf("the output has %d bytes, the limit is %d", len(encoded), outputBytes)
	}
	return encoded, err
}

func (w *Worker) finish(job *Job, result object) {
	if job.result == nil {
		result["jobId"], result["attempt"] = job.JobID, job.Attempt
		job.result = result
	}
	job.end()
	w.changed.Broadcast()
}
