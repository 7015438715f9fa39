// Examples of request bodies that a new service accepts as they stand, by operation. Other bodies get an example that is
// made from their shape.

const JOB = { jobTypeName: "steward.echo", serializedArgs: '{"text":"hello"}' };
const LATER_JOB = {
  ...JOB,
  priority: "Low",
  queue: "default",
  maxRetries: 5,
  uniqueKey: "hello-ada",
  uniqueFor: 3600,
};
const MAIL = {
  channel: "Email",
  recipients: [{ address: "ada@example.com", displayName: "Ada Lovelace" }],
  subject: "Your order has shipped",
  htmlBody: "<p>Hello Ada, your order has shipped.</p>",
  textBody: "Hello Ada, your order has shipped.",
};
const APPLICATION = { code: "shop", name: "Shop" };
const SETTING = { key: "support.email", value: "help@example.com" };
const ENDPOINT = { url: "https://example.com/hooks", eventTypes: ["user.created", "job.dead-lettered"] };
const TARGET = {
  name: "Archive",
  kind: "s3",
  endpoint: "https://s3.example.com",
  region: "eu-west-1",
  bucket: "reports",
  accessKeyId: "access-key",
  secretAccessKey: "secret-key",
};
const CODE = { code: "123456" };
const REPORT = { templateId: "users", format: 3, parameters: { isActive: true } };
const NIGHTLY = { cronExpression: "0 2 * * *", timeZoneId: "America/Sao_Paulo" };

export const BODY_EXAMPLES: Record<string, unknown> = {
  finishSignIn: { factorToken: "the factorToken of POST /api/v1/auth/login", ...CODE },
  stepUp: CODE,
  confirmTotp: { factorId: "0198f1c2-7a3b-7c4d-8e5f-6a7b8c9d0e1f", ...CODE },
  removeFactor: CODE,
  createUser: {
    email: "ada@example.com",
    password: "violet tortoise 42 lamp",
    firstName: "Ada",
    lastName: "Lovelace",
  },
  createRole: { name: "Support", description: "Reads users", permissionIds: [] },
  createTenant: { name: "Northwind", type: "Standard" },
  createApiKey: { name: "nightly import", permissions: ["read:users"], expiresAt: null },
  createServiceAccount: { name: "billing", permissions: ["read:users"], tenants: "all" },
  createOAuthClient: {
    name: "Shop",
    kind: "confidential",
    redirectUris: ["https://shop.example/callback"],
    audience: "https://api.shop.example",
    firstParty: true,
  },
  createPermission: { code: "approve:invoices", description: "Approve invoices", category: "Invoices" },
  generateReport: REPORT,
  generateReportAsync: { ...REPORT, delivery: { method: 2, recipients: ["ada@example.com"] } },
  createReportSchedule: {
    ...REPORT,
    ...NIGHTLY,
    name: "Users every night",
    delivery: { method: 2, recipients: ["ada@example.com"] },
  },
  createReportTarget: TARGET,
  createReportTargets: { items: [TARGET] },
  enqueueJob: JOB,
  enqueueJobs: { items: [JOB, LATER_JOB] },
  createJobBatch: { name: "greetings", jobs: [JOB], onAllSucceeded: JOB },
  addToJobBatch: { jobs: [JOB], close: true },
  createRecurringJob: { jobId: "nightly-hello", ...JOB, ...NIGHTLY },
  retryJob: {},
  retryDeadLetter: {},
  claimWork: { types: ["invoice.print"], max: 10, waitSeconds: 0, worker: "worker-1" },
  sendNotification: MAIL,
  scheduleNotification: { notification: MAIL, scheduledAt: "2050-01-31T12:00:00Z" },
  sendDirectEmail: { to: ["ada@example.com"], subject: MAIL.subject, textBody: MAIL.textBody },
  sendDirectPush: { title: "Shipped", body: MAIL.textBody, deviceTokens: ["device-token-0001"] },
  createApplication: APPLICATION,
  createApplications: { items: [APPLICATION] },
  createSetting: SETTING,
  createSettings: { items: [SETTING] },
  createWebhookEndpoint: ENDPOINT,
  createWebhookEndpoints: { items: [ENDPOINT] },
  updateTenantLooks: { productName: "Northwind", primaryColour: "#0b6e4f", footer: "Northwind, Lisbon" },
  publishEvent: { type: "invoice.paid", data: { invoiceId: "2026/17" } },
};
