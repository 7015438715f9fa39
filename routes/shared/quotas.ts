import { addressKey } from "../../domain/access/sign_in/address.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import { type Quota, RateLimit, requireQuota } from "../../domain/requests/rate_limit.ts";
import { type Caller, principalId } from "../../domain/rights/caller.ts";
import type { Call } from "./call.ts";
import { callerOf } from "./caller_of.ts";
import type { Endpoint } from "./endpoint.ts";

/** Quotas of callers, and of addresses for requests without a valid token. */
export class Quotas {
  /** Null: no limit. */
  readonly #callers: RateLimit | null;
  readonly #addresses: RateLimit | null;

  constructor(private readonly platform: ServicePlatform, o: { unlimited?: boolean | undefined }) {
    const { RATE_LIMIT_PER_MINUTE, RATE_LIMIT_ANONYMOUS_PER_MINUTE } = platform.config;
    const limit = (perMinute: number) => perMinute > 0 && !o.unlimited ? new RateLimit(perMinute) : null;
    this.#callers = limit(RATE_LIMIT_PER_MINUTE);
    this.#addresses = limit(RATE_LIMIT_ANONYMOUS_PER_MINUTE);
  }

  /**
   * The caller of the request, or null. Each caller has a quota. Requests without a valid token share the quota of their
   * address.
   * @throws RATE_LIMITED, and what `authenticate` throws
   */
  async countedCaller(spec: Endpoint, call: Call): Promise<Caller | null> {
    const find = async () => spec.access.needsCaller ? await callerOf(this.platform, call) : null;
    const caller = await find().catch((failure) => {
      if (!spec.unlimited) countRequest(this.#addresses, addressKey(call.ip), call);
      throw failure;
    });
    call.caller = caller;
    if (caller) call.holding.belongTo(principalId(caller));
    if (spec.unlimited) return caller;
    if (caller) countRequest(this.#callers, principalId(caller), call);
    else await this.#countStranger(spec, call);
    return caller;
  }

  /** Counts a request without a caller: for the client that it authenticates, else for its address. */
  async #countStranger(spec: Endpoint, call: Call): Promise<void> {
    const isLimited = this.#callers || this.#addresses;
    const principal = isLimited ? await spec.principal?.(this.platform, call) : null;
    if (principal) {
      call.holding.belongTo(principal);
      countRequest(this.#callers, principal, call);
    } else countRequest(this.#addresses, addressKey(call.ip), call);
  }
}

function countRequest(limit: RateLimit | null, key: string, call: Call): void {
  if (!limit) return;
  call.quota = limit.take(key);
  requireQuota(call.quota);
}

/** The three fields of draft-ietf-httpapi-ratelimit-headers-06; later drafts use one field. */
export const quotaHeaders = ({ limit, remaining, resetSeconds }: Quota): Record<string, string> => ({
  "ratelimit-limit": String(limit),
  "ratelimit-remaining": String(remaining),
  "ratelimit-reset": String(resetSeconds),
});
