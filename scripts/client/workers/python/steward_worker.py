"""Runs jobs of a Steward service in this process. Needs Python 3.9 or later and no packages."""

from __future__ import annotations

import contextlib
import http.client
import json
import logging
import os
import random
import signal
import socket
import threading
import time
import traceback
import urllib.parse
import uuid
from typing import Any, Callable, Mapping, Sequence

SETTLED_AT_ONCE = 100  # 100 outputs of 64 KiB fit into the 8 MiB of a request
LINES_OF_A_JOB, LINES_AT_ONCE = 100, 2_000  # log lines in a heartbeat: at most 4 of its 8 MiB
OUTPUT_BYTES, ERROR_BYTES, LINE_BYTES, NOTE_BYTES = 64 << 10, 8 << 10, 2 << 10, 500
LONG_POLL, LONGEST_BEAT, LONGEST_PAUSE, COLLECT = 20, 10, 15, 0.01  # seconds; COLLECT: until a request is sent

log = logging.getLogger("steward")


class HopelessJob(Exception):
    """Raised by a handler if no retry can succeed. The job becomes a dead letter at once."""


class Postpone(Exception):
    """Raised by a handler to run the job again later. It does not count as a failure."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"postponed by {seconds} s")
        self.seconds = seconds


class Refused(Exception):
    """The service refused a request and would refuse it again."""


class Trouble(Exception):
    """The network failed, or the service cannot answer now."""


class Job:
    """A job for a handler."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.id: str = given["jobId"]
        self.attempt: int = given["attempt"]
        self.type: str = given["jobTypeName"]
        self.tenant_id: str | None = given["tenantId"]
        self.args: Any = given["args"]
        self.max_retries: int = given["maxRetries"]
        self.deadline: str = given["deadline"]
        self.traceparent: str | None = given["traceparent"]
        self.cancelled = threading.Event()  # set when the handler should end early
        self.reason: str | None = None  # why: `cancel` (asked for), `lost` (runs elsewhere) or `stopping`
        self._key = {"jobId": self.id, "attempt": self.attempt}
        self._progress = self._sending = self._sent = dict[str, Any]()
        self._lines: list[dict[str, Any]] = []
        self._result: dict[str, Any] | None = None  # None while the handler runs

    def progress(self, percent: float, note: str | None = None) -> None:
        """Reports progress, 0 to 100. The next heartbeat sends it."""
        self._progress = {"percent": max(0, min(100, percent)), "note": note and _cut(note, NOTE_BYTES)}

    def log(self, message: str, level: str = "info", **fields: Any) -> None:
        """Adds a line to the log of this attempt. The next heartbeat sends it. A long message is cut."""
        line = {"level": level, "message": _cut(message, LINE_BYTES // 2)}
        if not _fits(line):  # a byte may take six in JSON
            line["message"] = _cut(message, LINE_BYTES // 7)
        self._lines.append({**line, "fields": fields} if _fits({**line, "fields": fields}) else line)

    def _has_report(self) -> bool:
        return self._progress is not self._sent or bool(self._lines)

    def _cancel(self, reason: str) -> None:
        self.reason = self.reason or reason
        self.cancelled.set()


class Worker:
    """Runs up to `concurrency` jobs at once, each in a thread. `key` is an API key, or a function that returns one."""

    def __init__(self, url: str, key: str | Callable[[], str], handlers: Mapping[str, Callable[[Job], Any]], *,
                 concurrency: int = 10, queues: Sequence[str] = (), name: str = "", grace_seconds: float = 20) -> None:
        self._stopping = threading.Event()
        self._claims, self._reports, self._last_claim = (_Connection(url, key, self._stopping) for _ in range(3))
        self._handlers, self._concurrency, self._grace = dict(handlers), concurrency, grace_seconds
        name = name or f"{socket.gethostname()}:{os.getpid()}"
        self._worker = {"types": list(handlers), "worker": name, **({"queues": list(queues)} if queues else {})}
        self._refused: Refused | None = None
        self._changed = threading.Condition()  # guards `_held` and the results of its jobs
        self._held: dict[tuple[str, int], Job] = {}  # claimed and not yet settled
        self._beat_seconds = self._next_beat = self._claims_from = 0.0  # drain: claims begin in the future

    def run(self) -> None:
        """Works until SIGTERM, SIGINT or `stop()`. Raises Refused if the service refuses to give jobs."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: self.stop())
        threading.Thread(target=self._report_loop, daemon=True).start()
        claiming = threading.Thread(target=self._claim_loop, daemon=True)
        claiming.start()
        while not self._stopping.is_set():
            time.sleep(0.2)  # takes no lock that the signal handler needs
        ends = time.monotonic() + self._grace
        while claiming.is_alive() and time.monotonic() < ends:
            self._claims.interrupt()
            claiming.join(0.1)
        with self._changed:
            self._changed.wait_for(lambda: not self._jobs(running=True), ends - time.monotonic())
            for job in self._jobs(running=True):
                job._cancel("stopping")
                self._end(job, {"outcome": "released"})
            self._changed.wait_for(lambda: not self._held, 5)
        if self._refused:
            raise self._refused

    def stop(self) -> None:
        """Claims no more. `run` returns when the running jobs have ended or were released."""
        self._stopping.set()

    def _jobs(self, running: bool) -> list[Job]:
        return [job for job in self._held.values() if (job._result is None) == running]

    def _claim_loop(self) -> None:
        body: dict[str, Any] | None = None
        while places := self._wait_for_places():
            claim = {**self._worker, "max": places, "waitSeconds": LONG_POLL, "requestId": str(uuid.uuid4())}
            body = body or claim
            try:
                self._start(self._claims.post("claim", body, LONG_POLL + 15))
                body = None  # a lost answer is asked for again with the same requestId
            except Trouble:
                continue
            except Refused as refused:
                self._refused, body = refused, None
                self.stop()
        if body:  # the interrupted claim: its jobs are released
            with contextlib.suppress(Trouble, Refused):
                self._start(self._last_claim.post("claim", {**body, "max": 1, "waitSeconds": 0}, 5))

    def _wait_for_places(self) -> int:
        """Number of jobs to claim; 0 when the worker stops. Results that are not settled limit it too."""
        while not self._stopping.wait(COLLECT):
            with self._changed:
                places = min(self._concurrency - len(self._jobs(running=True)), 2 * self._concurrency - len(self._held))
                if places > 0 and time.monotonic() >= self._claims_from:
                    return min(places, 500)
                self._changed.wait(0.5)
        return 0

    def _start(self, answer: dict[str, Any]) -> None:
        with self._changed:
            self._beat_seconds = min(answer["leaseSeconds"] / 3, LONGEST_BEAT)
            if not self._held:
                self._next_beat = time.monotonic() + self._beat_seconds
            answered = map(Job, answer["jobs"])
            for job in [job for job in answered if (job.id, job.attempt) not in self._held]:  # it may come twice
                self._held[job.id, job.attempt] = job
                if self._stopping.is_set():
                    self._end(job, {"outcome": "released"})
                else:
                    threading.Thread(target=self._run, args=(job,), daemon=True).start()

    def _run(self, job: Job) -> None:
        try:
            output = self._handlers[job.type](job)
            size = len(json.dumps(output, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode())
            if size > OUTPUT_BYTES:
                raise ValueError(f"the output has {size} bytes, at most {OUTPUT_BYTES} are allowed")
            self._end(job, {"outcome": "succeeded", "output": output})
        except Postpone as postpone:
            self._end(job, {"outcome": "postponed", "retryInSeconds": postpone.seconds})
        except HopelessJob as error:
            self._end(job, {"outcome": "hopeless", "error": _cut(str(error), ERROR_BYTES)})
        except BaseException as error:
            self._end(job, {"outcome": "failed", "error": _cut(f"{error!r}\n{traceback.format_exc()}", ERROR_BYTES)})

    def _end(self, job: Job, result: dict[str, Any]) -> None:
        with self._changed:
            job._result = job._result or {**job._key, **result}
            self._changed.notify_all()

    def _report_loop(self) -> None:
        """Sends heartbeats and results, one request after another."""
        at_once = SETTLED_AT_ONCE
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._jobs(running=False), 0.5)
            time.sleep(COLLECT)
            with self._changed:
                held, ended = list(self._held.values()), self._jobs(running=False)[:at_once]
            due = self._next_beat - (max(0, self._beat_seconds - 1) if any(job._has_report() for job in held) else 0)
            try:
                if any(job._has_report() for job in ended) or (held and time.monotonic() >= due):
                    self._beat(held)
                elif ended:
                    self._settle(ended)
                    at_once = min(2 * at_once, SETTLED_AT_ONCE)
            except Trouble:
                pass  # sent again: `post` has paused
            except Refused as refused:
                log.error("%s", refused)
                at_once = 1  # one result can refuse all others
                if len(ended) == 1 and ended[0]._result["outcome"] == "failed":
                    self._forget(ended)  # nothing can be said about it: it waits for the end of its lease
                elif len(ended) == 1:
                    ended[0]._result = {**ended[0]._key, "outcome": "failed", "error": str(refused)}

    def _beat(self, jobs: list[Job]) -> None:
        """Renews the leases, sends reports, and tells handlers what the service answers."""
        items, room = [], LINES_AT_ONCE
        for job in jobs:
            lines, job._sending = job._lines[: min(LINES_OF_A_JOB, room)], job._progress
            room -= len(lines)
            items.append({**job._key, **job._sending, "log": lines})
        try:
            answer = self._reports.post("heartbeat", {"jobs": items}, self._beat_seconds)
        except Refused as refused:
            log.error("reports of %s jobs are dropped: %s", len(jobs), refused)
            answer = {"jobs": [], "drain": False}
        for job, item in zip(jobs, items):
            job._sent = job._sending
            del job._lines[: len(item["log"])]
        self._next_beat = time.monotonic() + self._beat_seconds
        self._claims_from = (self._claims_from or time.monotonic() + LONGEST_PAUSE) if answer["drain"] else 0.0
        for job, one in zip(jobs, answer["jobs"]):
            if one["state"] != "held":
                job._cancel(one["state"])
        self._forget([job for job in jobs if job.reason == "lost"])

    def _settle(self, jobs: list[Job]) -> None:
        answer = self._reports.post("settle", {"jobs": [job._result for job in jobs]}, self._beat_seconds)
        for one in [one for one in answer["jobs"] if one["result"] != "settled"]:
            log.warning("the result of job %s was not taken: %s", one["jobId"], one["result"])
        self._forget(jobs)

    def _forget(self, jobs: list[Job]) -> None:
        with self._changed:
            for job in jobs:
                self._held.pop((job.id, job.attempt), None)
            self._changed.notify_all()


class _Connection:
    """A connection that is kept open between requests. One thread uses it."""

    def __init__(self, url: str, key: str | Callable[[], str], stopping: threading.Event) -> None:
        scheme, host, path, *_ = urllib.parse.urlsplit(url)
        self._http = (http.client.HTTPSConnection if scheme == "https" else http.client.HTTPConnection)(host)
        self._path, self._key, self._stopping, self._failures = f"{path.rstrip('/')}/api/v1/work", key, stopping, 0

    def post(self, verb: str, body: dict[str, Any], timeout: float) -> dict[str, Any]:
        """Sends a request. Pauses after Trouble: longer after each failure, and as long as the service asks for."""
        retry_after = 0.0
        try:
            key = self._key() if callable(self._key) else self._key
            self._http.timeout = timeout
            if self._http.sock:
                self._http.sock.settimeout(timeout)
            headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
            self._http.request("POST", f"{self._path}/{verb}", json.dumps(body), headers)
            response = self._http.getresponse()
            text = response.read().decode()
            if response.status == 200:
                self._failures = 0
                return json.loads(text)
            reason = f"{verb}: {response.status} {text[:1000]}"
            if response.status < 500 and response.status not in (408, 429):
                raise Refused(reason)
            retry_after = float(response.headers.get("retry-after", 0))
        except (OSError, ValueError, http.client.HTTPException) as error:
            self._http.close()
            reason = f"{verb}: {error!r}"
        self._failures += 1
        pause = max(retry_after, min(LONGEST_PAUSE, 0.1 * 2**self._failures) * random.uniform(0.5, 1))
        if not self._stopping.is_set():
            log.warning("%s; sent again in %.1f s", reason, pause)
        (self._stopping.wait if verb == "claim" else time.sleep)(pause)
        raise Trouble(reason)

    def interrupt(self) -> None:
        """Ends the request that another thread waits for."""
        with contextlib.suppress(AttributeError, OSError):  # there is none
            self._http.sock.shutdown(socket.SHUT_RDWR)


def _fits(line: dict[str, Any]) -> bool:
    text = json.dumps(line, ensure_ascii=False)
    return len(text.encode(errors="replace")) <= LINE_BYTES and "\\u0000" not in text


def _cut(text: str, size: int) -> str:
    return text.replace("\0", "").encode(errors="replace")[:size].decode(errors="ignore")
