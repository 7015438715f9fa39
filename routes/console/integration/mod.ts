import type { ConsoleSection } from "../shared/page.ts";
import { keyPages } from "./api_keys.tsx";
import { integrationTexts } from "./texts.ts";
import { webhookPages } from "./webhook.tsx";
import { editWebhookPage, newWebhookPage } from "./webhook_form.tsx";
import { webhooksPage } from "./webhooks.tsx";

const { en, pt } = integrationTexts;
const KEYS = { permissions: ["manage:api-keys"] };
const WEBHOOKS = { permissions: ["manage:webhooks"] };

/** API keys and webhook endpoints for other programs. */
export const integrationSection: ConsoleSection = {
  title: { en: en.section, pt: pt.section },
  nav: [
    { path: "api-keys", label: { en: en.keys, pt: pt.keys }, icon: "keys", needsTenant: true, ...KEYS },
    {
      path: "webhooks",
      label: { en: en.webhooks, pt: pt.webhooks },
      icon: "webhooks",
      needsTenant: true,
      ...WEBHOOKS,
    },
  ],
  pages: [
    ...keyPages.map((page) => ({ ...page, ...KEYS })),
    ...[{ path: "webhooks", get: webhooksPage }, newWebhookPage, ...webhookPages, editWebhookPage]
      .map((page) => ({ ...page, ...WEBHOOKS })),
  ],
};
