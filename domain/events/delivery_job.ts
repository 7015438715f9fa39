/** What is fixed of the job type that delivers: known to who enqueues it, without what carries it out. */
export const DELIVERY_JOB = {
  name: "events.deliver",
  /** Only failures of our own count: what a receiver does has its own schedule. */
  maxRetries: 10,
  /** At once in the whole service, so that slow receivers leave the workers to other jobs. */
  concurrency: 20,
} as const;
