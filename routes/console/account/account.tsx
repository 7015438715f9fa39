import type { Child } from "hono/jsx";
import type { ServicePlatform } from "../../../domain/platform.ts";
import { basePath } from "../../shared/answer.ts";
import { Fields, Form } from "../components/fields.tsx";
import { actionButton, buttonLink } from "../components/forms.tsx";
import { actionsColumn, timeColumn } from "../components/list.tsx";
import { Card, Empty, Notice } from "../components/notice.tsx";
import { tableCard } from "../components/table.tsx";
import { Codes } from "../components/values.tsx";
import { action, actionsOf, done, formPage, type Sent, showing, toDocument } from "../shared/actions.ts";
import { orNull } from "../shared/api.ts";
import { cookieWriter, isLocale, isTheme } from "../shared/cookies.ts";
import type { Answer, Row } from "../shared/operations.ts";
import { consoleAddress } from "../shared/request_security.ts";
import { type ConsolePage, field, fieldsIn, isOpen, type View, type Visit } from "../shared/page.ts";
import { preferenceTexts } from "../notifications/texts.ts";
import { firstStepsPages } from "../overview/checklist.tsx";
import { scopePage } from "../scope/scope_page.tsx";
import { switchPage } from "../scope/switch.ts";
import { joinTenantPage } from "./join_tenant.tsx";
import { accountTexts, factorTexts } from "./texts.ts";
import { securityPages } from "./security.tsx";
import { stepUpPage } from "./proof_forms.tsx";
import { delegationPages } from "../access/delegations.tsx";
import { sessionTable } from "../access/users/detail.tsx";
import { sectionTexts } from "../shared/labels.ts";
import { delegationTexts } from "../access/users/texts.ts";

/** Pages of the viewer's account, and the actions of the top bar: scope, appearance, sign-out. */
export function accountPages(p: ServicePlatform): ConsolePage[] {
  const cookies = () => cookieWriter(new URL(p.baseUrl()));
  const seeOther = (to: string, ...setCookies: string[]) => {
    const headers = new Headers({
      location: `${basePath(p.baseUrl())}/console/${to}`,
      "cache-control": "no-store",
    });
    for (const cookie of setCookies) headers.append("set-cookie", cookie);
    return new Response(null, { status: 303, headers });
  };
  return [
    accountPage,
    joinTenantPage(p),
    ...securityPages,
    stepUpPage,
    disconnectAction,
    ...ownDataPages,
    ...ownDelegationPages,
    ...delegationPages(p),
    action("account/sessions/{id}/end", "endOwnSession", showing("account", accountTexts, "sessionEnded")),
    switchPage(p),
    scopePage,
    ...firstStepsPages(p),
    {
      path: "look",
      forEnrolling: true,
      fitsEveryTenant: true,
      post(_v, form) {
        const theme = field(form, "theme");
        const locale = field(form, "locale");
        return seeOther(
          consoleAddress(field(form, "back")),
          ...isTheme(theme) ? [cookies().preference("theme", theme)] : [],
          ...isLocale(locale) ? [cookies().preference("locale", locale)] : [],
        );
      },
    },
    {
      ...action("sign-out", "signOut", () => seeOther("sign-in", ...cookies().noSession())),
      forEnrolling: true,
      fitsEveryTenant: true,
    },
  ];
}

/** The viewer's profile, email, password, sessions and permissions. The button tells which of the forms is sent. */
const accountPage = formPage({
  path: "account",
  show: accountView,
  async send(v, form) {
    const t = accountTexts[v.locale];
    const password = (name: string) => String(form.get(name) ?? "");
    if (sentBy(form, "email")) {
      const body = { newEmail: field(form, "newEmail"), password: password("password") };
      await v.api.call("changeEmail", { body });
      return done("account", t.emailRequested);
    }
    if (sentBy(form, "password")) {
      await v.api.call("changePassword", {
        body: { currentPassword: password("currentPassword"), newPassword: password("newPassword") },
      });
      return done("account", t.passwordChanged);
    }
    await v.api.call("updateMe", { body: fieldsIn(form, "firstName", "lastName", "phoneNumber") });
    return done("account", t.profileSaved);
  },
});

type FormName = "profile" | "email" | "password";

/** True if this form of the page was sent. */
const sentBy = (form: FormData, name: FormName): boolean => form.get("do") === name;

/** A card with one of the forms. @param label the label of its primary button; absent: a plain one with the title */
const formCard = (
  f: Fields,
  name: FormName,
  [title, label]: [title: string, label?: string],
  inputs: Child,
  above?: Child,
) => (
  <Card title={title}>
    {above}
    <Form
      fields={f}
      action="account"
      buttons={
        <button type="submit" class={label ? "button primary" : "button"} name="do" value={name}>
          {label ?? title}
        </button>
      }
    >
      {inputs}
    </Form>
  </Card>
);

async function accountView(v: Visit, sent: Sent | null): Promise<View> {
  const t = accountTexts[v.locale];
  const isOwn = !v.acting || v.acting.actorId === v.viewer.userId;
  const isPersonal = isOwn && v.boundTo === null;
  const [{ user, permissions }, sessions, clients, exports, delegations] = await Promise.all([
    v.api.call("readMe"),
    isOwn ? v.api.call("listOwnSessions") : [],
    isPersonal ? orNull(v.api.call("listConnectedClients")) : [],
    isPersonal ? orNull(v.api.call("listMyDataRequests")) : [],
    isOwn ? orNull(v.api.call("listMyDelegations", { query: { pageSize: 20 } })) : { items: [] },
  ]);
  const sentAs = (name: FormName) => sent?.form && sentBy(sent.form, name) ? sent : null;
  const profile = new Fields(v, sentAs("profile"), "updateMe", user);
  const email = new Fields(v, sentAs("email"), "changeEmail");
  const password = new Fields(v, sentAs("password"), "changePassword");
  return {
    title: t.account,
    body: [
      v.boundTo !== null && <Notice tone="info">{t.signedInByCompany}</Notice>,
      <div class="grid-2">
        {formCard(profile, "profile", [t.profile, t.save], [
          <div class="pair">
            {profile.text("firstName", t.firstName)}
            {profile.text("lastName", t.lastName)}
          </div>,
          profile.text("phoneNumber", t.phone, { type: "tel" }),
        ])}
        {v.boundTo === null && formCard(password, "password", [t.changePassword], [
          password.text("currentPassword", t.currentPassword, {
            type: "password",
            autocomplete: "current-password",
            required: true,
          }),
          password.text("newPassword", t.newPassword, {
            type: "password",
            autocomplete: "new-password",
            hint: t.passwordHint,
            required: true,
          }),
        ])}
      </div>,
      v.boundTo === null && formCard(
        email,
        "email",
        [t.changeEmail],
        <div class="pair">
          {email.text("newEmail", t.newEmail, {
            type: "email",
            autocomplete: "email",
            hint: t.emailHint,
            required: true,
          })}
          {email.text("password", t.password, {
            type: "password",
            autocomplete: "current-password",
            required: true,
          })}
        </div>,
        <p>{user.email}</p>,
      ),
      v.boundTo === null && (
        <Card title={factorTexts[v.locale].security}>
          <a href="account/security">{factorTexts[v.locale].securityHint}</a>
        </Card>
      ),
      isOpen(v, "inbox") && (
        <Card title={preferenceTexts[v.locale].title}>
          <a href="preferences">{preferenceTexts[v.locale].open}</a>
        </Card>
      ),
      <Card title={t.sessions}>
        {sessionTable(v, t.sessionsCaption, sessions, "account/sessions")}
      </Card>,
      clients && <ConnectedClients v={v} clients={clients} />,
      delegations && <OwnDelegations v={v} delegations={delegations.items} />,
      v.boundTo === null && exports && <OwnData v={v} exports={exports} />,
      <Card title={t.permissions}>
        {permissions.length === 0
          ? <Empty icon="permissions" title={t.noPermissions} />
          : <Codes codes={permissions} label={t.permissionsCaption} />}
      </Card>,
    ],
  };
}

const texts = sectionTexts({
  title: ["Connected programs", "Programas ligados"],
  caption: ["Programs that you signed in to with this account", "Programas em que entrou com esta conta"],
  program: ["Program", "Programa"],
  allowed: ["Allowed", "Permitido"],
  disconnect: ["Disconnect", "Desligar"],
  confirm: (name: string) => [
    `Disconnect ${name}? It is signed out, and must ask again.`,
    `Desligar ${name}? A sessão termina, e o programa terá de pedir de novo.`,
  ],
  disconnected: ["The program was disconnected.", "O programa foi desligado."],
});

type Connected = Answer<"listConnectedClients">[number];

/** The OAuth clients that the viewer signed in to; nothing if there are none. */
function ConnectedClients({ v, clients }: { v: Visit; clients: Connected[] }) {
  if (clients.length === 0) return null;
  const t = texts[v.locale];
  return tableCard(t.title, clients, null, [
    { head: t.program, cell: ({ name }) => name },
    { head: t.allowed, cell: ({ allowedScopes }) => <Codes codes={allowedScopes} /> },
    { head: t.sessions, cell: ({ sessions }) => String(sessions), wideOnly: true },
    actionsColumn(
      v,
      ({ id, name }) => actionButton(v, `account/clients/${id}`, t.disconnect, { confirm: t.confirm(name) }),
    ),
  ], { caption: t.caption });
}

const disconnectAction = action(
  "account/clients/{id}",
  "disconnectClient",
  showing("account", texts, "disconnected"),
);

type Delegation = Row<"listMyDelegations">;

/** Who acted, or asks to act, as the viewer; nothing if nobody did. */
function OwnDelegations({ v, delegations }: { v: Visit; delegations: Delegation[] }) {
  if (delegations.length === 0) return null;
  const t = delegationTexts[v.locale];
  const button = (id: string, verb: "allow" | "refuse" | "end") =>
    actionButton(v, `account/delegations/${id}/${verb}`, t[verb]);
  return tableCard(t.ownTitle, delegations, null, [
    { head: t.actor, cell: ({ actorName, tenantName }) => `${actorName} (${tenantName})` },
    { head: t.reason, cell: ({ reason }) => reason },
    { head: t.status, cell: ({ status }) => t[status] },
    timeColumn(v, t.created, "createdAt", { wideOnly: true }),
    actionsColumn(v, ({ id, status }) => [
      status === "Requested" && [button(id, "allow"), button(id, "refuse")],
      status === "Open" && button(id, "end"),
    ]),
  ]);
}

const ownDelegationPages: ConsolePage[] = actionsOf("account", delegationTexts, {
  "delegations/{id}/allow": ["allowDelegation", "allowed"],
  "delegations/{id}/refuse": ["refuseDelegation", "refused"],
  "delegations/{id}/end": ["endDelegation", "Ended"],
});

const exportTexts = sectionTexts({
  title: ["Your data", "Os seus dados"],
  text: [
    "An export is a ZIP file with everything that is stored about you. It can be downloaded for seven days.",
    "Uma exportação é um arquivo ZIP com tudo o que está salvo sobre você. Pode ser baixada durante sete dias.",
  ],
  caption: ["Exports of your data", "Exportações dos seus dados"],
  export: ["Export my data", "Exportar os meus dados"],
  asked: ["The export has begun.", "A exportação começou."],
  from: ["Asked for", "Pedida"],
  Queued: ["In preparation", "Em preparação"],
  Running: ["In preparation", "Em preparação"],
  Completed: ["Ready", "Pronta"],
  Failed: ["Failed", "Falhou"],
});

type OwnExport = Answer<"listMyDataRequests">[number];

/** The viewer's exports of their own data. */
function OwnData({ v, exports }: { v: Visit; exports: OwnExport[] }) {
  const t = exportTexts[v.locale];
  return tableCard(t.title, exports, null, [
    timeColumn(v, t.from, "createdAt"),
    { head: t.status, cell: ({ status }) => t[status] },
    {
      head: t.download,
      cell: ({ id, fileId }) => fileId && buttonLink(`own-exports/${id}`, t.download, { icon: "download" }),
    },
  ], { caption: t.caption, actions: actionButton(v, "account/export", t.export), intro: t.text });
}

const ownDataPages: ConsolePage[] = [
  action("account/export", "exportMyData", showing("account", exportTexts, "asked")),
  {
    path: "own-exports/{requestId}",
    get: (v) => toDocument(v, v.api.call("downloadMyData", { params: v.params }), "account"),
  },
];
