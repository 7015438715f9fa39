// A worker of a caller: it claims over the API of some instance, and is slow, forgetful or late as the seed says.
import { claimWork, type WorkItem } from "../../domain/jobs/remote/claim_work.ts";
import { renewWork } from "../../domain/jobs/remote/heartbeat.ts";
import { settleWork, type WorkOutcome } from "../../domain/jobs/remote/settle_work.ts";
import type { RemoteWorkPlatform } from "../../domain/jobs/remote/work_polls.ts";
import { operator } from "../../domain/jobs/reach.ts";
import type { Caller } from "../../domain/rights/caller.ts";
import { newId } from "../../domain/shared/ids.ts";
import { waitAtMost } from "../../infra/timeout.ts";
import { REMOTE_TYPES } from "./database.ts";
import type { Random } from "./random.ts";
import { type Host, inHost } from "./virtual_time.ts";

const LONGEST_CALL_MS = 20_000;

export interface RemoteWorld {
  random: Random;
  /** An instance that answers. */
  pickInstance(): { host: Host; platform: RemoteWorkPlatform } | null;
  /** True once jobs should only succeed or fail. */
  isCalm(): boolean;
  note(line: string): void;
  /** Called with each answered result: it must be stored then. */
  settled(jobId: string, attempt: number, outcome: WorkOutcome): void;
}

const caller: Caller = { ...operator(null), userId: "00000000-0000-7000-8000-0000000000cc" };
const TYPES = REMOTE_TYPES.map(({ name }) => name);

/** Runs until its host is dead. All calls run in the instance that answers them. */
export async function runRemoteWorker(w: RemoteWorld, host: Host): Promise<void> {
  const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
  const call = async <T>(work: (p: RemoteWorkPlatform) => Promise<T>): Promise<T | null> => {
    const instance = w.pickInstance();
    if (!instance) return null;
    const answer = inHost(instance.host, () => work(instance.platform));
    return await waitAtMost(LONGEST_CALL_MS, answer.catch(() => null));
  };

  for (let request: string | null = null; !host.isDead;) {
    const requestId: string | null = request ?? (w.random.chance(0.7) ? newId() : null);
    const gone = new AbortController();
    const items: WorkItem[] | null = await call((p) =>
      claimWork(p, caller, {
        types: TYPES,
        queues: null,
        max: w.random.between(1, 3),
        waitSeconds: 5,
        worker: host.name,
        program: null,
        requestId,
      }, { gone: gone.signal, renew: () => Promise.resolve(caller) })
    );
    if (items === null) gone.abort();
    request = items === null ? requestId : null;
    for (const item of items ?? []) workOn(item).catch((error) => w.note(`remote worker: ${error}`));
    await pause(items === null || items.length === 0 ? 1_000 : w.random.between(10, 500));
  }

  async function workOn(item: WorkItem): Promise<void> {
    const { jobId, attempt } = item;
    const isLong = w.random.chance(w.isCalm() ? 0 : 0.25);
    await pause(isLong ? w.random.between(10_000, 80_000) : w.random.between(1, 2_000));
    if (isLong && w.random.chance(0.5)) {
      await call((p) => renewWork(p, caller, [{ jobId, attempt, percent: 50, note: null, log: [] }]));
      await pause(w.random.between(1, 40_000));
    }
    if (!w.isCalm() && w.random.chance(0.08)) return; // forgets it
    const outcome = w.isCalm()
      ? w.random.pick<WorkOutcome>(["succeeded", "succeeded", "failed"])
      : w.random.pick<WorkOutcome>(
        [
          "succeeded",
          "succeeded",
          "succeeded",
          "succeeded",
          "failed",
          "failed",
          "hopeless",
          "postponed",
          "released",
          "released",
        ],
      );
    const result = {
      jobId,
      attempt,
      outcome,
      output: JSON.stringify({ attempt }),
      error: outcome === "hopeless" ? `attempt ${attempt} is hopeless` : `attempt ${attempt} failed`,
      retryInSeconds: null,
    };
    for (let tries = 0; tries < 3; tries++) {
      const answers = await call((p) => settleWork(p, caller, [result]));
      const verdict = answers?.[0]?.result;
      if (verdict === "settled") w.settled(jobId, attempt, outcome);
      if (answers) return;
      await pause(w.random.between(100, 3_000));
    }
  }
}
