package worker

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	mathrand "math/rand"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// answer has the members of all answers.
type answer struct {
	LeaseSeconds int
	Drain        bool
	Jobs         []struct {
		Job
		State, Result string
	}
}

func (w *Worker) settleEnded(over context.Context) {
	var ended []*Job
	w.locked(func() {
		w.wait(time.Second, func() bool { return len(w.jobs(false)) > 0 })
		ended = w.jobs(false)
	})
	time.Sleep(collect)
	if ended = ended[:least(len(ended), settledAtOnce)]; len(ended) > 0 {
		for w.hasReport(ended) && w.beat(over, ended) == nil {
		}
		w.settle(over, ended)
		w.locked(func() { w.forget(ended...) })
	}
}

func (w *Worker) settle(over context.Context, jobs []*Job) {
	results := []object{}
	for _, job := range jobs {
		results = append(results, job.result)
	}
	answer, err := w.post(over, "settle", object{"jobs": results})
	if errors.As(err, &Refused{}) {
		log.Printf("steward: %v", err)
		if len(jobs) > 1 { // one result can refuse all others
			for n := range jobs {
				w.settle(over, jobs[n:n+1])
			}
		} else if job := jobs[0]; job.result["outcome"] != "failed" {
			job.result = object{"jobId": job.JobID, "attempt": job.Attempt, "outcome": "failed", "error": err.Error()}
			w.settle(over, jobs)
		} // else it waits for the end of its lease
	}
	for _, one := range answer.Jobs {
		if one.Result != "settled" {
			log.Printf("steward: the result of job %s was not taken: %s", one.JobID, one.Result)
		}
	}
}

func (w *Worker) beatWhenDue(over context.Context) {
	var held []*Job
	due := time.Now()
	w.locked(func() { held, due = append(w.jobs(true), w.jobs(false)...), w.nextBeat })
	if w.beatEvery > time.Second && w.hasReport(held) {
		due = due.Add(time.Second - w.beatEvery)
	}
	if len(held) > 0 && time.Now().After(due) {
		_ = w.beat(over, held) // it has been logged
	}
}

// beat renews the leases, sends reports, and tells handlers what the service answers.
func (w *Worker) beat(over context.Context, jobs []*Job) error {
	w.beating.Lock()
	defer w.beating.Unlock()
	items, room := []object{}, linesAtOnce
	w.locked(func() {
		w.nextBeat = time.Now().Add(w.beatEvery)
		for _, job := range jobs {
			n := least(len(job.lines), linesOfAJob, room)
			item := object{"jobId": job.JobID, "attempt": job.Attempt, "log": append([]object{}, job.lines[:n]...)}
			for name, value := range job.report {
				item[name] = value
			}
			items, room, job.report, job.lines = append(items, item), room-n, nil, job.lines[n:]
		}
	})
	answer, err := w.post(over, "heartbeat", object{"jobs": items})
	if err != nil {
		log.Printf("steward: reports of %d jobs are dropped: %v", len(jobs), err)
		return err
	}
	w.locked(func() {
		if !answer.Drain {
			w.claimsFrom = time.Time{}
		} else if w.claimsFrom.IsZero() {
			w.claimsFrom = time.Now().Add(longestPause)
		}
		for _, one := range answer.Jobs {
			if job := w.held[one.key]; job != nil && one.State != "held" {
				job.interrupt(one.State)
			}
			if one.State == "lost" {
				w.forget(&one.Job)
			}
		}
	})
	return nil
}

func (w *Worker) hasReport(jobs []*Job) (has bool) {
	w.locked(func() {
		for _, job := range jobs {
			has = has || job.report != nil || len(job.lines) > 0
		}
	})
	return has
}

func (w *Worker) forget(jobs ...*Job) {
	for _, job := range jobs {
		delete(w.held, job.key)
	}
	w.changed.Broadcast()
}

// post sends a request until it is answered. It pauses longer after each failure, and as long as the service asks for.
func (w *Worker) post(ctx context.Context, verb string, body object) (answer answer, err error) {
	content, err := json.Marshal(body)
	for pause := time.Second / 5; ; pause *= 2 {
		var asked time.Duration
		if err == nil {
			asked, err = w.send(ctx, verb, content, &answer)
		}
		if err == nil || ctx.Err() != nil || errors.As(err, &Refused{}) {
			return answer, err
		}
		if pause > longestPause {
			pause = longestPause
		}
		delay := pause/2 + time.Duration(mathrand.Int63n(int64(pause/2)))
		if asked > delay {
			delay = asked
		}
		log.Printf("steward: %s: %v; sent again in %s", verb, err, delay)
		select {
		case <-ctx.Done():
		case <-time.After(delay):
		}
		err = nil
	}
}

// send returns how long the service asks to wait.
func (w *Worker) send(ctx context.Context, verb string, content []byte, answer *answer) (time.Duration, error) {
	limit := longestBeat
	if verb == "claim" {
		limit += longPoll
	}
	ctx, end := context.WithTimeout(ctx, limit)
	defer end()
	url := strings.TrimRight(w.URL, "/") + "/api/v1/work/" + verb
	request, err := http.NewRequestWithContext(ctx, "POST", url, bytes.NewReader(content))
	if err != nil {
		return 0, err
	}
	request.Header.Set("authorization", "Bearer "+w.Key())
	request.Header.Set("content-type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	status := response.StatusCode
	if err == nil && status == 200 {
		err = json.Unmarshal(text, answer)
	} else if err == nil && status < 500 && status != 408 && status != 429 {
		err = Refused{fmt.Sprintf("%s: %d %s", verb, status, cut(string(text), 1000))}
	} else if err == nil {
		err = fmt.Errorf("%d %s", status, cut(string(text), 1000))
	}
	seconds, _ := strconv.Atoi(response.Header.Get("retry-after"))
	return time.Duration(seconds) * time.Second, err
}

func newID() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b)
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func cut(text string, size int) string {
	text = strings.ReplaceAll(text, "\x00", "")
	if len(text) > size {
		text = text[:size]
	}
	return strings.ToValidUTF8(text, "")
}

func least(first int, others ...int) int {
	for _, other := range others {
		if other < first {
			first = other
		}
	}
	return first
}
