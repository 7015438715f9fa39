import { outboxPush, type PushTransport } from "../../../infra/push/push.ts";
import type { Platform } from "../../shared/platform.ts";
import type { Content } from "../content.ts";
import type { HeldNotification } from "../delivery_ledger.ts";
import { forgetDevices } from "../devices.ts";
import type { Provider } from "../failover.ts";

/** The push services in failover order. A device whose token turns out dead is forgotten. */
export function pushProviders(p: Platform, held: HeldNotification, content: Content): Provider[] {
  return transportsOf(p).map((transport) => ({
    name: transport.name,
    async deliver(owed, signal) {
      const tokens = owed.map((recipient) => recipient.address);
      const message = { title: content.subject, body: content.text, data: held.pushData ?? {}, tokens };
      const { accepted, refused } = await transport.send(message, signal);
      const dead = refused.filter((refusal) => refusal.permanent).map((refusal) => refusal.token);
      if (dead.length > 0) await forgetDevices(p.sql, dead);
      const taken = new Set(accepted);
      const refusals = new Map(refused.map((refusal) => [refusal.token, refusal]));
      return tokens.map((token) =>
        taken.has(token) ? { accepted: true } : {
          accepted: false,
          reason: refusals.get(token)?.reason ?? "the provider did not come to this device",
          permanent: refusals.get(token)?.permanent ?? false,
        }
      );
    },
  }));
}

const transportsOf = (p: Platform): PushTransport[] => p.outbox ? [outboxPush(p.outbox)] : [];
