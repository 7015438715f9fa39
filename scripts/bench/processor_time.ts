/** Processor time of a process in ms: of its own threads, and with `children` of those of its children that have ended. */
export function processorMs(pid: number | string, o: { children: boolean } = { children: false }): number {
  try {
    const fields = Deno.readTextFileSync(`/proc/${pid}/stat`).split(") ")[1]?.split(" ") ?? [];
    const ticks = fields.slice(11, o.children ? 15 : 13).reduce((sum, field) => sum + Number(field), 0);
    return ticks * MS_PER_TICK;
  } catch {
    return 0; // it has ended
  }
}

/** Processor time of a Postgres server in ms: of the postmaster and its processes, those that have ended included. */
export function postgresMs(postmaster: string): number {
  let sum = processorMs(postmaster, { children: true });
  for (const { name } of Deno.readDirSync("/proc")) {
    if (/^\d+$/.test(name) && parentOf(name) === postmaster) sum += processorMs(name);
  }
  return sum;
}

/** Linux reports processor time in hundredths of a second. */
const MS_PER_TICK = 10;

function parentOf(pid: string): string | null {
  try {
    return Deno.readTextFileSync(`/proc/${pid}/stat`).split(") ")[1]?.split(" ")[1] ?? null;
  } catch {
    return null;
  }
}
