import type { PlantedFault } from "./faults.ts";

/** Each fault, and the first seed that finds it. `deno task simulate --faults` proves it. */
export const FAULTS: readonly PlantedFault[] = [
  {
    name: "claim by id",
    what: "claims take jobs in the order of ids, not of due times",
    from: "order by j.due_at, j.id limit",
    to: "order by j.id limit",
    seed: 3,
  },
  {
    name: "promote too early",
    what: "waiting jobs become due ten seconds early",
    from: "where status in ('Scheduled', 'Failed') and due_at <= now()",
    to: "where status in ('Scheduled', 'Failed') and due_at <= now() + interval '10 s'",
    seed: 1,
  },
  {
    name: "retry without delay",
    what: "a failed job is due at once",
    from: "then j.due_at else now() + e.delay_ms * interval '1 ms' end",
    to: "then j.due_at else now() end",
    seed: 1,
  },
];
