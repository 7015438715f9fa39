// Faults of the engine that are planted to prove that the rules find them. Each changes the text of statements, or of a
// function in the database.
import type { Pool } from "../../infra/postgres/postgres.ts";
import type { Feature } from "./client_calls.ts";
import { readPlantedFaults } from "../support/planted_faults.ts";

export interface PlantedFault {
  name: string;
  /** Text in statements that is replaced; runs of spaces count as one space, and `$?` is any parameter. */
  from: string;
  /** Each `$?` is the parameter at the same place of `from`. */
  to: string;
  /** Name of the database function that contains the text; absent: a statement of the service does. */
  inFunction: string | undefined;
  /** What the jobs of a seed must be about; other seeds cannot find it. */
  needs: readonly Feature[];
  /** The first seed that finds it. */
  seed: number;
}

const planted = readPlantedFaults(import.meta.resolve("./faults.txt"));

/** README.md says what each fault does. `deno task simulate --faults` proves that the seeds find them. */
export const FAULTS: readonly PlantedFault[] = planted.map(({ headings: [name = "", ...more], from, to }) => {
  const given = Object.fromEntries(more.map((line) => line.split(/ (.*)/s, 2)));
  return {
    name,
    from,
    to,
    inFunction: given.inFunction,
    needs: (given.needs?.split(", ") ?? []) as Feature[],
    seed: Number(given.seed ?? 1),
  };
});

/** A planted fault while it is used. */
export class Fault {
  #changed = 0;
  readonly #from: RegExp;

  constructor(readonly planted: PlantedFault) {
    this.#from = patternOf(planted.from);
  }

  /** True if its text occurred. A text that never occurs no longer exists in the engine. */
  get wasPlanted(): boolean {
    return this.#changed > 0;
  }

  change(text: string): string {
    if (this.planted.inFunction || !this.#from.test(text)) return text;
    this.#changed++;
    return this.#replaced(text);
  }

  /**
   * Plants a fault of a database function. @returns removes it
   * @throws Error if its text is not in the function
   */
  async plant(sql: Pool): Promise<() => Promise<void>> {
    const { inFunction, name, from } = this.planted;
    if (!inFunction) return () => Promise.resolve();
    const [row] = await sql<{ definition: string }[]>`
      select pg_get_functiondef(oid) as definition from pg_proc where proname = ${inFunction}`;
    const definition = row?.definition ?? "";
    const changed = this.#replaced(definition);
    if (changed === definition) throw new Error(`${name}: "${from}" is not in ${inFunction}`);
    this.#changed++;
    await sql.unsafe(changed);
    return async () => void await sql.unsafe(definition);
  }

  #replaced(text: string): string {
    return text.replace(this.#from, (_, ...groups) => {
      const parameters = groups.filter((group) => /^\$\d+$/.test(String(group)));
      return this.planted.to.replaceAll("$?", () => String(parameters.shift() ?? "$?"));
    });
  }
}

/** @throws Error if there is no such fault */
export function faultNamed(name: string): Fault {
  const planted = FAULTS.find((fault) => fault.name === name);
  if (!planted) {
    throw new Error(`no fault is named "${name}"; known: ${FAULTS.map(({ name }) => name).join(", ")}`);
  }
  return new Fault(planted);
}

function patternOf(text: string): RegExp {
  const parts = text.trim().split("$?").map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(parts.join("(\\$\\d+)").replaceAll(/\s+/g, "\\s+"));
}
