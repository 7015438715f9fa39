// Rules for each committed change, at the time at which its statement ran. A rule returns what is wrong, or nothing.
import { RATE } from "./handlers.ts";
import type { Change, Model, Row } from "./model.ts";
import { LEASE_SECONDS } from "./instance.ts";

type Rule = (model: Model, change: Change) => string | undefined | false | null;

export const ENDED = ["Succeeded", "DeadLettered", "Cancelled"];

/** The transitions of domain/jobs/README.md; an update within a status is not listed. */
const TRANSITIONS: Record<string, string[]> = {
  Enqueued: ["Processing", "Cancelled"],
  Scheduled: ["Enqueued", "Cancelled"],
  Failed: ["Enqueued", "Cancelled"],
  AwaitingParent: ["Enqueued", "Scheduled", "Cancelled"],
  Processing: ["Succeeded", "Failed", "Scheduled", "DeadLettered", "Enqueued", "Cancelled"],
};

const isJob = ({ name, before, after }: Change): { before: Row; after: Row } | null =>
  name === "jobs" && before && after ? { before, after } : null;
/** A job that was enqueued. */
const newJob = ({ name, before, after }: Change): Row | null => name === "jobs" && !before ? after : null;
const claimed = (change: Change): { before: Row; after: Row } | null => {
  const job = isJob(change);
  return job && job.before.status !== "Processing" && job.after.status === "Processing" ? job : null;
};
/** An attempt that ended or was given back. */
const left = (change: Change): { before: Row; after: Row } | null => {
  const job = isJob(change);
  return job && job.before.status === "Processing" && job.after.status !== "Processing" ? job : null;
};
const time = (value: string | null) => value === null ? NaN : Date.parse(value);
const parentsOf = (job: Row): string[] =>
  job.parent_job_ids ?? (job.parent_job_id ? [job.parent_job_id] : []);
const scopeOf = (job: Row) => `${job.tenant_id} ${job.job_type_name} ${job.unique_key}`;

export const RULES: Record<string, Rule> = {
  "states": (model, change) => {
    const job = isJob(change);
    if (!job || job.before.status === job.after.status) return;
    const { before, after } = job;
    return !(TRANSITIONS[before.status]?.includes(after.status)) && !ENDED.includes(before.status) &&
      `${model.alias(after.id)}: ${before.status} became ${after.status}`;
  },

  "one end": (model, change) => {
    const job = isJob(change);
    return job && ENDED.includes(job.before.status) &&
      (job.before.status !== job.after.status || job.before.attempts !== job.after.attempts) &&
      `${model.alias(job.after.id)} had ended as ${job.before.status}, then became ${job.after.status}`;
  },

  "one holder": (model, change) => {
    const job = isJob(change);
    if (!job || job.after.status !== "Processing") return;
    const { before, after } = job;
    const id = model.alias(after.id);
    if (before.status !== "Processing") {
      return after.attempts !== before.attempts + 1 &&
        `${id}: the claim changed attempt ${before.attempts} to ${after.attempts}`;
    }
    const isSame = before.worker_id === after.worker_id && before.attempts === after.attempts;
    return !isSame && `${id} was taken from a worker that holds it`;
  },

  "dead workers": (model, change) => {
    const job = claimed(change);
    return job && job.after.lease_until === null && !model.workers.has(job.after.worker_id) &&
      `${model.alias(job.after.id)} was claimed by a worker without a lease`;
  },

  "fences": (model, change) => {
    const job = left(change);
    if (!job) return;
    const { before, after } = job;
    const id = model.alias(after.id);
    const reported = after.status === "Succeeded"
      ? JSON.parse(after.output ?? "{}").attempt
      : Number(/^attempt (\d+) /.exec(after.last_error !== before.last_error ? after.last_error : "")?.[1]);
    if (reported && reported !== before.attempts) {
      return `${id}: the result of attempt ${reported} ended attempt ${before.attempts}`;
    }
    return after.status === "Succeeded" && after.settled_by !== before.worker_id &&
      `${id} was settled by a worker that did not hold it`;
  },

  "due times": (model, change) => {
    const job = claimed(change);
    if (!job) return;
    const due = Math.max(time(job.before.due_at), time(job.before.scheduled_at ?? job.before.due_at));
    const early = due - change.at.getTime();
    return early > 0 && `${model.alias(job.after.id)} started ${early} ms too early`;
  },

  "leases": (model, change) => {
    const job = left(change);
    if (!job || job.after.lost_leases === job.before.lost_leases) return;
    const { before } = job;
    const worker = model.workers.get(before.worker_id);
    const until = before.lease_until
      ? time(before.lease_until)
      : worker
      ? time(worker.heartbeat_at) + LEASE_SECONDS * 1000
      : -Infinity;
    return until > change.at.getTime() &&
      `${model.alias(before.id)} was taken ${until - change.at.getTime()} ms before its lease ended`;
  },

  "removed leases": (_, change) => {
    if (change.name !== "job_workers" || change.after || !change.before) return;
    const { heartbeat_at, host, is_remote } = change.before;
    const until = time(heartbeat_at) + LEASE_SECONDS * 1000;
    return !is_remote && until > change.at.getTime() && !STOPPED.has(host) &&
      `the lease of ${host} was removed ${until - change.at.getTime()} ms before its end`;
  },

  "retries": (model, change) => {
    const job = left(change);
    if (!job) return;
    const { before, after } = job;
    const id = model.alias(after.id);
    const isLost = after.lost_leases !== before.lost_leases;
    if (after.failures > after.max_retries + 1) return `${id} failed ${after.failures} times`;
    if (isLost && after.lost_leases !== before.lost_leases + 1) {
      return `${id}: lost leases were not counted once`;
    }
    const isFailed = /^attempt \d+ failed|^the attempt took longer/.test(after.last_error ?? "") &&
      ["Failed", "DeadLettered"].includes(after.status) && !isLost;
    const counted = isLost ? Number(before.lost_leases > 0) : isFailed ? 1 : null;
    if (counted !== null && after.failures !== before.failures + counted) {
      return `${id}: ${before.failures} failures became ${after.failures}, expected ${counted} more`;
    }
    if (after.status === "Failed" && after.failures > after.max_retries) return `${id} retries too often`;
    const isGivenUp = after.failures > after.max_retries || /hopeless/.test(after.last_error ?? "");
    if (after.status === "DeadLettered" && !isGivenUp) {
      return `${id} was given up after ${after.failures} failures`;
    }
    const delay = time(after.due_at) - change.at.getTime();
    const least = 5_000 * 2 ** (after.failures - 1) * 0.8;
    return after.status === "Failed" && delay < least - 1 &&
      `${id} retries after ${delay} ms, expected ${least}`;
  },

  "lost leases are seen": (model, change) => {
    const job = left(change);
    if (!job || !/did not renew its lease/.test(job.after.last_error ?? "")) return;
    const isNew = job.before.last_error !== job.after.last_error || !job.before.lost_leases;
    return isNew && job.after.lost_leases === job.before.lost_leases &&
      `${model.alias(job.after.id)}: a lost lease was not counted`;
  },

  "cancel requests": (model, change) => {
    const job = left(change);
    if (!job) return;
    const { before, after } = job;
    const id = model.alias(after.id);
    if (before.cancel_requested_at !== null) {
      return !["Cancelled", "Succeeded"].includes(after.status) &&
        `${id} was asked to stop and became ${after.status}`;
    }
    return after.status === "Cancelled" && `${id} runs, and was cancelled without a request`;
  },

  "unique keys": (model, change) => {
    const job = newJob(change);
    const holdsUntil = (held: Row) => time(held.created_at) + held.unique_seconds * 1000;
    if (job?.unique_key) {
      for (const other of model.jobs.values()) {
        if (!other.unique_key || scopeOf(other) !== scopeOf(job) || other.is_key_released) continue;
        const holds = other.unique_seconds === null
          ? !ENDED.includes(other.status)
          : holdsUntil(other) > change.at.getTime();
        if (holds) return `${model.alias(job.id)} has the key of ${model.alias(other.id)}`;
      }
    }
    const updated = isJob(change);
    return updated && updated.after.is_key_released && !updated.before.is_key_released &&
      !ENDED.includes(updated.before.status) && holdsUntil(updated.before) > change.at.getTime() &&
      `the key of ${model.alias(updated.after.id)} was released too early`;
  },

  "rate limits": (model, change) => {
    const job = claimed(change);
    if (!job?.after.bucket) return;
    const at = change.at.getTime();
    const former = model.buckets.get(job.after.bucket) ?? { tokens: RATE.count, at };
    const filled = (at - former.at) * RATE.count / (RATE.perSeconds * 1000);
    const tokens = Math.min(RATE.count, former.tokens + filled) - 1;
    model.buckets.set(job.after.bucket, { tokens, at });
    return tokens < -0.01 &&
      `${model.alias(job.after.id)} started without a token of its bucket (${tokens.toFixed(2)})`;
  },

  "continuations": (model, change) => {
    const job = newJob(change) ?? change.after;
    if (change.name !== "jobs" || !job) return;
    const parents = parentsOf(job).map((id) => model.jobs.get(id)?.status);
    if (parents.length === 0) return;
    const wasReleased = change.before?.status === "AwaitingParent" || !change.before;
    if (wasReleased && ["Enqueued", "Scheduled"].includes(job.status)) {
      const isDue = parents.every((status) => status === "Succeeded");
      return !isDue && `${model.alias(job.id)} was released under parents that are ${parents}`;
    }
  },

  "batches": (model, change) => {
    const { name, before, after } = change;
    if (name === "jobs") {
      const tag = /"tag":"(batch-[^"]+)"/.exec(newJob(change)?.serialized_args ?? "")?.[1];
      return tag && newJob(change)?.job_type_name === "sim.plain" && model.count(tag) > 1 &&
        `${tag} was enqueued twice`;
    }
    if (name !== "job_batches" || !before || !after || before.status === after.status) return;
    const id = model.alias(after.id);
    const statuses = [...model.jobs.values()].filter((job) => job.batch_id === after.id).map((job) =>
      job.status
    );
    const isFinal = !["Open", "Running"].includes(before.status);
    if (isFinal) return `${id} had ended as ${before.status}, then became ${after.status}`;
    if (after.status === "Succeeded" && statuses.some((status) => status !== "Succeeded")) {
      return `${id} succeeded with jobs that are ${statuses}`;
    }
    const isLost = statuses.some((status) => status === "DeadLettered" || status === "Cancelled");
    return after.status === "Failed" && !isLost && `${id} failed without a lost job`;
  },

  "recurring jobs": (model, change) => {
    const job = newJob(change);
    if (!job?.recurring_job_id) return;
    const recurring = [...model.recurring.values()].find(({ job_id, tenant_id }) =>
      job_id === job.recurring_job_id && tenant_id === job.tenant_id
    );
    const isDue = recurring && time(recurring.next_run_at) <= change.at.getTime();
    if (!isDue) return `${job.recurring_job_id} fired, and its next tick is ${recurring?.next_run_at}`;
    const last = model.jobs.get(recurring.last_job_id);
    return last && !ENDED.includes(last.status) &&
      `${job.recurring_job_id} fired while its last run is ${last.status}`;
  },

  "dead letters": (model, change) => {
    const { name, before, after } = change;
    if (name === "jobs" && before?.status === "Processing" && after?.status === "DeadLettered") {
      model.counts.set(`needs a dead letter: ${after.id}`, 1);
    }
    if (name !== "dead_letter_jobs" || !after) return;
    if (!before) {
      return model.count(`dead letter of ${after.job_id}`) > 1 &&
        `${model.alias(after.job_id)} has two dead letters`;
    }
    return before.retried_job_id !== null && before.retried_job_id !== after.retried_job_id &&
      `the dead letter of ${model.alias(after.job_id)} was retried twice`;
  },
};

/** Names of hosts that may close their leases: they stop, or stopped. */
export const STOPPED = new Set<string>();
