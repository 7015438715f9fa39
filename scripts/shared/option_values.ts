// Each function parses the value of an option, or throws a Failure that names the option, its value and what was expected.
import { EXIT, Failure } from "./run_script.ts";

/** Pattern of ids. */
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Parses `--tenant`; undefined if it is absent. */
export function parseTenant(given: string | undefined): string | undefined {
  if (given === undefined || UUID.test(given)) return given;
  throw new Failure(EXIT.usage, `--tenant is "${given}"; expected a tenant's id`);
}

/** Parses an option that must be one of `names`, in any letter case. */
export function parseChoice<const N extends string>(option: string, given: string, names: readonly N[]): N {
  const name = names.find((name) => name.toLowerCase() === given.toLowerCase());
  if (name) return name;
  throw new Failure(EXIT.usage, `${option} is "${given}"; expected one of ${names.join(", ")}`);
}

/** Parses the id argument of a command. */
export function parseId(command: string, given: string | undefined): string {
  if (given && UUID.test(given)) return given.toLowerCase();
  throw new Failure(EXIT.usage, `${command} needs an id${given ? `; "${given}" is not an id` : ""}`);
}

/** Parses an option that must be a time; null if it is absent. */
export function parseTime(option: string, given: string | undefined): Date | null {
  if (given === undefined) return null;
  const at = new Date(given);
  if (!Number.isNaN(at.getTime())) return at;
  throw new Failure(EXIT.usage, `${option} is "${given}"; expected an ISO 8601 time`);
}

/** Parses an option that must be an integer from `min` to `max`. */
export function parseInteger(option: string, given: string, min: number, max: number): number {
  const value = /^-?\d{1,9}$/.test(given) ? Number(given) : NaN;
  if (value >= min && value <= max) return value;
  throw new Failure(EXIT.usage, `${option} is "${given}"; expected an integer from ${min} to ${max}`);
}
