import postgres from "postgres";

export const { PostgresError } = postgres;
/** Postgres error codes that the service handles. */
export const SQLSTATE = {
  uniqueViolation: "23505",
  foreignKeyViolation: "23503",
  serializationFailure: "40001",
  deadlock: "40P01",
  lockNotAvailable: "55P03",
} as const;

/** Postgres error codes of temporary failures. Two digits stand for a whole class of codes. */
const TEMPORARY = {
  /** The server is shutting down or starting, accepts no more connections, or has closed this one. */
  unreachable: ["57P01", "57P02", "57P03", "57P05", "25P03", "25P04", "53300", "08"],
  /** The server lacks disk space, memory or another resource, or its disk fails. */
  full: ["53", "58"],
  /** Lock timeout, statement timeout, deadlock or serialization failure. */
  busy: [SQLSTATE.lockNotAvailable, "57014", SQLSTATE.deadlock, SQLSTATE.serializationFailure],
} as const;
/** Error codes of connections that could not be opened or were lost. */
const UNREACHABLE = [
  "EAI_AGAIN",
  "ECONNABORTED",
  "ECONNREFUSED",
  "ECONNRESET",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EPIPE",
  "ETIMEDOUT",
  "CONNECT_TIMEOUT",
  "CONNECTION_CLOSED",
  "CONNECTION_DESTROYED",
];

/** True if a query failed because its connection was lost. Only the driver sets `query` on an error. */
export function isConnectionLost(error: unknown): boolean {
  if (!(error instanceof Error) || !("query" in error) || !("code" in error)) return false;
  if (error instanceof PostgresError) return error.severity === "FATAL" || error.severity === "PANIC";
  return UNREACHABLE.includes(String(error.code));
}

/**
 * True if the plan of a prepared statement has become invalid, as `select *` after a migration. The driver prepares the
 * statement again when it is sent next on that connection.
 */
export const isPlanInvalid = (error: unknown): boolean =>
  error instanceof PostgresError && error.routine === "RevalidateCachedQuery";

/**
 * Classifies temporary database failures; null for any other error. `unreachable`: the database could not be reached,
 * and it is unknown whether the query took effect. `full`: it lacks disk space, memory or another resource. `busy`: a
 * lock or statement timeout, a deadlock or a serialization failure. After `full` and `busy`, nothing was changed.
 */
export function databaseFailure(error: unknown): "unreachable" | "full" | "busy" | null {
  if (!(error instanceof Error) || !("code" in error)) return null;
  const code = String(error.code);
  if (error instanceof LockNotAvailable || error instanceof TooManyWaiting) return "busy";
  if (!(error instanceof PostgresError)) {
    // Sockets of other clients fail with the same codes. Only the driver sets `query` or uses codes like
    // CONNECT_TIMEOUT.
    const isFromDriver = "query" in error || code.startsWith("CONNECT");
    return isFromDriver && UNREACHABLE.includes(code) ? "unreachable" : null;
  }
  for (const kind of ["unreachable", "full", "busy"] as const) {
    if (TEMPORARY[kind].some((known) => code.startsWith(known))) return kind;
  }
  return null;
}

/** Another transaction holds a lock on the row to change. Nothing was changed. */
export class LockNotAvailable extends Error {
  override name = "LockNotAvailable";
  readonly code = SQLSTATE.lockNotAvailable;
}

/** More writes wait for the database than this instance keeps. This one was not tried. */
export class TooManyWaiting extends Error {
  override name = "TooManyWaiting";
  readonly code = SQLSTATE.lockNotAvailable;
  constructor(waiting: number) {
    super(`a write was not tried: ${waiting} writes wait for the database already`);
  }
}

/** True if a query failed with a lock timeout. */
export const isLockTimeout = (error: unknown): boolean =>
  error instanceof PostgresError && error.code === SQLSTATE.lockNotAvailable;
