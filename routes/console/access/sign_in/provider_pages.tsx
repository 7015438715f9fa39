import type { Child } from "hono/jsx";
import { Fields, formView } from "../../components/fields.tsx";
import { actionButton, buttonLink, deleteButton } from "../../components/forms.tsx";
import { namedChoices } from "../../components/list.tsx";
import { Card, Notice } from "../../components/notice.tsx";
import { tableCard } from "../../components/table.tsx";
import { CopyValue, exactDay, factList, Time } from "../../components/values.tsx";
import { actionsOf, done, formPage, sendTo, type Sent } from "../../shared/actions.ts";
import { roleChoices } from "../../shared/access_queries.ts";
import type { Answer } from "../../shared/operations.ts";
import { type ConsolePage, field, optionalField, type View, type Visit } from "../../shared/page.ts";
import { providerTexts } from "./texts.ts";
import { providerBadge, signInPage } from "./sign_in_page.tsx";

type Provider = Answer<"readSignInProvider">;

/**
 * The pages of a tenant's identity providers and email domains.
 * @param at the path of the first one: in the console, or for who has a set-up link
 */
export const signInPages = (at: string): ConsolePage[] => {
  const one = `${at}/providers/{id}`;
  const pages: ConsolePage[] = [
    formPage({
      path: at,
      show: (v, sent) => signInPage(v, at, sent),
      send: sendTo(
        "addSignInDomain",
        (form) => ({ name: field(form, "name") }),
        (v) => done(at, providerTexts[v.locale].domainAdded),
      ),
    }),
    formPage({
      path: `${at}/providers/new`,
      show: (v, sent) =>
        providerForm(v, at, sent, {
          kind: v.query.get("kind") === "Saml" ? "Saml" : "Oidc",
          values: { satisfiesSecondFactor: true },
        }),
      send: sendTo(
        "createSignInProvider",
        (form) => ({ kind: field(form, "kind"), ...bodyOf(form) }),
        (v, { id }) => done(`${at}/providers/${id}`, providerTexts[v.locale].providerCreated),
      ),
    }),
    { path: one, get: (v) => providerPage(v, at) },
    formPage({
      path: `${one}/edit`,
      restarts: true,
      async show(v, sent) {
        const { value, etag } = await v.api.versioned("readSignInProvider", { params: v.params });
        const { claims, certificates, ...values } = value;
        const pem = certificates.map((certificate) => certificate.pem.trim()).join("\n");
        return await providerForm(v, at, sent, {
          kind: value.kind,
          name: value.name,
          values: { ...values, ...claims, claimedEmail: claims.email, certificates: pem, etag },
        });
      },
      send: sendTo(
        "updateSignInProvider",
        bodyOf,
        (v, { id }) => done(`${at}/providers/${id}`, providerTexts[v.locale].saved),
      ),
    }),
    {
      path: `${one}/test`,
      async post(v) {
        const { url } = await v.api.act("testSignInProvider", v);
        return { goTo: `..${url.slice(v.baseUrl.length)}` };
      },
    },
    ...actionsOf(one, providerTexts, {
      enable: ["enableSignInProvider", "enabled"],
      disable: ["disableSignInProvider", "disabled"],
      delete: ["deleteSignInProvider", "deleted", at],
    }),
    ...actionsOf(`${at}/domains/{id}`, providerTexts, {
      verify: ["verifySignInDomain", "checked", at],
      remove: ["removeSignInDomain", "domainRemoved", at],
    }),
  ];
  return pages.map((page) => ({ ...page, permissions: ["manage:sign-in"] }));
};

const crumbsOf = (v: Visit, at: string) => {
  const t = providerTexts[v.locale];
  return [{ href: at, label: v.hosted ? t.setUp : t.title }];
};

async function providerPage(v: Visit, at: string): Promise<View> {
  const t = providerTexts[v.locale];
  const provider = await v.api.act("readSignInProvider", v);
  const { id, kind, name, isEnabled, service, claims } = provider;
  const here = `${at}/providers/${id}`;
  const yesOrNo = (isSo: boolean) => isSo ? t.yes : t.no;
  const copy = (label: string, value: string | null): [string, Child] | null =>
    value === null ? null : [label, <CopyValue v={v} value={value} />];
  const addresses: [name: string, value: string | null][] = [
    [kind === "Oidc" ? t.redirectUri : t.acsUrl, service.redirectUri],
    [t.serviceEntityId, service.entityId],
    [t.metadataUrl, service.metadataUrl],
    [t.startUrl, service.startUrl],
  ];
  return {
    title: name,
    crumbs: crumbsOf(v, at),
    scope: v.viewer.tenant?.name,
    actions: [
      isComplete(provider) && actionButton(v, `${here}/test`, t.test, { icon: "lock" }),
      isEnabled && actionButton(v, `${here}/disable`, t.disable, { confirm: t.disableConfirm(name) }),
      !isEnabled && isComplete(provider) && actionButton(v, `${here}/enable`, t.enable),
      buttonLink(`${here}/edit`, t.edit, { tone: "primary" }),
      deleteButton(v, `${here}/delete`, t.deleteConfirm(name)),
    ],
    body: [
      !isComplete(provider) && <Notice tone="info">{t.incomplete}</Notice>,
      tableCard(t.enterThere, addresses.filter(([, value]) => value !== null), null, [
        { head: t.name, cell: ([name]) => name },
        { head: t.value, cell: ([, value]) => <CopyValue v={v} value={value} /> },
      ]),
      <Card title={t.connection}>
        {factList([
          [t.status, providerBadge(v, provider)],
          [t.kind, t[kind]],
          copy(t.issuer, provider.issuer),
          copy(t.clientId, provider.clientId),
          provider.hasClientSecret && [t.clientSecret, t.stored],
          copy(t.entityId, provider.entityId),
          copy(t.idpUrl, provider.signInUrl),
          provider.certificates.length > 0 && [
            t.certificates,
            provider.certificates.map(({ expiresAt }) => (
              <div>{t.expires(exactDay(v, String(expiresAt)))}</div>
            )),
          ],
          claims.email !== null && [t.email, claims.email],
          claims.firstName !== null && [t.firstName, claims.firstName],
          claims.lastName !== null && [t.lastName, claims.lastName],
          claims.groups !== null && [t.groups, claims.groups],
          [t.createsUsers, yesOrNo(provider.createsUsers)],
          [t.satisfiesSecondFactor, yesOrNo(provider.satisfiesSecondFactor)],
          [t.lastSignIn, <Time v={v} at={provider.lastSignInAt?.toString()} />],
        ])}
      </Card>,
    ],
  };
}

/** True if it has all that a sign-in needs. */
const isComplete = ({ kind, issuer, clientId, entityId, signInUrl, certificates }: Provider): boolean =>
  kind === "Oidc"
    ? issuer !== null && clientId !== null
    : entityId !== null && signInUrl !== null && certificates.length > 0;

/** The form of a provider. Who may not see the roles changes neither the role nor the claim that gives roles. */
async function providerForm(
  v: Visit,
  at: string,
  sent: Sent | null,
  { kind, name, values }: { kind: Provider["kind"]; name?: string; values: Record<string, unknown> },
): Promise<View> {
  const t = providerTexts[v.locale];
  const f = new Fields(v, sent, "createSignInProvider", values);
  const roles = await roleChoices(v);
  const here = v.params.id ? `${at}/providers/${v.params.id}` : at;
  const isNew = name === undefined;
  return formView(f, {
    title: isNew ? (kind === "Oidc" ? t.newOidc : t.newSaml) : t.edit,
    crumbs: [...crumbsOf(v, at), ...isNew ? [] : [{ href: here, label: name }]],
    scope: v.viewer.tenant?.name,
    submit: isNew ? t.createProvider : undefined,
    stacked: true,
    inputs: [
      <input type="hidden" name="kind" value={kind} />,
      <Card title={t.connection}>
        {isNew && <p class="muted">{t.newIntro}</p>}
        {f.text("name", t.name, { hint: t.nameHint })}
        {kind === "Oidc"
          ? [
            f.text("issuer", t.issuer, { type: "url", hint: t.issuerHint, required: false }),
            f.text("clientId", t.clientId, { required: false }),
            f.text("clientSecret", t.clientSecret, {
              type: "password",
              autocomplete: "new-password",
              ...isNew ? {} : { hint: t.secretHint },
            }),
          ]
          : [
            f.area("metadata", t.metadata, { rows: 6, code: true, hint: t.metadataHint }),
            f.text("entityId", t.entityId),
            f.text("signInUrl", t.idpUrl, { type: "url" }),
            f.area("certificates", t.certificates, { rows: 6, code: true }),
          ]}
      </Card>,
      <Card title={t.users}>
        {f.check("createsUsers", t.createsUsers, t.createsUsersHint)}
        {roles.length > 0 &&
          f.select("roleId", t.newUsersRole, namedChoices(roles), { any: t.none })}
        {f.check("satisfiesSecondFactor", t.satisfiesSecondFactor)}
      </Card>,
      <Card title={t.claims}>
        <p class="muted">{t.claimsHint}</p>
        <div class="pair">
          {f.text("claimedEmail", t.email)}
          {f.text("firstName", t.firstName)}
          {f.text("lastName", t.lastName)}
          {roles.length > 0
            ? f.text("groups", t.groups, { hint: t.groupsHint })
            : <input type="hidden" name="groups" value={f.value("groups")} />}
        </div>
      </Card>,
    ],
  });
}

/** The members of a provider in a form. The form of who may not see the roles has no `roleId`. */
function bodyOf(form: FormData) {
  const text = (name: string) => field(form, name) || null;
  const certificates = field(form, "certificates").match(/-----BEGIN[^]*?-----END[^]*?-----/g) ?? [];
  const metadata = optionalField(form, "metadata");
  const clientSecret = optionalField(form, "clientSecret");
  const connection = field(form, "kind") === "Oidc"
    ? { issuer: text("issuer"), clientId: text("clientId"), ...clientSecret ? { clientSecret } : {} }
    : metadata
    ? { metadata }
    : {
      entityId: text("entityId"),
      signInUrl: text("signInUrl"),
      certificates: certificates.map((pem) => ({ pem })),
    };
  return {
    name: field(form, "name"),
    ...connection,
    claims: {
      email: text("claimedEmail"),
      firstName: text("firstName"),
      lastName: text("lastName"),
      groups: text("groups"),
    },
    createsUsers: field(form, "createsUsers") === "true",
    ...form.has("roleId") ? { roleId: text("roleId") } : {},
    satisfiesSecondFactor: field(form, "satisfiesSecondFactor") === "true",
  };
}
