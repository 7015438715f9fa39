import { commonTexts } from "../shared/common_texts.ts";
import { inEveryLanguage } from "../shared/languages.ts";
import { type ConsoleSection, navItem } from "../shared/page.ts";
import { clientPages } from "./oauth_clients.tsx";
import { accountTexts, integrationTexts, keyTexts, oauthClientTexts } from "./texts.ts";
import { accountPages, keyPages } from "./keys.tsx";
import { deliveriesPage, redeliverPage } from "./deliveries.tsx";
import { webhookPages } from "./webhooks.tsx";

const KEYS = { permissions: ["manage:api-keys"] };
const ACCOUNTS = { permissions: ["manage:service-accounts"] };
const CLIENTS = { permissions: ["manage:oauth-clients"], area: "oauth" as const };
const WEBHOOKS = { permissions: ["manage:webhooks"], area: "events" as const };

/** API keys, service accounts and webhook endpoints for other programs. */
export const integrationSection: ConsoleSection = {
  title: inEveryLanguage(commonTexts, "product"),
  nav: [
    navItem(keyTexts, "title", { path: "api-keys", icon: "keys", needsTenant: true }),
    navItem(accountTexts, "title", { path: "service-accounts", icon: "users", needsTenant: true }),
    navItem(oauthClientTexts, "clients", { path: "oauth-clients", icon: "lock", needsTenant: true }),
    navItem(integrationTexts, "webhooks", { path: "webhooks", icon: "webhooks", needsTenant: true }),
    navItem(integrationTexts, "allDeliveries", { path: "webhook-deliveries", icon: "webhooks" }),
  ],
  pages: [
    ...keyPages.map((page) => ({ ...page, ...KEYS })),
    ...accountPages.map((page) => ({ ...page, ...ACCOUNTS })),
    ...clientPages.map((page) => ({ ...page, ...CLIENTS })),
    ...[
      ...webhookPages,
      { path: "webhook-deliveries", get: deliveriesPage },
      redeliverPage,
    ].map((page) => ({ ...page, ...WEBHOOKS })),
  ],
};
