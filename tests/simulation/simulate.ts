// `deno task simulate`: runs seeds, or proves that planted faults are found. See README.md.
import { parseArgs } from "node:util";
import { Connections, createSimulationDatabase } from "./database.ts";
import { Fault, faultNamed, FAULTS } from "./faults.ts";
import { hasFeatures, type Result, type RunOptions, runSeed } from "./simulation.ts";
import { real } from "./virtual_time.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string" },
    from: { type: "string" },
    seed: { type: "string" },
    fault: { type: "string" },
    faults: { type: "boolean" },
    search: { type: "boolean" },
    trace: { type: "boolean" },
  },
});

/** How many seeds are tried to find a fault that the list has no seed of. */
const SEARCHED = 400;

/** How often a shorter run is tried. */
const TRIES = 8;
const LAST_STEPS = 40;
const LAST_CHANGES = 60;

const connections = await Connections.open(await createSimulationDatabase());
try {
  if (values.faults && values.search) await searchAll();
  else if (values.faults) await proveFaults();
  else if (values.fault) await findFault(faultNamed(values.fault), Number(values.seed ?? values.from ?? 1));
  else await runSeeds();
} finally {
  await connections.close();
}

/** Runs seeds without a fault: none may break a rule. */
async function runSeeds(): Promise<void> {
  const from = Number(values.seed ?? values.from ?? 1);
  const n = values.seed ? 1 : Number(values.seeds ?? 100);
  const since = real.now();
  let failed = 0;
  for (let seed = from; seed < from + n; seed++) {
    const result = await runSeed(connections, { seed });
    if (values.trace || result.violations.length > 0) await report(result, null);
    if (result.violations.length > 0) failed++;
    if ((seed - from + 1) % 100 === 0) {
      console.log(`${seed - from + 1} seeds, ${failed} failed, ${secondsSince(since)} s`);
    }
  }
  console.log(
    `${n} seeds from ${from}: ${failed === 0 ? "no rule was broken" : `${failed} failed`}, ${
      secondsSince(since)
    } s`,
  );
  if (failed > 0) Deno.exitCode = 1;
}

/** Runs every fault with its seed. */
async function proveFaults(): Promise<void> {
  const missed: string[] = [];
  for (const planted of FAULTS) {
    const fault = new Fault(planted);
    const { name, seed } = planted;
    const result = await runWith(fault, seed);
    const [violation] = result.violations;
    console.log(
      `${name}: seed ${seed}: ${
        violation ? `${violation.rule}: ${violation.what}` : `NOT FOUND${neverOccurred(fault)}`
      }`,
    );
    if (!violation) missed.push(planted.name);
  }
  console.log(`${FAULTS.length - missed.length} of ${FAULTS.length} faults were found`);
  if (missed.length > 0) Deno.exitCode = 1;
}

/** Searches the first seed of every fault, after the engine or the simulation has changed. */
async function searchAll(): Promise<void> {
  for (const { name } of FAULTS) await findFault(faultNamed(name), Number(values.from ?? 1));
}

/** Searches the first seed that finds the fault. */
async function findFault(fault: Fault, from: number): Promise<void> {
  const n = values.seed ? 1 : Number(values.seeds ?? SEARCHED);
  const { needs } = fault.planted;
  for (let seed = from, tried = 0; tried < n; seed++) {
    if (!values.seed && !hasFeatures(seed, needs)) continue;
    tried++;
    const result = await runWith(fault, seed);
    if (result.violations.length === 0) continue;
    if (values.trace) await report(result, fault);
    const [violation] = result.violations;
    return console.log(
      `${fault.planted.name}: found by seed ${seed}: ${violation?.rule}: ${violation?.what}`,
    );
  }
  console.log(`${fault.planted.name}: not found by ${n} seeds${neverOccurred(fault)}`);
  Deno.exitCode = 1;
}

function neverOccurred(fault: Fault): string {
  return fault.wasPlanted ? "" : "; its text never occurred";
}

async function runWith(fault: Fault, seed: number): Promise<Result> {
  const remove = await fault.plant(connections.monitor);
  try {
    return await runSeed(connections, { seed, fault });
  } finally {
    await remove();
  }
}

/** Finds, by trying, a run with less trouble that breaks the same rule. */
async function shorten(result: Result, run: (o: RunOptions) => Promise<Result>): Promise<Result> {
  const { seed, violations: [broken] } = result;
  let shortest = result;
  let [low, high] = [0, result.troubleSteps];
  for (let n = 0; n < TRIES && low < high; n++) {
    const troubleSteps = Math.floor((low + high) / 2);
    const shorter = await run({ seed, troubleSteps });
    if (shorter.violations[0]?.rule === broken?.rule) {
      high = troubleSteps;
      if (shorter.steps <= shortest.steps) shortest = shorter;
    } else low = troubleSteps + 1;
  }
  return shortest;
}

/** @param isWhole false: only the end of the trace and the history */
function describe(
  { seed, violations, steps, troubleSteps, trace, history, hash }: Result,
  isWhole: boolean,
): string {
  const last = (lines: string[], n: number) => isWhole ? lines : lines.slice(-n);
  return [
    `seed ${seed}: ${violations.length === 0 ? "no rule was broken" : "A RULE WAS BROKEN"}`,
    ...violations.map(({ rule, what }) => `  ${rule}: ${what}`),
    `  after ${steps} steps, ${troubleSteps} of them with trouble; hash of the history ${hash}`,
    ...last(trace, LAST_STEPS),
    "committed changes:",
    ...last(history, LAST_CHANGES),
    `repeat it: deno task simulate --seed ${seed} --trace`,
  ].join("\n");
}

async function report(result: Result, fault: Fault | null): Promise<void> {
  const shortest = result.violations.length > 0
    ? await shorten(result, (o) => runSeed(connections, { ...o, fault }))
    : result;
  console.log(describe(shortest, values.trace ?? false));
}

function secondsSince(since: number): number {
  return Math.round((real.now() - since) / 1000);
}
