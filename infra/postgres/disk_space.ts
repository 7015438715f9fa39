import { type Sql, transact } from "./postgres.ts";

/** More than the least memory a sort may have, so that the server writes it to its disk. */
const ROWS = 20_000;

/**
 * Has the server write a temporary file of some hundred kilobytes, which is gone again afterwards. It leaves no trace in
 * tables or in the write-ahead log.
 * @throws PostgresError when the disk is full
 */
export async function requireDiskSpace(sql: Sql): Promise<void> {
  await transact(sql, async (tx) => {
    await tx`set local work_mem = '64kB'`;
    await tx`select count(*) from (select n from generate_series(1, ${ROWS}::int) n order by n desc offset 0) sorted`;
  });
}
