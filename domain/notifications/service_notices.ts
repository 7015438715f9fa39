import type { EventPlatform } from "../events/platform.ts";
import type { LooksPlatform } from "../looks/platform.ts";
import { notifyEndpointCreator } from "./endpoint_notice.ts";
import type { NotificationPlatform } from "./platform.ts";
import { mailSenderLink, notifyLostSender } from "./sender_notices.ts";

/**
 * What other areas tell people about their webhook endpoints and senders.
 * @param platform is called when something is told
 */
export const serviceNotices = (
  platform: () => NotificationPlatform,
): Pick<EventPlatform, "onEndpointDisabled"> & Pick<LooksPlatform, "senderNotices"> => ({
  onEndpointDisabled: (tx, endpoint, reason) => notifyEndpointCreator(platform(), tx, endpoint, reason),
  senderNotices: {
    mailLink: (tx, sender, link) => mailSenderLink(platform(), tx, sender, link),
    tellLost: (tx, sender) => notifyLostSender(platform(), tx, sender),
  },
});
