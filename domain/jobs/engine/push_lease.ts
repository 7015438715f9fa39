import type { Sql } from "../../../infra/postgres/postgres.ts";

/**
 * The lease of a pushed attempt, in the row of its job, as a remote worker has it. So the receiver can settle the
 * attempt while the request still runs, and another worker pushes the job again if this one crashes.
 */
export class PushLease {
  #renewal: ReturnType<typeof setInterval> | undefined;

  constructor(
    private readonly db: Sql,
    private readonly o: { jobId: string; attempt: number; receiverId: string; leaseSeconds: number },
  ) {}

  /** Opens the lease and renews it until `close`. @throws Error if the attempt was taken over */
  async open(timeoutMs: number): Promise<{ deadline: Date; serializedArgs: string }> {
    const { jobId, attempt, leaseSeconds } = this.o;
    const [held] = await this.db<{ deadline: Date; serializedArgs: string }[]>`
      update jobs set deadline = now() + ${timeoutMs}::float8 * interval '1 ms',
        lease_until = now() + least(${timeoutMs}::float8 * interval '1 ms', make_interval(secs => ${leaseSeconds}))
      where id = ${jobId} and attempts = ${attempt} and status = 'Processing' returning deadline, serialized_args`;
    if (!held) throw new Error(`attempt ${attempt} has ended`);
    this.#renewal = setInterval(() => this.#renew().catch(() => {}), leaseSeconds * 1000 / 3);
    return held;
  }

  close(): void {
    clearInterval(this.#renewal);
  }

  /** The receiver becomes the worker of the attempt, and holds it until the deadline. */
  async handOver(): Promise<void> {
    const { jobId, attempt, receiverId } = this.o;
    await this.db`
      update jobs set worker_id = ${receiverId}, lease_until = deadline
      where id = ${jobId} and attempts = ${attempt} and status = 'Processing' and deadline is not null`;
  }

  /** A failed renewal is repeated by the next one. One that arrives after the hand-over does not shorten the lease. */
  async #renew(): Promise<void> {
    const { jobId, attempt, leaseSeconds } = this.o;
    await this.db`
      update jobs set
        lease_until = greatest(lease_until, least(now() + make_interval(secs => ${leaseSeconds}), deadline))
      where id = ${jobId} and attempts = ${attempt} and status = 'Processing' and deadline is not null`;
  }
}
