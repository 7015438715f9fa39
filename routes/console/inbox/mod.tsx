import { done } from "../shared/actions.ts";
import { type ConsoleSection, navItem, type Visit } from "../shared/page.ts";
import { inboxPage } from "./inbox.tsx";
import { streamUnread } from "./stream.ts";
import { inboxTexts } from "./texts.ts";

/** The viewer's own in-app messages. */
export const inboxSection: ConsoleSection = {
  nav: [navItem(inboxTexts, "title", { path: "inbox", icon: "bell" })],
  pages: [
    { path: "inbox", get: inboxPage },
    { path: "inbox/stream", get: streamUnread },
    {
      path: "inbox/read-all",
      async post(v) {
        const { updated } = await v.api.call("markAllUserNotificationsRead", { query: ownOf(v) });
        return done("inbox", inboxTexts[v.locale].allRead(updated));
      },
    },
    {
      path: "inbox/{id}/read",
      async post(v) {
        await v.api.call("markUserNotificationRead", { params: v.params, query: ownOf(v) });
        return { goTo: "inbox" };
      },
    },
    {
      path: "inbox/{id}/delete",
      async post(v) {
        await v.api.call("deleteUserNotification", { params: v.params, query: ownOf(v) });
        return done("inbox", inboxTexts[v.locale].deleted);
      },
    },
  ],
};

const ownOf = ({ viewer: { userId } }: Visit) => ({ userId });
