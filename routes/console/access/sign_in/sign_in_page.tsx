import { roleNotFound } from "../../../../domain/access/roles/roles.ts";
import { Fields, FoldedForm, formView } from "../../components/fields.tsx";
import { actionButton, buttonLink } from "../../components/forms.tsx";
import { actionsColumn, labelled, namedChoices, timeColumn } from "../../components/list.tsx";
import { Card, Empty } from "../../components/notice.tsx";
import { defineStates, proofStates } from "../../components/states.tsx";
import { dataTable, tableCard } from "../../components/table.tsx";
import { pageTabs } from "../../components/tabs.tsx";
import { Person, userNames } from "../../components/user_names.tsx";
import { CopyValue, factList } from "../../components/values.tsx";
import { shownOnce } from "../../integration/shown_once.tsx";
import { findPeople, roleChoices } from "../../shared/access_queries.ts";
import { actionsOf, done, formPage, notDone, sendTo, type Sent } from "../../shared/actions.ts";
import type { Row } from "../../shared/operations.ts";
import { type ConsolePage, field, may, type View, type Visit } from "../../shared/page.ts";
import { providerTexts, signInTexts } from "./texts.ts";

type Provider = Row<"listSignInProviders">;
type Domain = Row<"listSignInDomains">;

const providerStates = defineStates({
  on: ["ok", "Enabled", "Ativado"],
  off: ["idle", "Disabled", "Desativado"],
});

export const providerBadge = (v: Visit, { isEnabled }: Pick<Provider, "isEnabled">) =>
  providerStates.badge(v, isEnabled ? "on" : "off");

/**
 * The identity providers and email domains of a tenant; in the console also its settings.
 * @param at the path of the page, below which are those of its parts
 * @param sent the form of a new domain that was refused
 */
export async function signInPage(v: Visit, at: string, sent: Sent | null): Promise<View> {
  const t = providerTexts[v.locale];
  const isPlatform = v.viewer.tenant?.type === "Platform";
  const [providers, domains] = await Promise.all([
    v.api.call("listSignInProviders", { query: { pageSize: 100 } }),
    v.api.call("listSignInDomains", { query: { pageSize: 100 } }),
  ]);
  const settings = v.hosted || isPlatform ? null : await readSettingsCards(v);
  return {
    title: v.hosted ? t.setUp : t.title,
    scope: v.viewer.tenant?.name,
    body: [
      !v.hosted && <TenantTabs v={v} current={at} />,
      isPlatform ? <Empty icon="lock" title={t.platformNone}>{t.platformNoneText}</Empty> : [
        <ProvidersCard v={v} at={at} providers={providers.items} />,
        <DomainsCard v={v} at={at} domains={domains.items} sent={sent} />,
        settings,
      ],
    ],
  };
}

function ProvidersCard({ v, at, providers }: { v: Visit; at: string; providers: Provider[] }) {
  const t = providerTexts[v.locale];
  const newLink = (kind: Provider["kind"], label: string) =>
    buttonLink(`${at}/providers/new?kind=${kind}`, label, { icon: "plus" });
  return (
    <Card title={t.providers} actions={[newLink("Oidc", t.newOidc), newLink("Saml", t.newSaml)]}>
      <p class="muted">{t.providersIntro}</p>
      {factList([
        [
          t.tenantAddress,
          <CopyValue v={v} value={`${v.baseUrl}/console/sign-in?tenantId=${v.viewer.tenant?.id}`} />,
        ],
      ])}
      {dataTable(t.providers, providers, <Empty icon="lock" title={t.noProviders} />, [
        { head: t.name, cell: ({ id, name }) => <a href={`${at}/providers/${id}`}>{name}</a> },
        { head: t.kind, cell: ({ kind }) => t[kind] },
        { head: t.status, cell: (provider) => providerBadge(v, provider) },
        timeColumn<Provider>(v, t.lastSignIn, "lastSignInAt"),
      ])}
    </Card>
  );
}

function DomainsCard({ v, at, domains, sent }: {
  v: Visit;
  at: string;
  domains: Domain[];
  sent: Sent | null;
}) {
  const t = providerTexts[v.locale];
  const f = new Fields(v, sent, "addSignInDomain");
  return (
    <Card title={t.domains}>
      <p class="muted">{t.domainsIntro}</p>
      {dataTable(t.domains, domains, t.noDomains, [
        {
          head: t.domain,
          cell: ({ name, status, lastError }) => [
            name,
            <span class="sub">{proofStates.badge(v, status)}</span>,
            lastError && <span class="sub" lang="en">{lastError}</span>,
          ],
        },
        { head: t.record, cell: ({ dnsName }) => <CopyValue v={v} value={dnsName} /> },
        { head: t.value, cell: ({ dnsValue }) => <CopyValue v={v} value={dnsValue} /> },
        actionsColumn(v, ({ id, name }) => (
          <span class="row end">
            {actionButton(v, `${at}/domains/${id}/verify`, t.checkAgain)}
            {actionButton(v, `${at}/domains/${id}/remove`, t.remove, {
              confirm: t.removeDomainConfirm(name),
            })}
          </span>
        )),
      ])}
      <FoldedForm fields={f} label={t.addDomain} action={at} submit={t.addDomain}>
        {f.text("name", t.domain, { required: true, placeholder: "example.com" })}
      </FoldedForm>
    </Card>
  );
}

const passwordStates = defineStates({ on: ["ok", "On", "Ligado"], off: ["idle", "Off", "Desligado"] });

/** The page of the viewer's tenant. */
export const SIGN_IN = "tenants/sign-in";
const MANAGE = ["manage:sign-in"];

/** The actions of its cards that a set-up link does not have. */
export const settingsPages: ConsolePage[] = [
  {
    path: `${SIGN_IN}/settings`,
    permissions: MANAGE,
    async post(v, form) {
      const t = providerTexts[v.locale];
      const { value, etag } = await v.api.versioned("readSignInSettings");
      const email = field(form, "email").toLowerCase();
      const added = email && (await findPeople(v, email)).find((user) => user.email.toLowerCase() === email);
      if (added === undefined) return notDone(SIGN_IN, t.unknownUser(email));
      const kept = value.breakGlassUserIds.filter((id) => id !== field(form, "remove"));
      await v.api.call("updateSignInSettings", {
        body: {
          passwordSignIn: form.has("isOn") ? field(form, "isOn") === "true" : value.passwordSignIn,
          breakGlassUserIds: added ? [...kept, added.id] : kept,
        },
        ifMatch: etag,
      });
      return done(SIGN_IN, t.settingsSaved);
    },
  },
  {
    path: `${SIGN_IN}/links`,
    permissions: MANAGE,
    async post(v) {
      const t = providerTexts[v.locale];
      const { url } = await v.api.call("createSignInSetupLink");
      const back = { href: SIGN_IN, label: t.backToSignIn };
      return shownOnce(v, { title: t.linkCreated, secret: url, label: t.link, back });
    },
  },
  ...actionsOf(`${SIGN_IN}/links/{id}`, providerTexts, {
    revoke: ["revokeSignInSetupLink", "linkRevoked", SIGN_IN],
  }, MANAGE),
];

/** Sign-in by password, with those who keep it in an emergency, and the links for the company's own administrator. */
async function readSettingsCards(v: Visit) {
  const t = providerTexts[v.locale];
  const [{ passwordSignIn, breakGlassUserIds }, links] = await Promise.all([
    v.api.call("readSignInSettings"),
    v.api.call("listSignInSetupLinks", { query: { pageSize: 100 } }),
  ]);
  const names = await userNames(v, [...breakGlassUserIds, ...links.items.map(({ createdBy }) => createdBy)]);
  const f = new Fields(v, null, null);
  const state = passwordSignIn ? "on" : "off";
  return [
    <Card
      title={t.passwordSignIn}
      state={passwordStates.badge(v, state)}
      actions={actionButton(v, `${SIGN_IN}/settings`, passwordSignIn ? t.switchOff : t.switchOn, {
        fields: { isOn: String(!passwordSignIn) },
        ...passwordSignIn ? { confirm: t.switchOffConfirm } : {},
      })}
    >
      <p class="muted">{t.passwordText}</p>
      {dataTable(t.breakGlass, breakGlassUserIds, t.noBreakGlass, [
        { head: t.breakGlass, cell: (id) => <Person v={v} names={names} id={id} /> },
        actionsColumn(
          v,
          (id) => actionButton(v, `${SIGN_IN}/settings`, t.takeOut, { fields: { remove: id } }),
        ),
      ])}
      {may(v.viewer, "read:users") && (
        <FoldedForm
          fields={f}
          label={t.addBreakGlass}
          action={`${SIGN_IN}/settings`}
          submit={t.addBreakGlass}
        >
          {f.text("email", t.email, { type: "email", required: true })}
        </FoldedForm>
      )}
    </Card>,
    tableCard(t.links, links.items, t.noLinks, [
      timeColumn(v, t.created, "createdAt"),
      timeColumn(v, t.validUntil, "expiresAt"),
      { head: t.createdBy, cell: ({ createdBy }) => <Person v={v} names={names} id={createdBy} /> },
      actionsColumn(v, ({ id }) => actionButton(v, `${SIGN_IN}/links/${id}/revoke`, t.revoke)),
    ], { actions: actionButton(v, `${SIGN_IN}/links`, t.newLink, { icon: "link" }), intro: t.linksText }),
  ];
}

const PATH = "tenants/directory";
const visibility = defineStates({
  visible: ["ok", "Visible", "Visível"],
  hidden: ["idle", "Hidden", "Oculto"],
});

/** The address and token that a directory needs, and which of its groups are which roles. */
export const directoryPages: ConsolePage[] = [
  { path: PATH, permissions: ["read:roles"], get: directoryPage },
  formPage({
    path: "roles/{id}/group",
    permissions: ["update:roles"],
    async show(v, sent) {
      const t = signInTexts[v.locale];
      const mapping = (await v.api.call("listScimGroupMappings")).find(({ roleId }) =>
        roleId === v.params.id
      );
      if (!mapping) throw roleNotFound(v.params.id ?? "");
      const f = new Fields(v, sent, "mapScimGroup", mapping);
      return formView(f, {
        title: mapping.roleName,
        crumbs: [{ href: PATH, label: t.directory }],
        inputs: [f.text("displayName", t.group, { hint: t.groupHint }), f.check("isGroup", t.isGroup)],
      });
    },
    send: sendTo(
      "mapScimGroup",
      (form) => ({
        displayName: field(form, "displayName") || null,
        isGroup: field(form, "isGroup") === "true",
      }),
      (v) => done(PATH, signInTexts[v.locale].groupSaved),
    ),
  }),
];

async function directoryPage(v: Visit): Promise<View> {
  const t = signInTexts[v.locale];
  const mappings = await v.api.call("listScimGroupMappings");
  return {
    title: t.directory,
    scope: v.viewer.tenant?.name,
    body: [
      <TenantTabs v={v} current={PATH} />,
      <Card
        title={t.connect}
        actions={may(v.viewer, "manage:service-accounts") &&
          buttonLink("service-accounts/new", t.newAccount, { icon: "plus" })}
      >
        <p class="muted">{t.connectIntro}</p>
        {factList([
          [t.address, <CopyValue v={v} value={`${v.baseUrl}/scim/v2`} />],
          [t.token, t.tokenText],
        ])}
      </Card>,
      tableCard(t.groups, mappings, null, [
        { head: t.role, cell: ({ roleId, roleName }) => <a href={`roles/${roleId}`}>{roleName}</a> },
        {
          head: t.group,
          cell: ({ displayName, externalId }) => [
            displayName,
            externalId && <span class="sub">{externalId}</span>,
          ],
        },
        { head: t.status, cell: ({ isGroup }) => visibility.badge(v, isGroup ? "visible" : "hidden") },
        actionsColumn(
          v,
          ({ roleId }) => may(v.viewer, "update:roles") && buttonLink(`roles/${roleId}/group`, t.edit),
        ),
      ], { intro: t.groupsText }),
    ],
  };
}

/** The tenants, and how people get into the viewer's own one, as tabs. */
export function TenantTabs({ v, current }: { v: Visit; current: string }) {
  const t = signInTexts[v.locale];
  const mayRead = may(v.viewer, "read:tenants");
  const mayList = mayRead || may(v.viewer, "read:group-tenants");
  return pageTabs(t.tenants, current, [
    mayList && ["tenants", t.asList],
    mayList && ["tenants?view=tree", t.asTree],
    mayRead && ["tenants/usage", t.usage],
    may(v.viewer, "manage:sign-in") && [SIGN_IN, providerTexts[v.locale].title],
    (mayRead || may(v.viewer, "update:tenants")) && ["tenants/registration", t.registration],
    may(v.viewer, "read:roles") && ["tenants/directory", t.directory],
  ]);
}

const MODES = ["closed", "invitation", "domain", "open"] as const;
const managedBy = "update:tenants";

/** The form of who may join the viewer's tenant by themselves. */
export const registrationPage = formPage({
  path: "tenants/registration",
  permissions: ["read:tenants", managedBy],
  managedBy,
  restarts: true,
  async show(v, sent) {
    const t = signInTexts[v.locale];
    const { value, etag } = await v.api.versioned("readRegistrationSettings");
    const f = new Fields(v, sent, "updateRegistrationSettings", {
      ...value,
      domains: value.domains.join("\n"),
      etag,
    });
    const roles = namedChoices(await roleChoices(v));
    const view = formView(f, {
      title: t.registration,
      back: null,
      intro: t.registrationIntro,
      readOnly: !may(v.viewer, managedBy),
      inputs: [
        f.select("mode", t.mode, labelled(MODES, t)),
        f.area("domains", t.domains, { rows: 3, hint: t.domainsHint }),
        f.select("roleId", t.newUsersRole, roles, { any: t.none }),
      ],
    });
    return {
      ...view,
      scope: v.viewer.tenant?.name,
      body: [<TenantTabs v={v} current="tenants/registration" />, view.body],
    };
  },
  send: sendTo(
    "updateRegistrationSettings",
    (form) => ({
      mode: field(form, "mode"),
      domains: field(form, "domains").split(/[\s,;]+/).filter(Boolean),
      roleId: field(form, "roleId") || null,
    }),
    (v) => done("tenants/registration", signInTexts[v.locale].registrationSaved),
  ),
});
