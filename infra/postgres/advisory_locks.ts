import type { Tx } from "./postgres.ts";

/**
 * Keys of the advisory locks that have one fixed key. The names say what the locks protect. Each lock has a key of its own,
 * because works that share a key wait for each other. A key must not change: during an upgrade, instances of two versions run.
 */
export const ADVISORY_LOCKS = {
  /** Applying migrations. */
  migrations: 7_315_027_811,
  /** Writing the catalog and creating the platform tenant at the start. */
  bootstrap: 7_315_027_812,
  /** Adding changes to the counters of jobs. */
  countFolds: 7_315_027_813,
  /** Declaring the service's own recurring jobs at the start. */
  serviceRecurringJobs: 7_315_027_814,
  /** The default permissions of catalog roles. */
  defaultRoles: 7_315_027_815,
  /** Changes after which an active holder of admin:system must remain. */
  systemAdmins: 7_315_027_816,
} as const;

/** First keys of the advisory locks that have two keys. They follow the rules of `ADVISORY_LOCKS`. */
export const PAIRED_LOCKS = {
  /** The codes of permissions. Second key: 0 for the catalog, else a hash of the tenant's id. */
  permissionCodes: 7_315_027,
  /** The links of a user. Second key: a hash of the user's id. */
  linksOfUser: 731_502,
} as const;

/** Seeds of the advisory locks that have a key for each name. They follow the rules of `ADVISORY_LOCKS`. */
export const NAMED_LOCKS = {
  /** Counting the running jobs of a limit. */
  runningJobs: 7315,
  /** The owner of a job type's name. */
  jobTypes: 7316,
  /** The saved filters of a user. */
  savedFilters: 7319,
  /** The tasks on lists of a user. */
  listTasks: 7320,
  /** The webhook endpoints of a tenant. */
  webhookEndpoints: 7321,
  /** The registrations of an email or of a network address, and their settings in a tenant. */
  registrations: 7322,
  /** The user of an email whom a provider adds to a tenant. */
  addedUsers: 7323,
  /** The claim of a remote worker with one requestId. */
  remoteClaims: 7324,
  /** The partials of a tenant that contain others. */
  partials: 7325,
  /** The creation of many records of a tenant. */
  manyRecords: 7326,
} as const;

/** Waits until no other transaction holds the lock of this name. The lock is held until `tx` ends. */
export const lockNamed = (tx: Tx, kind: keyof typeof NAMED_LOCKS, name: string) =>
  tx`select pg_advisory_xact_lock(hashtextextended(${name}, ${NAMED_LOCKS[kind]}))`;
