import type { RefusedToken } from "../../../infra/push/push.ts";
import type { Platform } from "../../shared/platform.ts";
import type { Content } from "../content.ts";
import type { HeldNotification } from "../delivery_ledger.ts";
import { deleteDevices } from "../devices.ts";
import type { Provider, RecipientAnswer } from "./failover.ts";

/** The push services in failover order. A device whose token is dead is deleted. */
export function pushProviders(p: Platform, held: HeldNotification, content: Content): Provider[] {
  return p.push.map((transport) => ({
    name: transport.name,
    async deliver(owed, signal) {
      const tokens = owed.map((recipient) => recipient.address);
      const message = {
        title: content.subject,
        body: content.text,
        data: held.pushData ?? {},
        // A device that is addressed both by its token and by its user gets the message once.
        tokens: [...new Set(tokens)],
      };
      const { accepted, refused, retryAfterMs, isUnreachable = false } = await transport.send(
        message,
        signal,
      );
      const dead = refused.filter((refusal) => refusal.isDead).map((refusal) => refusal.token);
      if (dead.length > 0) await deleteDead(p, dead);
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

/** Never throws, because the outcome of the other tokens must still be written. The service will report the token again. */
async function deleteDead(p: Platform, dead: string[]): Promise<void> {
  try {
    await deleteDevices(p.sql, dead);
  } catch (error) {
    p.log.warn("could not delete the devices of dead push tokens", { error });
  }
}

function refusalOf(refusal: RefusedToken | undefined): RecipientAnswer & { accepted: false } {
  const { reason, permanent } = refusal ??
    { reason: "the message was not sent to this device in this attempt", permanent: false };
  return { accepted: false, reason, permanent };
}
