import type { RefusedToken } from "../../../infra/push/push.ts";
import type { Platform } from "../../shared/platform.ts";
import type { Content } from "../content.ts";
import type { HeldNotification } from "../delivery_ledger.ts";
import { forgetDevices } from "../devices.ts";
import type { Provider, RecipientAnswer } from "../failover.ts";

/** The push services in failover order. A device whose token turns out dead is forgotten. */
export function pushProviders(p: Platform, held: HeldNotification, content: Content): Provider[] {
  return p.push.map((transport) => ({
    name: transport.name,
    async deliver(owed, signal) {
      const tokens = owed.map((recipient) => recipient.address);
      const message = { title: content.subject, body: content.text, data: held.pushData ?? {}, tokens };
      const { accepted, refused, retryAfterMs } = await transport.send(message, signal);
      const dead = refused.filter((refusal) => refusal.isDead).map((refusal) => refusal.token);
      if (dead.length > 0) await forgetDevices(p.sql, dead);
      const taken = new Set(accepted);
      const refusals = new Map(refused.map((refusal) => [refusal.token, refusal]));
      return tokens.map((token) =>
        taken.has(token) ? { accepted: true } : { ...refusalOf(refusals.get(token)), retryAfterMs }
      );
    },
  }));
}

function refusalOf(refusal: RefusedToken | undefined): RecipientAnswer & { accepted: false } {
  const { reason, permanent } = refusal ??
    { reason: "the provider did not come to this device", permanent: false };
  return { accepted: false, reason, permanent };
}
