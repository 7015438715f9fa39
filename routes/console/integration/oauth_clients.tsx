import type { Child } from "hono/jsx";
import { actionButton, buttonLink } from "../components/forms.tsx";
import { choice, listView, search, timeColumn } from "../components/list.tsx";
import { Card } from "../components/notice.tsx";
import { Badge, Codes, CopyValue, factList, Time } from "../components/values.tsx";
import type { Row } from "../shared/operations.ts";
import { type ConsolePage, field, may, optionalField, type View, type Visit } from "../shared/page.ts";
import { crumbsTo } from "../shared/scope.ts";
import { keyOrder } from "./keys.tsx";
import { integrationTexts, oauthClientTexts } from "./texts.ts";
import { shownOnce } from "./shown_once.tsx";
import { action, actionsOf, done, formPage, sendTo, type Sent } from "../shared/actions.ts";
import { Fields, formView } from "../components/fields.tsx";

const lines = (form: FormData, name: string) => field(form, name).split(/\s+/).filter((line) => line !== "");

const bodyOf = (form: FormData) => ({
  name: field(form, "name"),
  redirectUris: lines(form, "redirectUris"),
  postLogoutRedirectUris: lines(form, "postLogoutRedirectUris"),
  audience: field(form, "audience"),
  scopes: lines(form, "scopes"),
  tokenClaims: form.get("withPermissions") === "true" ? ["permissions" as const] : [],
  tokenAlgorithm: field(form, "tokenAlgorithm"),
  firstParty: form.get("firstParty") === "true",
  accessTokenSeconds: Number(field(form, "accessTokenSeconds")),
  refreshTokenSeconds: Number(field(form, "refreshTokenSeconds")),
  grantSeconds: Number(field(form, "grantSeconds")),
  backchannelLogoutUri: optionalField(form, "backchannelLogoutUri") ?? null,
});

/** Creates a client and shows its secret. It is not shown again. */
const newClientPage = formPage({
  path: "oauth-clients/new",
  show: (v, sent) =>
    clientForm(v, sent, {
      kind: "confidential",
      scopes: "openid profile email offline_access",
      tokenAlgorithm: "EdDSA",
      accessTokenSeconds: 900,
      refreshTokenSeconds: 1_209_600,
      grantSeconds: 2_592_000,
    }),
  async send(v, form) {
    const t = oauthClientTexts[v.locale];
    const { id, secret, clientId } = await v.api.call("createOAuthClient", {
      body: { ...bodyOf(form), kind: field(form, "kind") },
    });
    if (secret === null) return done(`oauth-clients/${id}`, t.publicCreated);
    return showSecret(
      v,
      t.clientCreated,
      { id, secret },
      <p>
        {t.clientId} <code>{clientId}</code>
      </p>,
    );
  },
});

function showSecret(
  v: Visit,
  title: string,
  { id, secret }: { id: string; secret: string },
  more?: Child,
): View {
  const { clientSecret: label, backToClient } = oauthClientTexts[v.locale];
  return shownOnce(v, {
    title,
    secret,
    label,
    back: { href: `oauth-clients/${id}`, label: backToClient },
    more,
  });
}

const editClientPage = formPage({
  path: "oauth-clients/{id}/edit",
  async show(v, sent) {
    const { value, etag } = await v.api.versioned("readOAuthClient", { params: v.params });
    return clientForm(v, sent, {
      ...value,
      etag,
      redirectUris: value.redirectUris.join("\n"),
      postLogoutRedirectUris: value.postLogoutRedirectUris.join("\n"),
      scopes: value.scopes.join(" "),
      withPermissions: value.tokenClaims.includes("permissions"),
    });
  },
  send: sendTo(
    "updateOAuthClient",
    bodyOf,
    (v, { id }) => done(`oauth-clients/${id}`, oauthClientTexts[v.locale].saved),
  ),
});

function clientForm(v: Visit, sent: Sent | null, values: Record<string, unknown>): View {
  const t = oauthClientTexts[v.locale];
  const { id } = v.params;
  const f = new Fields(v, sent, "createOAuthClient", values);
  const kinds = (["confidential", "public"] as const).map((kind) => ({ value: kind, label: t[kind] }));
  const algorithms = ["EdDSA", "RS256"].map((name) => ({ value: name, label: name }));
  return formView(f, {
    title: id ? t.edit : t.newClient,
    crumbs: id ? crumbsTo(v, { href: `oauth-clients/${id}`, label: String(values.name) }) : undefined,
    submit: id ? undefined : t.createClient,
    stacked: true,
    inputs: (
      <Card>
        <div class="pair">
          {f.text("name", t.name, { hint: t.nameHint })}
          {!id && f.select("kind", t.kind, kinds)}
        </div>
        {f.area("redirectUris", t.redirectUris, { hint: t.redirectHint, required: false })}
        {f.area("postLogoutRedirectUris", t.postLogoutRedirectUris)}
        {f.text("backchannelLogoutUri", t.backchannelLogoutUri, { hint: t.backchannelHint })}
        {f.text("audience", t.audience, { hint: t.audienceHint })}
        {f.text("scopes", t.scopes, { hint: t.scopesHint })}
        {f.select("tokenAlgorithm", t.tokenAlgorithm, algorithms)}
        {f.text("accessTokenSeconds", t.accessTokenSeconds, { type: "number" })}
        {f.text("refreshTokenSeconds", t.refreshTokenSeconds, { type: "number" })}
        {f.text("grantSeconds", t.grantSeconds, { type: "number" })}
        {f.check("withPermissions", t.withPermissions)}
        {may(v.viewer, "admin:system") && f.check("firstParty", t.firstParty)}
      </Card>
    ),
  });
}

type Client = Row<"listOAuthClients">;

async function listClients(v: Visit): Promise<View> {
  const [t, i] = [oauthClientTexts[v.locale], integrationTexts[v.locale]];
  return await listView(v, "listOAuthClients", {
    title: t.clients,
    actions: buttonLink("oauth-clients/new", t.newClient, { icon: "plus", tone: "primary" }),
    query: keyOrder(v),
    caption: t.clientsCaption,
    empty: [t.noClients, t.noClientsText],
    filters: [search(i.search), choice("includeDeleted", i.show, { true: i.withRevoked }, i.withoutRevoked)],
    columns: [
      { head: t.name, sort: "name", cell: ({ id, name }) => <a href={`oauth-clients/${id}`}>{name}</a> },
      { head: t.clientId, cell: ({ clientId }) => <code class="nowrap">{clientId}</code> },
      { head: t.audience, cell: ({ audience }) => audience, wideOnly: true },
      { head: t.status, cell: ({ revokedAt }) => <State v={v} revokedAt={revokedAt} /> },
      timeColumn<Client>(v, t.lastUsed, "lastUsedAt", { sort: "lastUsedAt", wideOnly: true }),
    ],
  });
}

function State({ v, revokedAt }: { v: Visit; revokedAt: string | null }) {
  const t = oauthClientTexts[v.locale];
  return revokedAt ? <Badge tone="bad">{t.revoked}</Badge> : <Badge tone="ok">{t.active}</Badge>;
}

async function showClient(v: Visit): Promise<View> {
  const t = oauthClientTexts[v.locale];
  const client = await v.api.call("readOAuthClient", { params: v.params });
  const { id, name, kind, clientId, tenantId, audience, revokedAt, lastUsedAt, start } = client;
  const here = `oauth-clients/${id}`;
  return {
    title: name,
    actions: revokedAt ? undefined : [
      buttonLink(`${here}/edit`, t.edit),
      kind === "confidential" &&
      actionButton(v, `${here}/rotate`, t.newSecret, { confirm: t.rotateConfirm(name) }),
      actionButton(v, `${here}/revoke`, t.revoke, { tone: "danger", confirm: t.revokeConfirm(name) }),
    ],
    body: (
      <Card>
        {factList([
          [t.status, <State v={v} revokedAt={revokedAt} />],
          [t.clientId, <CopyValue v={v} value={clientId} />],
          start !== null && [t.clientSecret, <code>{start}…</code>],
          [t.kind, t[kind]],
          [t.users, tenantId === null ? t.everyTenant : t.ownTenant],
          [t.audience, audience],
          [t.redirectUris, <Codes codes={client.redirectUris} />],
          client.postLogoutRedirectUris.length > 0 &&
          [t.postLogoutRedirectUris, <Codes codes={client.postLogoutRedirectUris} />],
          client.backchannelLogoutUri !== null &&
          [t.backchannelLogoutUri, <Codes codes={[client.backchannelLogoutUri]} />],
          [t.scopes, <Codes codes={client.scopes} />],
          [t.accessTokenSeconds, client.accessTokenSeconds],
          [t.refreshTokenSeconds, client.refreshTokenSeconds],
          [t.grantSeconds, client.grantSeconds],
          [t.tokenAlgorithm, client.tokenAlgorithm],
          client.tokenClaims.length > 0 && ["", t.withPermissions],
          client.firstParty && ["", t.firstParty],
          lastUsedAt !== null && [t.lastUsed, <Time v={v} at={lastUsedAt} />],
        ])}
      </Card>
    ),
  };
}

export const clientPages: ConsolePage[] = [
  { path: "oauth-clients", get: listClients },
  newClientPage,
  { path: "oauth-clients/{id}", get: showClient },
  editClientPage,
  action(
    "oauth-clients/{id}/rotate",
    "rotateOAuthClientSecret",
    (v, client) => showSecret(v, oauthClientTexts[v.locale].secretCreated, client),
  ),
  ...actionsOf("oauth-clients/{id}", oauthClientTexts, {
    revoke: ["revokeOAuthClient", "clientRevoked", "oauth-clients"],
  }),
];
