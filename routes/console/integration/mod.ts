import { commonTexts } from "../shared/common_texts.ts";
import { inEveryLanguage } from "../shared/languages.ts";
import { type ConsoleSection, navItem } from "../shared/page.ts";
import { keyPages } from "./api_keys.tsx";
import { clientPages } from "./oauth_clients.tsx";
import { integrationTexts, oauthClientTexts } from "./texts.ts";
import { accountPages } from "./service_accounts.tsx";
import { deliveriesPage, redeliverPage } from "./deliveries.tsx";
import { webhookPages } from "./webhook.tsx";
import { editWebhookPage, newWebhookPage } from "./webhook_form.tsx";
import { webhooksPage } from "./webhooks.tsx";

const KEYS = { permissions: ["manage:api-keys"] };
const ACCOUNTS = { permissions: ["manage:service-accounts"] };
const CLIENTS = { permissions: ["manage:oauth-clients"], area: "oauth" as const };
const WEBHOOKS = { permissions: ["manage:webhooks"], area: "events" as const };

/** API keys, service accounts and webhook endpoints for other programs. */
export const integrationSection: ConsoleSection = {
  title: inEveryLanguage(commonTexts, "product"),
  nav: [
    navItem(integrationTexts, "keys", { path: "api-keys", icon: "keys", needsTenant: true, ...KEYS }),
    navItem(integrationTexts, "accounts", {
      path: "service-accounts",
      icon: "users",
      needsTenant: true,
      ...ACCOUNTS,
    }),
    navItem(oauthClientTexts, "clients", {
      path: "oauth-clients",
      icon: "lock",
      needsTenant: true,
      ...CLIENTS,
    }),
    navItem(integrationTexts, "webhooks", {
      path: "webhooks",
      icon: "webhooks",
      needsTenant: true,
      ...WEBHOOKS,
    }),
    navItem(integrationTexts, "allDeliveries", { path: "webhook-deliveries", icon: "webhooks", ...WEBHOOKS }),
  ],
  pages: [
    ...keyPages.map((page) => ({ ...page, ...KEYS })),
    ...accountPages.map((page) => ({ ...page, ...ACCOUNTS })),
    ...clientPages.map((page) => ({ ...page, ...CLIENTS })),
    ...[
      { path: "webhooks", get: webhooksPage },
      newWebhookPage,
      ...webhookPages,
      editWebhookPage,
      { path: "webhook-deliveries", get: deliveriesPage },
      redeliverPage,
    ].map((page) => ({ ...page, ...WEBHOOKS })),
  ],
};
