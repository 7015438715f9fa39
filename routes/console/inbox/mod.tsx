import type { ConsoleSection } from "../shared/page.ts";
import { inboxPage } from "./inbox.tsx";
import { streamUnread } from "./stream.ts";
import { inboxTexts } from "./texts.ts";

/** The viewer's own in-app messages. */
export const inboxSection: ConsoleSection = {
  nav: [{ path: "inbox", label: { en: inboxTexts.en.title, pt: inboxTexts.pt.title }, icon: "bell" }],
  pages: [
    { path: "inbox", get: inboxPage },
    { path: "inbox/stream", get: streamUnread },
    {
      path: "inbox/read-all",
      async post(v) {
        const { userId } = v.viewer;
        const { updated } = await v.api.send<{ updated: number }>(
          "PUT",
          `user-notifications/read-all?userId=${userId}`,
        );
        return { goTo: "inbox", flash: { tone: "ok", text: inboxTexts[v.locale].allRead(updated) } };
      },
    },
    {
      path: "inbox/{id}/read",
      async post(v) {
        await v.api.send("PUT", `user-notifications/${v.params.id}/read?userId=${v.viewer.userId}`);
        return { goTo: "inbox" };
      },
    },
    {
      path: "inbox/{id}/delete",
      async post(v) {
        await v.api.send("DELETE", `user-notifications/${v.params.id}?userId=${v.viewer.userId}`);
        return { goTo: "inbox", flash: { tone: "ok", text: inboxTexts[v.locale].deleted } };
      },
    },
  ],
};
