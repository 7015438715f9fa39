import { lockNamed } from "../../infra/postgres/advisory_locks.ts";
import { inSavepoint, transact } from "../../infra/postgres/postgres.ts";
import { constraintProblem } from "../problems/constraints.ts";
import { Problem } from "../problems/problem.ts";
import type { TenantCaller } from "../rights/caller.ts";
import { bulkFailure, type BulkOutcome, wholeRequestProblem } from "../shared/bulk.ts";
import type { Platform } from "../shared/platform.ts";
import type { RecordContext, RecordSource } from "./record_type.ts";

/**
 * Creates many items in one transaction. With `continueOnError`, the valid items are created and the others reported;
 * without it, the first refusal refuses all. Calls of a tenant run one after the other: two that create the same unique values
 * in different orders would deadlock.
 * @param items the input, or the problem found when the item was parsed.
 */
export async function createMany<Result, Create>(
  p: RecordContext & Pick<Platform, "sql">,
  caller: TenantCaller,
  source: Pick<RecordSource<Result, Create, never>, "create">,
  items: (Create | Problem)[],
  continueOnError: boolean,
): Promise<BulkOutcome<Result>> {
  return await transact(p.sql, async (tx) => {
    await lockNamed(tx, "manyRecords", caller.tenantId);
    const results: Result[] = [];
    const failures: BulkOutcome<Result>["failures"] = [];
    for (const [index, item] of items.entries()) {
      try {
        if (item instanceof Problem) throw item;
        results.push((await inSavepoint(tx, (own) => source.create(p, own, caller, item))).value);
      } catch (failure) {
        const refusal = failure instanceof Problem ? failure : constraintProblem(failure);
        if (!refusal) throw failure;
        if (!continueOnError) throw wholeRequestProblem(index, refusal);
        failures.push(bulkFailure(index, refusal));
      }
    }
    return { total: items.length, succeeded: results.length, failed: failures.length, results, failures };
  });
}
