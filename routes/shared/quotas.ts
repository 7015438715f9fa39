import { addressKey } from "../../domain/access/sign_in/address.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import { Problem } from "../../domain/problems/problem.ts";
import { type Quota, RateLimit, requireQuota } from "../../domain/requests/rate_limit.ts";
import { type Caller, principalId } from "../../domain/rights/caller.ts";
import { BODY_LIMIT, type Call } from "./call.ts";
import { callerOf } from "./caller_of.ts";
import type { Endpoint } from "./endpoint.ts";

/** Period of the quotas for reports. They refill ten times as fast as others, because a busy worker sends many reports. */
const REPORTS_WINDOW_MS = 6_000;
/** A report counts once more for every so many bytes, because a long one causes as much work as hundreds of short ones. */
const REPORT_BYTES = 8 * 1024;

/** Quotas of callers, and of addresses for requests without a valid token. Null: no limit. */
interface Limits {
  callers: RateLimit | null;
  addresses: RateLimit | null;
}

/** The quotas of an instance. Each caller has one. Requests without a valid token share the quota of their address. */
export class Quotas {
  readonly #requests: Limits;
  readonly #reports: Limits;

  constructor(private readonly platform: ServicePlatform, o: { unlimited?: boolean | undefined }) {
    const { RATE_LIMIT_PER_MINUTE, RATE_LIMIT_ANONYMOUS_PER_MINUTE } = platform.config;
    const limits = (windowMs?: number): Limits => {
      const of = (count: number) =>
        count > 0 && !o.unlimited ? new RateLimit(count, undefined, windowMs) : null;
      return { callers: of(RATE_LIMIT_PER_MINUTE), addresses: of(RATE_LIMIT_ANONYMOUS_PER_MINUTE) };
    };
    this.#requests = limits();
    this.#reports = limits(REPORTS_WINDOW_MS);
  }

  /**
   * The caller of the request, or null. Counts the request, and what it holds, for the caller.
   * @throws RATE_LIMITED, INSTANCE_BUSY_UNAVAILABLE, and what `authenticate` throws
   */
  async countedCaller(spec: Endpoint, call: Call): Promise<Caller | null> {
    const caller = call.caller = spec.access.needsCaller ? await callerOf(this.platform, call, spec) : null;
    const { callers, addresses } = spec.quota === "reports" ? this.#reports : this.#requests;
    const isLimited = spec.quota !== "none" && (callers ?? addresses) !== null;
    const principal = caller ? principalId(caller) : isLimited && await spec.principal?.(this.platform, call);
    if (principal) call.holding.belongTo(principal);
    if (!isLimited) return caller;
    const amount = spec.quota === "reports"
      ? 1 + Math.floor(Math.min(call.declaredSize, spec.bodyLimit ?? BODY_LIMIT) / REPORT_BYTES)
      : 1;
    if (principal) count(callers, principal, call, amount);
    else count(addresses, addressKey(call.ip), call, amount);
    return caller;
  }

  /**
   * Counts a request that was refused before it was counted, such as one with an invalid token, for its address.
   * @returns the failure, or RATE_LIMITED
   */
  countedFailure(failure: unknown, call: Call): unknown {
    if (call.quota || !(failure instanceof Problem) || failure.status >= 500) return failure;
    try {
      count(this.#requests.addresses, addressKey(call.ip), call);
      return failure;
    } catch (limited) {
      return limited;
    }
  }
}

function count(limit: RateLimit | null, key: string, call: Call, amount?: number): void {
  if (!limit) return;
  call.quota = limit.take(key, amount);
  requireQuota(call.quota);
}

/** The three fields of draft-ietf-httpapi-ratelimit-headers-06; later drafts use one field. */
export const quotaHeaders = ({ limit, remaining, resetSeconds }: Quota): Record<string, string> => ({
  "ratelimit-limit": String(limit),
  "ratelimit-remaining": String(remaining),
  "ratelimit-reset": String(resetSeconds),
});
