import type { RefusedToken } from "../../../infra/push/push.ts";
import type { Platform } from "../../shared/platform.ts";
import type { Content } from "../content.ts";
import type { HeldNotification } from "../delivery_ledger.ts";
import { deleteDevices } from "../devices.ts";
import type { Provider, RecipientAnswer } from "../failover.ts";

/** The push services in failover order. A device whose token turns out dead is forgotten. */
export function pushProviders(p: Platform, held: HeldNotification, content: Content): Provider[] {
  return p.push.map((transport) => ({
    name: transport.name,
    async deliver(owed, signal) {
      const tokens = owed.map((recipient) => recipient.address);
      // a device that is named may also be one of an addressed user; it gets the message once
      const message = {
        ...{ title: content.subject, body: content.text, data: held.pushData ?? {} },
        tokens: [...new Set(tokens)],
      };
      const { accepted, refused, retryAfterMs, isUnreachable = false } = await transport.send(
        message,
        signal,
      );
      const dead = refused.filter((refusal) => refusal.isDead).map((refusal) => refusal.token);
      if (dead.length > 0) await forget(p, dead);
      const taken = new Set(accepted);
      const refusals = new Map(refused.map((refusal) => [refusal.token, refusal]));
      return tokens.map((token) =>
        taken.has(token)
          ? { accepted: true }
          : { ...refusalOf(refusals.get(token)), retryAfterMs, isTransient: isUnreachable }
      );
    },
  }));
}

/** Never throws: that others were reached must be kept, and the service will say it of a dead token again. */
async function forget(p: Platform, dead: string[]): Promise<void> {
  try {
    await deleteDevices(p.sql, dead);
  } catch (error) {
    p.log.warn("a dead device could not be forgotten", { error });
  }
}

function refusalOf(refusal: RefusedToken | undefined): RecipientAnswer & { accepted: false } {
  const { reason, permanent } = refusal ??
    { reason: "the provider did not come to this device", permanent: false };
  return { accepted: false, reason, permanent };
}
