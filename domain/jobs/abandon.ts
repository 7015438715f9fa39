import type { Tx } from "../../infra/postgres/postgres.ts";

/**
 * Cancels a job that its area no longer needs, in the same transaction as the change that ends the need. A job that a
 * worker has already claimed is not cancelled; its handler must check again whether there is work to do.
 */
export async function abandonJob(tx: Tx, id: string): Promise<void> {
  await tx`
    update jobs set status = 'Cancelled', completed_at = statement_timestamp()
    where id = (select id from jobs where id = ${id} and status in ('Enqueued', 'Scheduled', 'Failed')
      for update skip locked)`;
}
