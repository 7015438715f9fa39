import { principalId } from "../../domain/rights/caller.ts";
import type { Log } from "../../infra/log.ts";
import type { Answer } from "./answer.ts";
import type { Call } from "./call.ts";
import type { Endpoint } from "./endpoint.ts";

/** The statuses of refusals that are logged: not signed in, not permitted, too many requests. */
const LOGGED_REFUSALS: ReadonlySet<number> = new Set([401, 403, 429]);

/** Logs refused access, and every sign-in and refresh. The values are never those that the caller sent as a secret. */
export function logSecurityEvent(spec: Endpoint, call: Call, answer: Answer, log: Log): void {
  const { traceId, ip, caller } = call;
  if (LOGGED_REFUSALS.has(answer.status)) {
    log.info("access refused", {
      operation: spec.id,
      status: answer.status,
      code: codeOf(answer),
      caller: caller && principalId(caller),
      tenantId: caller?.tenantId ?? null,
      ip,
      traceId,
    });
  } else if (isSignedIn(answer.body)) {
    const { user, tenant } = answer.body;
    log.info("signed in", {
      operation: spec.id,
      userId: user.id,
      tenantId: tenant?.id ?? null,
      ip,
      traceId,
    });
  }
}

function codeOf({ body }: Answer): string | null {
  return typeof body === "string" ? JSON.parse(body).code ?? null : null;
}

const isSignedIn = (
  body: unknown,
): body is { user: { id: string }; tenant: { id: string } | null } =>
  typeof body === "object" && body !== null && "refreshToken" in body && "user" in body;
