import { actionButton, buttonLink } from "../components/forms.tsx";
import { listView, timeColumn } from "../components/list.tsx";
import { Card } from "../components/notice.tsx";
import { Badge, Codes, CopyValue, factList, Time } from "../components/values.tsx";
import type { Row } from "../shared/operations.ts";
import type { ConsolePage, Outcome, View, Visit } from "../shared/page.ts";
import { keyFilters, keyOrder } from "./key_cells.tsx";
import { editClientPage, newClientPage } from "./oauth_client_form.tsx";
import { oauthClientTexts } from "./oauth_texts.ts";
import { shownOnce } from "./shown_once.tsx";
import { actionsOf } from "../shared/actions.ts";

type Client = Row<"listOAuthClients">;

async function listClients(v: Visit): Promise<View> {
  const t = oauthClientTexts[v.locale];
  return await listView(v, "listOAuthClients", {
    path: "oauth-clients",
    icon: "keys",
    title: t.clients,
    actions: buttonLink("oauth-clients/new", t.newClient, { icon: "plus", tone: "primary" }),
    query: keyOrder(v),
    caption: t.clientsCaption,
    empty: [t.noClients, t.noClientsText],
    filters: keyFilters(v),
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
    crumbs: [{ href: "oauth-clients", label: t.clients }],
    actions: revokedAt ? undefined : (
      <>
        {buttonLink(`${here}/edit`, t.edit)}
        {kind === "confidential" &&
          actionButton(v, `${here}/rotate`, t.newSecret, { confirm: t.rotateConfirm(name) })}
        {actionButton(v, `${here}/revoke`, t.revoke, { tone: "danger", confirm: t.revokeConfirm(name) })}
      </>
    ),
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
          [t.scopes, <Codes codes={client.scopes} />],
          [t.tokenAlgorithm, client.tokenAlgorithm],
          client.tokenClaims.length > 0 && ["", t.withPermissions],
          client.firstParty && ["", t.firstParty],
          lastUsedAt !== null && [t.lastUsed, <Time v={v} at={lastUsedAt} />],
        ])}
      </Card>
    ),
  };
}

async function rotate(v: Visit): Promise<Outcome> {
  const t = oauthClientTexts[v.locale];
  const { id, secret } = await v.api.call("rotateOAuthClientSecret", { params: v.params });
  return shownOnce(v, {
    title: t.secretCreated,
    crumb: { href: "oauth-clients", label: t.clients },
    secret,
    label: t.clientSecret,
    back: { href: `oauth-clients/${id}`, label: t.backToClient },
  });
}

export const clientPages: ConsolePage[] = [
  { path: "oauth-clients", get: listClients },
  newClientPage,
  { path: "oauth-clients/{id}", get: showClient },
  editClientPage,
  { path: "oauth-clients/{id}/rotate", post: rotate },
  ...actionsOf("oauth-clients/{id}", oauthClientTexts, {
    revoke: ["revokeOAuthClient", "clientRevoked", "oauth-clients"],
  }),
];
