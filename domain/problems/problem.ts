import { ACCESS_PROBLEMS } from "./access.ts";
import { AUTH_PROBLEMS } from "./auth.ts";
import type { CatalogueEntry } from "./entry.ts";
import { EVENT_PROBLEMS } from "./events.ts";
import { FILE_PROBLEMS } from "./files.ts";
import { JOB_PROBLEMS } from "./jobs.ts";
import { LOOKS_PROBLEMS } from "./looks.ts";
import { NOTIFICATION_PROBLEMS } from "./notifications.ts";
import { OAUTH_PROBLEMS } from "./oauth.ts";
import { REPORT_PROBLEMS } from "./reports.ts";
import { REQUEST_PROBLEMS } from "./request.ts";
import { RESOURCE_PROBLEMS } from "./resources.ts";

export type FieldErrors = Record<string, string[]>;

/** Optional parts of a problem besides its code and detail. */
export interface ProblemExtras {
  /** Messages by field for a validation error, else a list. */
  errors?: FieldErrors | string[];
  headers?: Record<string, string>;
  /** Further members of the problem document. */
  members?: Record<string, unknown>;
  /** Status, if it differs from the catalogue's. */
  status?: number;
  /** True: the problem document has no `code`, and its type is `about:blank`. */
  uncoded?: boolean;
  cause?: unknown;
}

/** A problem of the catalogue. Any code below a route may throw it; the service answers it as a problem document. */
export class Problem extends Error {
  override name = "Problem";
  readonly status: number;

  constructor(readonly code: ProblemCode, detail: string, readonly extras: ProblemExtras = {}) {
    super(detail, { cause: extras.cause });
    this.status = extras.status ?? CATALOGUE[code].status;
  }
}

/**
 * Creates a problem to throw.
 * @param detail says what was attempted, the value found and the value expected.
 */
export function problem(code: ProblemCode, detail: string, extras?: ProblemExtras): Problem {
  return new Problem(code, detail, extras);
}

/** Creates a `VALIDATION_ERROR` with messages by field. */
export function invalid(errors: FieldErrors): Problem {
  const [first] = Object.entries(errors);
  const detail = first ? `The request is invalid: ${first[0]}: ${first[1][0]}` : "The request is invalid.";
  return new Problem("VALIDATION_ERROR", detail, { errors });
}

/** The only 400 without a code: valid members of a body contradict each other. */
export const incoherent = (detail: string): Problem =>
  new Problem("VALIDATION_ERROR", detail, { uncoded: true });

/** All problems that the service can answer: the statuses, problem documents and `/problems/{CODE}` pages are made from it. */
export const CATALOGUE = {
  ...REQUEST_PROBLEMS,
  ...AUTH_PROBLEMS,
  ...ACCESS_PROBLEMS,
  ...JOB_PROBLEMS,
  ...FILE_PROBLEMS,
  ...NOTIFICATION_PROBLEMS,
  ...REPORT_PROBLEMS,
  ...RESOURCE_PROBLEMS,
  ...LOOKS_PROBLEMS,
  ...EVENT_PROBLEMS,
  ...OAUTH_PROBLEMS,
} satisfies Record<string, CatalogueEntry>;

export type ProblemCode = keyof typeof CATALOGUE;

/** True if `code` is in the catalogue. */
export const isProblemCode = (code: string): code is ProblemCode => Object.hasOwn(CATALOGUE, code);

/** A problem of an extension. */
export interface ProblemDeclaration {
  status: number;
  title: string;
  /** A sentence that explains the problem. */
  meaning: string;
  /** A sentence that says how to fix the problem. */
  fix: string;
  /** The text of the console, by language; absent: `meaning` and `fix`. */
  user?: { en: string; pt: string };
}

/**
 * Adds problems of an extension to the catalogue and returns their codes by name, for `problem` and `problems`.
 * @throws Error for a malformed code, or one that the catalogue already has
 */
export function defineProblems<C extends string>(
  problems: Record<C, ProblemDeclaration>,
): Record<C, ProblemCode> {
  const codes = Object.keys(problems) as C[];
  for (const code of codes) {
    if (!/^[A-Z][A-Z0-9_]{2,99}$/.test(code)) {
      throw new Error(`problem ${code}: expected a code such as INVOICE_LOCKED`);
    }
    if (isProblemCode(code)) throw new Error(`problem ${code}: the catalogue already has this code`);
    const { status, title, meaning, fix, user } = problems[code];
    const text = `${meaning} ${fix}`;
    const declared: CatalogueEntry = {
      status,
      title,
      meaning,
      fix,
      user: user ?? { en: text, pt: text },
    };
    Object.assign(CATALOGUE, { [code]: declared });
  }
  return Object.fromEntries(codes.map((code) => [code, code])) as unknown as Record<C, ProblemCode>;
}
