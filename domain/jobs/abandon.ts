import type { Tx } from "../../infra/postgres/postgres.ts";

/**
 * Cancels a job whose own area no longer needs it, in the transaction that makes it needless. One that a worker has
 * just taken is left alone: it must find out by itself.
 */
export async function abandonJob(tx: Tx, id: string): Promise<void> {
  await tx`
    update jobs set status = 'Cancelled', completed_at = statement_timestamp()
    where id = (select id from jobs where id = ${id} and status in ('Enqueued', 'Scheduled', 'Failed')
      for update skip locked)`;
}
