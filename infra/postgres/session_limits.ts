/** The kind of work for which a connection is used. Each kind has its own limits, which the server enforces. */
export type Work = "service" | "pointRead" | "engine" | "upkeep" | "migration" | "report";

interface Limits {
  /** Maximum wait for a lock that another transaction holds, in ms; 0: no limit. */
  lockMs: number;
  /** Maximum duration of one statement, in ms; 0: no limit. */
  statementMs: number;
  /**
   * Maximum idle time of a transaction between two statements, in ms. Then the server ends it and releases its locks.
   */
  idleInTransactionMs: number;
  /** Maximum time that sent data may stay unacknowledged by the client, in ms. */
  unreadMs: number;
  /** True if writes fail. */
  isReadOnly?: true;
  /** True if statements are planned with `INDEX_PLANS`. Behind a pooler they are not: no plan is kept there. */
  hasIndexPlans?: true;
}

/**
 * Planner settings for statements that find their rows by an index, however large the tables are. Postgres keeps the plan
 * of a prepared statement for the connection. A plan made while the tables are nearly empty would use sequential scans,
 * and keep using them until the next ANALYZE, however fast the tables grow. With `auto`, a claim of jobs is planned at each
 * run, because a plan for one lane is cheaper than one for any number; that takes longer than the claim itself. Generic plans
 * have high estimates, and Postgres before 18 adds to those of sequential scans; neither is a reason to compile them.
 */
export const INDEX_PLANS = { enable_seqscan: "off", plan_cache_mode: "force_generic_plan", jit: "off" };

/** An instance that freezes in a transaction blocks other instances with its locks for at most this time. */
const IDLE_IN_TRANSACTION_MS = 8_000;
/**
 * A statement can wait twice for one row: behind other waiters, then for the holder. Both waits together are shorter than
 * the time after which the server ends a frozen holder. So a frozen waiter never becomes the next frozen holder.
 */
const LOCK_MS = 3_500;
const UNREAD_MS = 10_000;
const SERVICE_STATEMENT_MS = 90_000;
const POINT_READ_MS = 5_000;

const LIMITS: Record<Work, Limits> = {
  /** Requests, and the handlers of jobs. */
  service: {
    lockMs: LOCK_MS,
    statementMs: SERVICE_STATEMENT_MS,
    idleInTransactionMs: IDLE_IN_TRANSACTION_MS,
    unreadMs: UNREAD_MS,
  },
  /** Reads of a few rows by their keys. */
  pointRead: {
    lockMs: LOCK_MS,
    statementMs: POINT_READ_MS,
    idleInTransactionMs: IDLE_IN_TRANSACTION_MS,
    unreadMs: UNREAD_MS,
    isReadOnly: true,
  },
  /** Claims and results of jobs. */
  engine: {
    lockMs: LOCK_MS,
    statementMs: SERVICE_STATEMENT_MS,
    idleInTransactionMs: IDLE_IN_TRANSACTION_MS,
    unreadMs: UNREAD_MS,
    hasIndexPlans: true,
  },
  /** Recurring maintenance jobs and scripts: a statement may scan a large table. */
  upkeep: {
    lockMs: LOCK_MS,
    statementMs: 0,
    idleInTransactionMs: IDLE_IN_TRANSACTION_MS,
    unreadMs: UNREAD_MS,
  },
  /** Migrations wait for each other, and may rewrite whole tables. */
  migration: {
    lockMs: 0,
    statementMs: 0,
    idleInTransactionMs: IDLE_IN_TRANSACTION_MS,
    unreadMs: UNREAD_MS,
  },
  /** A report holds no row locks. It reads rows only as fast as its document is written. */
  report: { lockMs: 30_000, statementMs: 0, idleInTransactionMs: 60_000, unreadMs: 600_000 },
};

/**
 * The server detects a vanished client after 5 + 2 × 3 seconds. It then closes the connection and releases its locks.
 */
const KEEPALIVE = { tcp_keepalives_idle: "5", tcp_keepalives_interval: "2", tcp_keepalives_count: "3" };

/**
 * The planner counts reading a page through an index as hardly more than reading the next page: the pages are in memory or
 * on an SSD. The default of the server, 4, is for disks with moving heads; with it, tables of a hundred rows are scanned
 * for each row of a list.
 */
const PAGE_COSTS = { random_page_cost: "1.1" };

/** Maximum duration of one statement of this kind of work, in ms; 0: no limit. */
export const statementLimitMs = (work: Work): number => LIMITS[work].statementMs;

/**
 * Session settings, as Postgres accepts them when a connection starts.
 * @param statementMs replaces the default statement limit of this kind of work
 */
export function sessionSettings(work: Work, statementMs?: number): Record<string, string> {
  const { unreadMs, hasIndexPlans } = LIMITS[work];
  return {
    ...timeouts(work, statementMs),
    ...KEEPALIVE,
    tcp_user_timeout: String(unreadMs),
    ...PAGE_COSTS,
    ...hasIndexPlans ? INDEX_PLANS : {},
  };
}

/**
 * The time-outs of `sessionSettings` as SQL for one transaction: a pooler in transaction mode refuses them as connection
 * parameters. TCP keepalive is then configured at the pooler, and the page costs at the server.
 */
export const transactionSettings = (work: Work, statementMs?: number): string =>
  settingLocally(timeouts(work, statementMs));

/** Settings of a report's transaction, as SQL. It is the only transaction of its connection, also behind a pooler. */
export const reportSettings = (): string => settingLocally(sessionSettings("report"));

const settingLocally = (settings: Record<string, string>): string =>
  Object.entries(settings).map(([name, value]) => `set local ${name} = ${value}`).join("; ");

function timeouts(work: Work, statementMs = LIMITS[work].statementMs): Record<string, string> {
  const { lockMs, idleInTransactionMs, isReadOnly } = LIMITS[work];
  return {
    ...isReadOnly ? { default_transaction_read_only: "on" } : {},
    lock_timeout: String(lockMs),
    statement_timeout: String(statementMs),
    idle_in_transaction_session_timeout: String(idleInTransactionMs),
  };
}
