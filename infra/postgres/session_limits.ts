/** What a connection is for. Each kind of work has limits of its own, which the server keeps. */
export type Work = "service" | "upkeep" | "migration" | "report";

interface Limits {
  /** Longest wait for a lock that another transaction holds, in ms; 0: no limit. */
  lockMs: number;
  /** Longest run of one statement, in ms; 0: no limit. */
  statementMs: number;
  /** Longest pause of a transaction between two statements, in ms. Its locks are released then. */
  idleInTransactionMs: number;
  /** Longest time that sent data may stay unread by the client, in ms. */
  unreadMs: number;
}

/** An instance that freezes in a transaction keeps its locks for so long, and stops the others for no longer. */
const IDLE_IN_TRANSACTION_MS = 8_000;
const UNREAD_MS = 10_000;
const SERVICE_STATEMENT_MS = 90_000;

const LIMITS: Record<Work, Limits> = {
  /** Requests and jobs. */
  service: {
    lockMs: 5_000,
    statementMs: SERVICE_STATEMENT_MS,
    idleInTransactionMs: IDLE_IN_TRANSACTION_MS,
    unreadMs: UNREAD_MS,
  },
  /** Recurring work of the service's own and scripts: a statement may go over a large table. */
  upkeep: {
    lockMs: 5_000,
    statementMs: 0,
    idleInTransactionMs: IDLE_IN_TRANSACTION_MS,
    unreadMs: UNREAD_MS,
  },
  /** Migrations wait for each other, and rewrite whole tables. */
  migration: {
    lockMs: 0,
    statementMs: 0,
    idleInTransactionMs: IDLE_IN_TRANSACTION_MS,
    unreadMs: UNREAD_MS,
  },
  /** A report holds no row locks, and reads as slowly as its document is written. */
  report: { lockMs: 30_000, statementMs: 0, idleInTransactionMs: 60_000, unreadMs: 600_000 },
};

/** A client that has vanished is found out after 5 + 2 × 3 seconds: its connection ends, and its locks with it. */
const KEEPALIVE = { tcp_keepalives_idle: "5", tcp_keepalives_interval: "2", tcp_keepalives_count: "3" };

/** Longest run of one statement of this kind of work, in ms; 0: no limit. */
export const statementLimitMs = (work: Work): number => LIMITS[work].statementMs;

/**
 * The settings of a session, as Postgres takes them when a connection begins.
 * @param statementMs another limit than the kind's own
 */
export function sessionSettings(work: Work, statementMs?: number): Record<string, string> {
  const { unreadMs } = LIMITS[work];
  return { ...timeouts(work, statementMs), ...KEEPALIVE, tcp_user_timeout: String(unreadMs) };
}

/**
 * The same limits for one transaction, as SQL: a pooler in transaction mode refuses them at the beginning of a
 * connection. Keepalive is then between the pooler and the server, and configured there.
 */
export const transactionSettings = (work: Work, statementMs?: number): string =>
  settingLocally(timeouts(work, statementMs));

/** What a report's transaction sets: it is the only one of its connection, behind a pooler or not. */
export const reportSettings = (): string => settingLocally(sessionSettings("report"));

const settingLocally = (settings: Record<string, string>): string =>
  Object.entries(settings).map(([name, value]) => `set local ${name} = ${value}`).join("; ");

function timeouts(work: Work, statementMs = LIMITS[work].statementMs): Record<string, string> {
  const { lockMs, idleInTransactionMs } = LIMITS[work];
  return {
    lock_timeout: String(lockMs),
    statement_timeout: String(statementMs),
    idle_in_transaction_session_timeout: String(idleInTransactionMs),
  };
}
