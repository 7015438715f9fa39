/** Constants of the delivery job type. Separate from its handler, so that code that enqueues need not import it. */
export const DELIVERY_JOB = {
  name: "events.deliver",
  /** Counts only failures on our side: a failing receiver is retried by the delivery's own schedule. */
  maxRetries: 10,
  /** Limit for the whole service, so that slow receivers do not occupy all workers. */
  concurrency: 20,
  isConcurrencySoft: true,
} as const;
