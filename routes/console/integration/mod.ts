import type { ConsolePage, ConsoleSection } from "../shared/page.ts";
import { createKey, keysPage, newKeyPage, revokeKey } from "./api_keys.tsx";
import { redeliver, removeWebhook, rotateSecret, testWebhook, webhookPage } from "./webhook.tsx";
import { createWebhook, editWebhookPage, newWebhookPage, saveWebhook } from "./webhook_form.tsx";
import { webhooksPage } from "./webhooks.tsx";
import { integrationTexts } from "./texts.ts";

const needsKeys = { permissions: ["manage:api-keys"] };
const needsWebhooks = { permissions: ["manage:webhooks"] };

const keyPages: ConsolePage[] = [
  { path: "api-keys", get: keysPage },
  { path: "api-keys/new", get: newKeyPage, post: createKey },
  { path: "api-keys/{id}/revoke", post: revokeKey },
];

const webhookPages: ConsolePage[] = [
  { path: "webhooks", get: webhooksPage },
  { path: "webhooks/new", get: newWebhookPage, post: createWebhook },
  { path: "webhooks/{id}", get: webhookPage },
  { path: "webhooks/{id}/edit", get: editWebhookPage, post: saveWebhook },
  { path: "webhooks/{id}/secret", post: rotateSecret },
  { path: "webhooks/{id}/test", post: testWebhook },
  { path: "webhooks/{id}/delete", post: removeWebhook },
  { path: "webhooks/{id}/deliveries/{deliveryId}", post: redeliver },
];

/** API keys and webhook endpoints for other programs. */
export const integrationSection: ConsoleSection = {
  title: { en: integrationTexts.en.section, pt: integrationTexts.pt.section },
  nav: [
    {
      path: "api-keys",
      label: { en: integrationTexts.en.keys, pt: integrationTexts.pt.keys },
      icon: "keys",
      needsTenant: true,
      ...needsKeys,
    },
    {
      path: "webhooks",
      label: { en: integrationTexts.en.webhooks, pt: integrationTexts.pt.webhooks },
      icon: "webhooks",
      needsTenant: true,
      ...needsWebhooks,
    },
  ],
  pages: [
    ...keyPages.map((page) => ({ ...page, ...needsKeys })),
    ...webhookPages.map((page) => ({ ...page, ...needsWebhooks })),
  ],
};
