// Examples of request bodies by operation. A new service accepts those that create something as they stand. Other bodies
// get an example that is made from their shape.

const ID = "0198f1c2-7a3b-7c4d-8e5f-6a7b8c9d0e1f";
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
const DOCUMENT = {
  titleTemplate: "Invoice {{number}}",
  bodyTemplate: '<page><h1>Invoice {{number}}</h1><p>{{total | currency:"EUR"}}</p></page>',
};
const DOCUMENT_DATA = { number: "2026-17", total: 12.5 };
const TEMPLATE_TEXTS = {
  subjectTemplate: "Welcome, {{firstName}}",
  htmlBodyTemplate: "<p>Hello {{firstName}}</p>",
  textBodyTemplate: "Hello {{firstName}}",
};
const TEMPLATE = { ...TEMPLATE_TEXTS, locale: "en", requiredVariables: "firstName" };
const ATTEMPT = { jobId: ID, attempt: 1 };
const NIGHTLY = { cronExpression: "0 2 * * *", timeZoneId: "America/Sao_Paulo" };

export const BODY_EXAMPLES: Record<string, unknown> = {
  signIn: { email: "ada@example.com", password: "violet tortoise 42 lamp" },
  changePassword: { currentPassword: "violet tortoise 42 lamp", newPassword: "crimson heron 17 desk" },
  changeEmail: { newEmail: "ada.lovelace@example.com", password: "violet tortoise 42 lamp" },
  finishSignIn: { factorToken: "the factorToken of POST /api/v1/auth/login", ...CODE },
  stepUp: CODE,
  confirmTotp: { factorId: ID, ...CODE },
  removeFactor: CODE,
  createUser: {
    email: "ada@example.com",
    password: "violet tortoise 42 lamp",
    firstName: "Ada",
    lastName: "Lovelace",
  },
  updateUser: { firstName: "Ada", lastName: "Lovelace", phoneNumber: "+5511999990000" },
  eraseUser: { reason: "Asked for by the user" },
  eraseUserAnywhere: { reason: "Asked for by the user" },
  updateTenant: { name: "Northwind", maxUsers: 500 },
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
  importPermissions: {
    permissions: [{ code: "export:invoices", description: "Export invoices", category: "Invoices" }],
  },
  issueOAuthTokens: {
    grant_type: "authorization_code",
    code: "the code that came to the redirect URI",
    code_verifier: "the verifier of the code_challenge",
    client_id: "oc_LBJzsN132A1Gtu2qY-dtYw",
    client_secret: "the secret of a confidential client",
  },
  generateReport: REPORT,
  generateReportAsync: { ...REPORT, delivery: { method: 2, recipients: ["ada@example.com"] } },
  createReportSchedule: {
    ...REPORT,
    ...NIGHTLY,
    name: "Users every night",
    delivery: { method: 2, recipients: ["ada@example.com"] },
  },
  updateReportSchedule: NIGHTLY,
  redeliverReport: { recipients: ["ada@example.com"] },
  createDocumentTemplate: { slug: "invoice", name: "Invoice", ...DOCUMENT, sampleData: DOCUMENT_DATA },
  updateDocumentTemplate: DOCUMENT,
  previewDocumentTemplate: { ...DOCUMENT, data: DOCUMENT_DATA },
  renderDocumentTemplate: { data: DOCUMENT_DATA },
  generateDocuments: {
    data: DOCUMENT_DATA,
    delivery: { method: 2, recipients: ["ada@example.com"], emailSubject: "Your invoice" },
  },
  createReportTarget: TARGET,
  enqueueJob: JOB,
  enqueueJobs: { items: [JOB, LATER_JOB] },
  createJobBatch: { name: "greetings", jobs: [JOB], onAllSucceeded: JOB },
  addToJobBatch: { jobs: [JOB], close: true },
  createRecurringJob: { jobId: "nightly-hello", ...JOB, ...NIGHTLY },
  updateRecurringJob: NIGHTLY,
  retryJob: {},
  retryDeadLetter: {},
  retryDeadLetters: { jobTypeName: "steward.echo", dryRun: true },
  purgeDeadLetters: { jobTypeName: "steward.echo", dryRun: true },
  putJobType: {
    description: "Renders an invoice",
    argsSchema: { type: "object", required: ["number"] },
    timeoutSeconds: 600,
    maxRetries: 5,
  },
  claimWork: { types: ["invoice.render"], max: 10, waitSeconds: 0, worker: "worker-1" },
  heartbeatWork: { jobs: [{ ...ATTEMPT, percent: 50, note: "page 1 of 2" }] },
  settleWork: { jobs: [{ ...ATTEMPT, outcome: "succeeded", output: { pages: 2 } }] },
  reserveFile: {
    profile: "document",
    fileName: "invoice.pdf",
    contentType: "application/pdf",
    sizeBytes: 48_213,
  },
  completeFile: {},
  referenceFile: { scope: "invoices", ownerId: "2026-17" },
  changeRetention: { legalHold: true, reason: "Dispute with the customer" },
  purgeFile: { reason: "Uploaded by mistake" },
  sendNotification: MAIL,
  scheduleNotification: { notification: MAIL, scheduledAt: "2050-01-31T12:00:00Z" },
  sendDirectEmail: { to: ["ada@example.com"], subject: MAIL.subject, textBody: MAIL.textBody },
  sendDirectPush: { title: "Shipped", body: MAIL.textBody, deviceTokens: ["device-token-0001"] },
  createNotificationTemplate: { slug: "welcome", name: "Welcome", ...TEMPLATE },
  updateNotificationTemplate: { templateId: ID, ...TEMPLATE_TEXTS },
  renderNotificationTemplate: { templateSlug: "welcome", locale: "en", data: { firstName: "Ada" } },
  previewNotificationTemplate: { ...TEMPLATE, data: { firstName: "Ada" } },
  writeNotificationPreferences: {
    timeZoneId: "Europe/Lisbon",
    quietHours: { from: "22:00", to: "07:00" },
    categories: [{ category: "offers", channels: { email: false } }],
    digest: { isEnabled: true, at: "08:00" },
  },
  registerUserDevice: { token: "device-token-0001", platform: "android" },
  createApplication: APPLICATION,
  createSetting: SETTING,
  createWebhookEndpoint: ENDPOINT,
  updateTenantLooks: { productName: "Northwind", primaryColour: "#0b6e4f", footer: "Northwind, Lisbon" },
  publishEvent: { type: "invoice.paid", data: { invoiceId: "2026/17" } },
};
