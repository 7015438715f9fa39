import { z } from "zod";
import {
  confirmRegistration,
  JoinedUser,
  readRegistration,
  readRegistrationMode,
  readRegistrationSettings,
  RegistrationConfirmation,
  RegistrationMode,
  RegistrationSettings,
  RegistrationSettingsChange,
  requestRegistration,
  updateRegistrationSettings,
} from "../../domain/access/account/registration.ts";
import { PASSWORD_LENGTH } from "../../domain/access/passwords/password_rules.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import { anyone, inTenant } from "../../domain/rights/checks.ts";
import { mailAddress, uuid } from "../../domain/shared/shapes.ts";
import { HostedLooksDto, readHostedLooks } from "../looks/hosted_page.ts";
import { ok, okTagged } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { escapeHtml } from "../shared/html.ts";
import { mailedPage, mailedToken as token } from "./mailed_page.ts";

const endpoint = endpointsIn("Sign-in", "/auth");
/** For the route that has no short path. */
const longEndpoint = endpointsIn("Sign-in");
const settingsEndpoint = endpointsIn("Tenants");

/** The tenant to join, by its id or by a client of its own. */
const where = {
  tenantId: uuid.optional(),
  clientId: z.string().min(1).max(200).optional().describe(
    "An OAuth client of the tenant, instead of tenantId",
  ),
};
const NO_TENANT = "00000000-0000-0000-0000-000000000000";

/** The named tenant. No client, an unknown one, and one of all tenants are answered like an unknown tenant. */
async function tenantOf(
  { oauthClients }: ServicePlatform,
  { tenantId, clientId }: { tenantId?: string | undefined; clientId?: string | undefined },
): Promise<string> {
  if (tenantId !== undefined) return tenantId;
  const client = clientId === undefined ? null : await oauthClients.read(clientId);
  return client?.tenantId ?? NO_TENANT;
}

/** Persons who create their own account, and the settings that allow it. */
export const registrationRoutes = [
  settingsEndpoint("GET /api/v1/registration-settings", {
    id: "readRegistrationSettings",
    summary: "Read who may join the tenant by themselves, and the role that they get",
    access: inTenant("read:tenants", "update:tenants"),
    answers: { 200: { etag: true, description: "The settings", schema: RegistrationSettings } },
    run: async ({ db, caller }) => okTagged(await readRegistrationSettings(db, caller.tenantId)),
  }),
  settingsEndpoint("PUT /api/v1/registration-settings", {
    id: "updateRegistrationSettings",
    summary: "Set who may join the tenant by themselves, and the role that they get",
    details: "The caller must be allowed to assign the role. It cannot have platform reach.",
    access: inTenant("update:tenants"),
    body: RegistrationSettingsChange,
    answers: { 200: { etag: true, description: "The settings", schema: RegistrationSettings } },
    problems: [
      "PRECONDITION_FAILED",
      "ROLE_NOT_FOUND",
      "ROLE_ASSIGNMENT_ESCALATION_BLOCKED",
      "STEP_UP_REQUIRED_FORBIDDEN",
    ],
    run: async ({ db, caller, body, call }) =>
      okTagged(await updateRegistrationSettings(db, caller, body, call.ifMatch)),
  }),
  longEndpoint("GET /api/v1/auth/registration", {
    id: "readRegistrationMode",
    summary:
      "Read who may join a tenant by themselves, for a sign-in page; unknown tenants answer `invitation`",
    access: anyone,
    query: z.object(where),
    answers: {
      200: {
        description: "The mode",
        schema: z.object({ mode: RegistrationMode }).meta({ id: "RegistrationModeDto" }),
      },
    },
    async run({ platform, db, query }) {
      const { mode } = await readRegistrationMode(db, await tenantOf(platform, query));
      return ok({ mode });
    },
  }),
  endpoint("POST /api/v1/auth/register", {
    id: "register",
    summary:
      "Request a link that creates an account; the answer is the same whether the email may join or has one",
    details:
      "The link works once and for 30 minutes; its holder chooses name and password. An account that exists gets a mail " +
      "that says so. A request may be repeated: one network address gets at most five links in 30 minutes for one email, " +
      "and 30 for all; one email gets at most 20.",
    access: anyone,
    body: z.object({ ...where, email: mailAddress }).meta({ id: "RegisterRequest" }),
    answers: { 202: { description: "A mail is sent if the email may join" } },
    problems: ["REGISTRATION_CLOSED_FORBIDDEN", "RATE_LIMITED"],
    async run({ platform, body, call }) {
      const tenantId = await tenantOf(platform, body);
      await requestRegistration(platform, { tenantId, email: body.email, ip: call.ip });
      return { status: 202, headers: {}, body: undefined };
    },
  }),
  endpoint("POST /api/v1/auth/register/read", {
    id: "readRegistration",
    summary: "Read the registration of a mailed token",
    access: anyone,
    body: z.object({ token }).meta({ id: "ReadRegistrationRequest" }),
    answers: {
      200: {
        description: "Who may join where",
        schema: z.object({ email: z.string(), tenantName: z.string(), looks: HostedLooksDto })
          .meta({ id: "RegistrationDto" }),
      },
    },
    problems: ["REGISTRATION_TOKEN_INVALID"],
    async run({ platform, db, body }) {
      const { tenantId, ...pending } = await readRegistration(db, body.token);
      return ok({ ...pending, looks: await readHostedLooks(platform, tenantId) });
    },
  }),
  endpoint("POST /api/v1/auth/register/confirm", {
    id: "confirmRegistration",
    service: "waits for others",
    summary: "Create the account of a mailed token; it opens no session",
    access: anyone,
    body: RegistrationConfirmation,
    answers: {
      200: {
        description: "The person is a user of the tenant and can sign in",
        schema: JoinedUser.meta({ id: "RegisteredUserDto" }),
      },
    },
    problems: [
      "REGISTRATION_TOKEN_INVALID",
      "REGISTRATION_CLOSED_FORBIDDEN",
      "TENANT_CAPACITY_REACHED",
      "USER_ALREADY_EXISTS",
    ],
    run: async ({ platform, body, call: { traceId, ip } }) =>
      ok(await confirmRegistration(platform, { ...body, traceId, ip })),
  }),
  endpoint("GET /auth/register", {
    id: "showRegistrationPage",
    summary: "The page of a registration's link",
    access: anyone,
    answers: { 200: { description: "A form that creates the account", contentType: "text/html" } },
    run: ({ platform, call }) => registrationPage(platform, call.request),
  }),
] as const;

const TEXTS = {
  en: {
    title: "Create your account",
    incomplete: "This link is incomplete. Register again.",
    explanation: `For {email} at {tenant}. The password needs at least ${PASSWORD_LENGTH.min} characters.`,
    firstName: "First name",
    lastName: "Last name",
    create: "Create the account",
  },
  pt: {
    title: "Criar sua conta",
    incomplete: "Este link está incompleto. Registre-se de novo.",
    explanation: `Para {email} em {tenant}. A senha precisa de pelo menos ${PASSWORD_LENGTH.min} caracteres.`,
    firstName: "Nome",
    lastName: "Sobrenome",
    create: "Criar a conta",
  },
};

/** A form that creates the account. */
const registrationPage = mailedPage({
  texts: TEXTS,
  explained: [
    "REGISTRATION_TOKEN_INVALID",
    "REGISTRATION_CLOSED_FORBIDDEN",
    "TENANT_CAPACITY_REACHED",
    "USER_ALREADY_EXISTS",
  ],
  body: (t) =>
    `<p id="explanation"></p>
<form hidden>
<input name="username" type="email" autocomplete="username" hidden>
<p><label>${t.firstName}<br><input name="firstName" maxlength="100" required autocomplete="given-name"></label></p>
<p><label>${t.lastName}<br><input name="lastName" maxlength="100" required autocomplete="family-name"></label></p>
<p><label>${t.password}<br><input name="password" type="password" required autocomplete="new-password"></label></p>
<p><label>${t.repeated}<br><input name="repeated" type="password" required autocomplete="new-password"></label></p>
<p><button name="button">${t.create}</button></p>
</form>
<p id="next" hidden><a href="../console/">${escapeHtml(t.signIn)}</a></p>`,
  script: `
const form = document.querySelector("form");
async function show() {
  const pending = token && await send("register/read");
  if (!pending) return;
  wear(pending.looks);
  form.username.value = pending.email;
  document.querySelector("#explanation").textContent =
    texts.explanation.replace("{email}", () => pending.email).replace("{tenant}", () => pending.tenantName);
  form.hidden = false;
}
sendOnSubmit(form, "register/confirm", () => {
  const [firstName, lastName, password] = ["firstName", "lastName", "password"].map((name) => form[name].value);
  return { firstName, lastName, password };
});
show();`,
});
