// Secrets in job arguments. They are stored as given, because the job needs them, and never shown again.
import { invalid } from "../../problems/problem.ts";
import { isExactNumber, parseExactly, parseOrText } from "../../shared/exact_json.ts";
import type { AnyJobType, SecretArg } from "../job_type.ts";

/** Placeholder shown instead of a secret. */
export const HIDDEN = "***";
/** Shorter secrets are not masked in other texts: such a text can occur by chance. */
const LEAST_SECRET = 4;

/** `scheme://user:password@` of a URL; the second group is the secret. */
const USER_INFO = /^([a-z][a-z0-9+.-]*:\/\/)([^@/?#]*)@/i;

type Change = (secret: string, path: string) => string;

/** Copies the arguments and replaces each of the type's secrets by the result of `change`. */
function mapSecrets(type: Pick<AnyJobType, "secretArgs">, args: unknown, change: Change): unknown {
  return (type.secretArgs ?? []).reduce(
    (changed, secret) => mapPath(secret, secret.path.split("."), changed, [], change),
    args,
  );
}

function mapPath(secret: SecretArg, rest: string[], value: unknown, at: string[], change: Change): unknown {
  const [name, ...deeper] = rest;
  if (name === undefined) return mapSecret(secret, value, at.join("."), change);
  if (typeof value !== "object" || value === null || isExactNumber(value)) return value;
  const isMatch = (key: string) => name === "*" ? !secret.except?.includes(key.toLowerCase()) : key === name;
  const mapped = Object.entries(value).map(([key, member]) =>
    [key, isMatch(key) ? mapPath(secret, deeper, member, [...at, key], change) : member] as const
  );
  return Array.isArray(value) ? mapped.map(([, member]) => member) : Object.fromEntries(mapped);
}

function mapSecret(secret: SecretArg, value: unknown, path: string, change: Change): unknown {
  if (value === null || value === undefined) return value;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  if (secret.part !== "userinfo") return change(text, path);
  return text.replace(USER_INFO, (_, scheme: string, user: string) => `${scheme}${change(user, path)}@`);
}

/**
 * Stored arguments with secrets masked, as callers see them. Arguments that are not JSON are hidden whole, because their
 * secrets cannot be found.
 */
function shownArgs(type: Pick<AnyJobType, "secretArgs"> | undefined, serializedArgs: string): string {
  if (!type?.secretArgs?.length) return serializedArgs;
  const args = parseOrText(serializedArgs);
  return JSON.stringify(args === serializedArgs ? HIDDEN : mapSecrets(type, args, () => HIDDEN));
}

/** Comparisons of a character with a secret, for all texts of one answer or report: up to a second of the instance's time. */
const MAX_COMPARED = 2 ** 28;
/** The cost of the search for a secret in an empty text, in comparisons. */
const COST_OF_SEARCH = 32;

/**
 * Returns a function that makes masks of arguments: functions that mask the secrets in a text or in JSON. The masks share a
 * limit of time, because callers choose the number of secrets and the texts. Beyond it, a text is hidden whole.
 */
export function secretMasks() {
  let left = MAX_COMPARED;
  return (type: Pick<AnyJobType, "secretArgs">, args: unknown): (text: string) => string => {
    const known = secretsIn(type, args).map(({ secret }) => secret).filter(({ length }) =>
      length >= LEAST_SECRET
    );
    const secrets = new Set(known.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]));
    return (text) => {
      const compared = secrets.size * (text.length + COST_OF_SEARCH);
      if (compared > left) return HIDDEN;
      left -= compared;
      return [...secrets].reduce((hidden, secret) => hidden.replaceAll(secret, HIDDEN), text);
    };
  };
}

/** Masks the secrets of the arguments in one text or in JSON, such as a response that echoes the request. */
export const hideSecrets = (type: Pick<AnyJobType, "secretArgs">, args: unknown, text: string): string =>
  secretMasks()(type, args)(text);

/** The secrets of arguments, each with its path. */
function secretsIn(type: Pick<AnyJobType, "secretArgs">, args: unknown): { path: string; secret: string }[] {
  const found: { path: string; secret: string }[] = [];
  mapSecrets(type, args, (secret, path) => {
    found.push({ path, secret });
    return secret;
  });
  return found;
}

/**
 * Replaces each `***` in changed arguments by the secret stored at the same place.
 * @throws VALIDATION_ERROR when the secret was stored for another receiver
 */
export function keepSecrets(
  type: Pick<AnyJobType, "secretArgs" | "receiver"> | undefined,
  given: string,
  stored: string,
): string {
  if (!type?.secretArgs || !given.includes(HIDDEN)) return given;
  const former = parseOrText(stored);
  const kept = new Map(secretsIn(type, former).map(({ path, secret }) => [path, secret]));
  const args = parseExactly(given);
  const isSameReceiver = type.receiver?.(args) === type.receiver?.(former);
  return JSON.stringify(mapSecrets(type, args, (secret, path) => {
    const keptSecret = kept.get(path);
    if (secret !== HIDDEN || keptSecret === undefined) return secret; // refused by requireNoHidden
    if (isSameReceiver) return keptSecret;
    throw invalid({
      serializedArgs: [`${path}: the stored secret is for another receiver; send the secret itself`],
    });
  }));
}

/** @throws VALIDATION_ERROR when a secret is `***` */
export function requireNoHidden(type: AnyJobType, args: unknown): void {
  const missing = secretsIn(type, args).filter(({ secret }) => secret === HIDDEN).map(({ path }) =>
    `${path}: ${HIDDEN} stands for a secret that is not shown; send the secret itself`
  );
  if (missing.length > 0) throw invalid({ serializedArgs: missing });
}

type TypeOf = (
  job: { jobTypeName: string; tenantId?: string | null },
) => Pick<AnyJobType, "secretArgs"> | undefined;

/** Masks the secrets in the arguments of every job, recurring job and dead letter of a response. */
export function withoutSecrets(typeOf: TypeOf, answer: unknown): unknown {
  if (Array.isArray(answer)) return answer.map((item) => withoutSecrets(typeOf, item));
  if (typeof answer !== "object" || answer === null || answer instanceof Date) return answer;
  const shown = Object.fromEntries(
    Object.entries(answer).map(([name, value]) => [name, withoutSecrets(typeOf, value)]),
  );
  if (!hasArgs(shown)) return shown;
  return { ...shown, serializedArgs: shownArgs(typeOf(shown), shown.serializedArgs) };
}

/** Names of the types whose arguments a response contains. */
export function typesShownIn(answer: unknown): string[] {
  if (typeof answer !== "object" || answer === null || answer instanceof Date) return [];
  const inside = Object.values(answer).flatMap(typesShownIn);
  return hasArgs(answer) ? [answer.jobTypeName, ...inside] : inside;
}

const hasArgs = (
  value: object,
): value is { jobTypeName: string; serializedArgs: string; tenantId?: string | null } =>
  "jobTypeName" in value && typeof value.jobTypeName === "string" &&
  "serializedArgs" in value && typeof value.serializedArgs === "string";

/** A path in the arguments of a job: `$.customer.id`; `*` stands for every member of its level. */
export const ARGS_PATH = /^\$(\.[A-Za-z0-9_*-]+)+$/;
export const ARGS_PATH_EXPECTED = "expected a path such as $.customer.id";

/** The member names of a path, joined by dots: the form of `SecretArg`. */
export const memberPath = (path: string): string => path.slice("$.".length);
