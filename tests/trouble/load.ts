import { setTimeout as pause } from "node:timers/promises";
import { signInAdministrator } from "../support/service_process.ts";
import { LEASE_SECONDS, type System } from "./system.ts";

/** Answers after which a client may send the same request with the same Idempotency-Key again, to another instance. */
const RETRYABLE = [408, 429, 500, 502, 503, 504];
/** An expected rejection: direct mail is sent before the answer, which reports the failure. */
const EXPECTED_REJECTIONS = ["NOTIFICATION_DELIVERY_FAILED"];
const REQUEST_WITHIN_MS = 6_000;
const CLIENTS = 6;
/** Longer than a lease: a worker without a database connection loses its lease during the call. */
const LONG_CALL_MS = LEASE_SECONDS * 1000 + 3_000;
const CONTENT = new TextEncoder().encode("what was accepted is never lost\n");

export type Kind = "job" | "call" | "message" | "mail" | "file" | "report";
export interface Accepted {
  kind: Kind;
  id: string;
  /** The Idempotency-Key; it is also stored in the created thing, so that a second one is found. */
  key: string;
  at: number;
  /** The answer was `Sending`: the outcome of the mail is unknown. */
  isOutcomeUnknown: boolean;
}

/** Clients that repeat unanswered requests correctly and remember what was accepted. */
export class Load {
  readonly accepted: Accepted[] = [];
  /** Answers that a correct client never gets: neither accepted nor retryable. */
  readonly refused: string[] = [];
  /** How often each answer (or no answer) led to a repetition or was an expected rejection. */
  readonly repeated = new Map<string, number>();
  /** Requests given up after two minutes of repetitions. */
  readonly givenUp: string[] = [];
  #isRunning = true;
  #clients: Promise<void>[];
  #token = "";
  #turn = 0;

  /** @param kinds the work that the clients ask for */
  constructor(readonly system: System, readonly kinds: Kind[] = Object.keys(OPERATIONS) as Kind[]) {
    this.#clients = Array.from({ length: CLIENTS }, () => this.#client());
  }

  /** Stops the clients and resolves when every running request has its final answer. */
  async end(): Promise<void> {
    this.#isRunning = false;
    await Promise.all(this.#clients);
  }

  /** Waits until this many more are accepted, at least one of each kind. Returns the milliseconds it took. */
  async more(count: number, withinMs = 60_000): Promise<number> {
    const since = performance.now();
    const before = this.accepted.length;
    for (;;) {
      const fresh = this.accepted.slice(before);
      const kinds = new Set(fresh.map(({ kind }) => kind));
      if (fresh.length >= count && kinds.size === this.kinds.length) return performance.now() - since;
      if (performance.now() - since > withinMs) {
        throw new Error(
          `only ${fresh.length} operations (${[...kinds]}) were accepted within ${withinMs / 1000} s; ` +
            `repeated: ${JSON.stringify(Object.fromEntries(this.repeated))}; refused: ${
              this.refused.slice(0, 5)
            }`,
        );
      }
      await pause(50);
    }
  }

  async #client(): Promise<void> {
    while (this.#isRunning) {
      const kind = this.kinds[this.#turn++ % this.kinds.length];
      if (kind) await OPERATIONS[kind](this);
      await pause(20);
    }
  }

  /** Repeats the request until its final answer; null if it was rejected or given up. */
  async send(path: string, body: unknown, key: string): Promise<Record<string, string> | null> {
    for (const since = performance.now(); performance.now() - since < 120_000;) {
      const instance = this.system.instances[Math.floor(Math.random() * this.system.instances.length)];
      try {
        this.#token ||= await signInAdministrator(instance?.url ?? "");
        const answer = await fetch(`${instance?.url}${path}`, {
          method: "POST",
          headers: {
            authorization: `Bearer ${this.#token}`,
            "content-type": "application/json",
            "idempotency-key": key,
          },
          body: JSON.stringify(body ?? {}),
          signal: AbortSignal.timeout(REQUEST_WITHIN_MS),
        });
        const result = await answer.json().catch(() => ({}));
        if (answer.ok) return result;
        if (answer.status === 401) {
          this.#token = ""; // it has expired
          continue;
        }
        if (EXPECTED_REJECTIONS.includes(result.code)) {
          this.#repeat(`${answer.status} ${result.code}`);
          return null;
        }
        const isInUse = result.code === "IDEMPOTENCY_KEY_IN_USE_CONFLICT";
        if (!isInUse && !RETRYABLE.includes(answer.status)) {
          this.refused.push(`${path} ${answer.status} ${result.code}`);
          return null;
        }
        this.#repeat(`${answer.status} ${result.code}`);
        await pause(Math.min(Number(answer.headers.get("retry-after") ?? 0.2), 2) * 1000);
      } catch (error) {
        this.#repeat(error instanceof Error ? error.name : String(error));
        await pause(200);
      }
    }
    this.givenUp.push(path);
    return null;
  }

  accept(kind: Kind, id: string | undefined, key: string, isOutcomeUnknown = false): void {
    if (id) this.accepted.push({ kind, id, key, at: performance.now(), isOutcomeUnknown });
  }

  #repeat(why: string): void {
    this.repeated.set(why, (this.repeated.get(why) ?? 0) + 1);
  }
}

const OPERATIONS: Record<Kind, (load: Load) => Promise<void>> = {
  async job(load) {
    const key = crypto.randomUUID();
    const serializedArgs = JSON.stringify({ milliseconds: 20 + Math.floor(Math.random() * 200) });
    const job = await load.send("/api/v1/jobs", { jobTypeName: "steward.sleep", serializedArgs }, key);
    load.accept("job", job?.id, key);
  },
  async call(load) {
    const key = crypto.randomUUID();
    const ms = Math.random() < 0.1 ? LONG_CALL_MS : 200;
    const serializedArgs = JSON.stringify({ url: `${load.system.target}?ms=${ms}&key=${key}` });
    const job = await load.send("/api/v1/jobs", { jobTypeName: "steward.http-request", serializedArgs }, key);
    load.accept("call", job?.id, key);
  },
  async message(load) {
    const key = crypto.randomUUID();
    const recipients = [{ address: `${key}@example.test` }];
    const sent = await load.send("/api/v1/notifications/send", {
      channel: "Email",
      recipients,
      subject: key,
      textBody: "accepted",
    }, key);
    load.accept("message", sent?.notificationId, key);
  },
  async mail(load) {
    const key = crypto.randomUUID();
    const sent = await load.send("/api/v1/notifications/email", {
      to: [`${key}@example.test`],
      subject: key,
      htmlBody: "<p>accepted</p>",
    }, key);
    load.accept("mail", sent?.notificationId, key, sent?.status === "Sending");
  },
  async file(load) {
    const key = crypto.randomUUID();
    const file = { profile: "document", fileName: `${key}.txt`, contentType: "text/plain" };
    const reserved = await load.send("/api/v1/files", { ...file, sizeBytes: CONTENT.length }, key);
    if (!reserved || !await upload(reserved)) return;
    const done = await load.send(`/api/v1/files/${reserved.fileId}/complete`, {}, crypto.randomUUID());
    if (done) load.accept("file", reserved.fileId, key);
  },
  async report(load) {
    const key = crypto.randomUUID();
    const report = await load.send("/api/v1/reports/generate-async", { templateId: "users", format: 3 }, key);
    load.accept("report", report?.trackingId, key);
  },
};

/** Uploads to the store; repeats while the store is down. */
// deno-lint-ignore no-explicit-any -- the answer to a reservation
async function upload(reserved: any): Promise<boolean> {
  for (const since = performance.now(); performance.now() - since < 120_000;) {
    try {
      const put = await fetch(reserved.uploadUrl, {
        method: "PUT",
        headers: reserved.requiredHeaders,
        body: CONTENT,
        signal: AbortSignal.timeout(REQUEST_WITHIN_MS),
      });
      await put.body?.cancel();
      if (put.ok) return true;
    } catch {
      // the store is down
    }
    await pause(300);
  }
  return false;
}
