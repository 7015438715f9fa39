"""Renders invoices: STEWARD_URL=https://steward.example STEWARD_KEY=sk_... python3 example.py"""

import logging
import os

from steward_worker import HopelessJob, Job, Postpone, Worker


def render(job: Job) -> object:
    invoice = job.args
    if not invoice.get("number"):
        raise HopelessJob("an invoice needs a number")
    if invoice.get("paid") is False:
        raise Postpone(seconds=60)
    if invoice.get("pages", 0) < 0:
        raise ValueError("an invoice cannot have fewer than 0 pages")
    for page in range(1, invoice.get("pages", 0) + 1):
        if job.cancelled.wait(invoice.get("secondsPerPage", 0)):
            raise RuntimeError(f"not finished: {job.reason}")
        job.log(f"rendered page {page} of {invoice['number']}", page=page)
        job.progress(100 * page / invoice["pages"], f"page {page}")
    return {"number": invoice["number"], "traceparent": job.traceparent}


logging.basicConfig(level=logging.INFO)
Worker(
    os.environ["STEWARD_URL"],
    os.environ["STEWARD_KEY"],
    {"invoice.render": render},
    concurrency=100,
    queues=[os.environ["STEWARD_QUEUE"]] if "STEWARD_QUEUE" in os.environ else [],
    grace_seconds=5,
).run()
