import { type Sql, transact } from "./postgres.ts";

/** Sorting this many rows needs more than 64 kB of memory, so the server writes them to disk. */
const ROWS = 20_000;

/**
 * Checks that the database server's disk has free space. The server writes a temporary file of some hundred kilobytes
 * and deletes it. Tables and the write-ahead log do not change.
 * @throws PostgresError when the disk is full
 */
export async function requireDiskSpace(sql: Sql): Promise<void> {
  await transact(sql, async (tx) => {
    await tx`set local work_mem = '64kB'`;
    await tx`select count(*) from (select n from generate_series(1, ${ROWS}::int) n order by n desc offset 0) sorted`;
  });
}
