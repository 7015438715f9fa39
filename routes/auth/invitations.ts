import { z } from "zod";
import { JoinedUser } from "../../domain/access/account/registration.ts";
import {
  acceptInvitation,
  acceptInvitationAs,
  OfferedInvitation,
  readOffer,
} from "../../domain/access/invitations/accept.ts";
import { anyone, byPerson, signedIn } from "../../domain/rights/checks.ts";
import { HostedLooksDto, readHostedLooks } from "../looks/hosted_page.ts";
import { ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { factorProof } from "./factors.ts";
import { escapeHtml } from "../shared/html.ts";
import { mailedPage, mailedToken as token } from "./mailed_page.ts";

const endpoint = endpointsIn("Sign-in", "/auth");

const OfferedInvitationDto = OfferedInvitation.extend({ looks: HostedLooksDto })
  .meta({ id: "OfferedInvitationDto" });

const accepted = {
  200: {
    description: "The person is a user of the tenant and can sign in",
    schema: JoinedUser.meta({ id: "AcceptedInvitationDto" }),
  },
};

const JOIN_PROBLEMS = [
  "INVITATION_INVALID",
  "INVITATION_INVITER_FORBIDDEN",
  "TENANT_FORBIDDEN",
  "REGISTRATION_CLOSED_FORBIDDEN",
  "ROLE_NOT_FOUND",
  "TENANT_CAPACITY_REACHED",
  "USER_ALREADY_ASSIGNED",
] as const;

/** Routes for the person with the link of an invitation. */
export const acceptInvitationRoutes = [
  endpoint("POST /api/v1/auth/invitations/read", {
    id: "readOfferedInvitation",
    summary: "Read the invitation of a mailed token",
    access: anyone,
    body: z.object({ token }).meta({ id: "ReadInvitationRequest" }),
    answers: { 200: { description: "Who is invited where", schema: OfferedInvitationDto } },
    problems: ["INVITATION_INVALID", "INVITATION_INVITER_FORBIDDEN"],
    async run({ platform, db, body }) {
      const { tenantId, ...offer } = await readOffer(db, body.token);
      return ok({ ...offer, looks: await readHostedLooks(platform, tenantId) });
    },
  }),
  endpoint("POST /api/v1/auth/invitations/accept", {
    id: "acceptInvitation",
    service: "waits for others",
    summary: "Accept an invitation with a new password, or with the password of the existing account",
    details: "An account with a second factor needs `code` or `recoveryCode` too.",
    access: anyone,
    body: z.object({
      token,
      password: z.string().min(1).max(1024),
      code: factorProof.code,
      recoveryCode: factorProof.recoveryCode,
    }).meta({ id: "AcceptInvitationRequest" }),
    answers: accepted,
    problems: [
      ...JOIN_PROBLEMS,
      "USER_ALREADY_EXISTS",
      "CREDENTIALS_INVALID_UNAUTHORIZED",
      "SECOND_FACTOR_INVALID_UNAUTHORIZED",
      "FACTOR_UNAVAILABLE",
      "ACCOUNT_LOCKED_UNAUTHORIZED",
      "RATE_LIMITED",
    ],
    run: async ({ platform, body: { token, password, ...proof }, call: { traceId, ip } }) =>
      ok(await acceptInvitation(platform, { token, password, proof, traceId, ip })),
  }),
  endpoint("POST /api/v1/auth/invitations/accept-signed-in", {
    id: "acceptInvitationSignedIn",
    summary: "Accept an invitation as the signed-in user; ends the user's sessions, like every new link",
    access: byPerson(signedIn),
    body: z.object({ token }).meta({ id: "AcceptInvitationSignedInRequest" }),
    answers: accepted,
    problems: [...JOIN_PROBLEMS, "INVITATION_FORBIDDEN"],
    run: async ({ platform, caller, body }) => ok(await acceptInvitationAs(platform, caller, body.token)),
  }),
  endpoint("GET /auth/invitation", {
    id: "showInvitationPage",
    summary: "The page of an invitation's link, unless INVITATION_URL is set",
    access: anyone,
    answers: { 200: { description: "A form that accepts the invitation", contentType: "text/html" } },
    run: ({ platform, call }) => invitationPage(platform, call.request),
  }),
] as const;

const TEXTS = {
  en: {
    title: "Accept the invitation",
    incomplete: "This link is incomplete. Ask for a new invitation.",
    invited: "You ({email}) are invited to {tenant}.",
    New: "Choose a password for your new account: at least 12 characters.",
    Password: "You already have an account. Enter its password to join.",
    code: "Code of your authenticator app, or a recovery code",
    SignedIn:
      "Your account has no password: you sign in with another provider. Set a password with “Forgot password” on the sign-in page, then open this link again.",
    accept: "Accept",
  },
  pt: {
    title: "Aceitar o convite",
    incomplete: "Este link está incompleto. Peça um novo convite.",
    invited: "Você foi convidado ({email}) para {tenant}.",
    New: "Escolha uma senha para sua nova conta: pelo menos 12 caracteres.",
    Password: "Você já tem uma conta. Digite a senha dela para aceitar.",
    code: "Código do aplicativo autenticador ou código de recuperação",
    SignedIn:
      "Sua conta não tem senha: entra com outro provedor. Defina uma com “Esqueci a senha” na página de login e abra este link de novo.",
    accept: "Aceitar",
  },
};

/** A form that accepts the invitation. */
const invitationPage = mailedPage({
  texts: TEXTS,
  explained: [
    "INVITATION_INVALID",
    "INVITATION_INVITER_FORBIDDEN",
    "TENANT_FORBIDDEN",
    "REGISTRATION_CLOSED_FORBIDDEN",
    "TENANT_CAPACITY_REACHED",
    "USER_ALREADY_ASSIGNED",
    "USER_ALREADY_EXISTS",
    "CREDENTIALS_INVALID_UNAUTHORIZED",
    "SECOND_FACTOR_INVALID_UNAUTHORIZED",
    "ACCOUNT_LOCKED_UNAUTHORIZED",
  ],
  body: (t) =>
    `<p id="invited"></p>
<p id="how"></p>
<form hidden>
<input name="username" type="email" autocomplete="username" hidden>
<p><label>${t.password}<br><input name="password" type="password" required></label></p>
<p id="again"><label>${t.repeated}<br><input name="repeated" type="password" autocomplete="new-password"></label></p>
<p id="second"><label>${t.code}<br><input name="code" autocomplete="one-time-code"></label></p>
<p><button name="button">${t.accept}</button></p>
</form>
<p id="next" hidden><a href="../console/">${escapeHtml(t.signIn)}</a></p>`,
  script: `
const form = document.querySelector("form");
let isNew = false;
async function show() {
  const offer = token && await send("invitations/read");
  if (!offer) return;
  wear(offer.looks);
  isNew = offer.account === "New";
  document.querySelector("#invited").textContent =
    texts.invited.replace("{email}", () => offer.email).replace("{tenant}", () => offer.tenantName);
  document.querySelector("#how").textContent = texts[offer.account];
  if (offer.account === "SignedIn") return;
  form.username.value = offer.email;
  form.password.autocomplete = isNew ? "new-password" : "current-password";
  document.querySelector("#again").hidden = !isNew;
  document.querySelector("#second").hidden = !offer.hasSecondFactor;
  form.code.required = offer.hasSecondFactor;
  form.hidden = false;
}
function readBody() {
  const code = form.code.value.replaceAll(/\\s/g, "");
  const proof = code && { [/^\\d{6}$/.test(code) ? "code" : "recoveryCode"]: code };
  return { password: form.password.value, ...proof };
}
sendOnSubmit(form, "invitations/accept", readBody, () => isNew);
show();`,
});
