import { actionButton, buttonLink } from "../components/forms.tsx";
import { Fields, Form } from "../components/fields.tsx";
import { actionsColumn, listView } from "../components/list.tsx";
import { Card, Empty } from "../components/notice.tsx";
import { CodeBlock } from "../components/values.tsx";
import { actionsOf, formPage } from "../shared/actions.ts";
import type { Row } from "../shared/operations.ts";
import { type ConsolePage, field, may, type Outcome, type View, type Visit } from "../shared/page.ts";
import {
  expiryOf,
  givablePermissions,
  keyColumns,
  keyFilters,
  keyOrder,
  PermissionCard,
  rotatePage,
  validityField,
} from "./key_cells.tsx";
import { shownOnce } from "./shown_once.tsx";
import { integrationTexts } from "./texts.ts";

type Account = Row<"listServiceAccounts">;

const REQUEST_HEADERS = "Authorization: Bearer …\nX-Tenant-ID: …";

/** The service accounts that the viewer manages, with their permissions, tenants and last use. */
async function listAccounts(v: Visit): Promise<View> {
  const t = integrationTexts[v.locale];
  const { name, permissions, status, created, expires, lastUse } = keyColumns(v);
  return await listView(v, "listServiceAccounts", {
    path: "service-accounts",
    icon: "keys",
    title: t.accounts,
    actions: buttonLink("service-accounts/new", t.newAccount, { icon: "plus", tone: "primary" }),
    query: keyOrder(v),
    caption: t.accountsCaption,
    empty: [t.noAccounts, t.noAccountsText],
    filters: keyFilters(v),
    columns: [
      name,
      permissions,
      { head: t.tenants, cell: (account) => tenantsOf(v, account) },
      status,
      created,
      expires,
      lastUse,
      actionsColumn(v, (account) => <AccountActions v={v} account={account} />),
    ],
  });
}

function tenantsOf(v: Visit, { tenants }: Account): string {
  const t = integrationTexts[v.locale];
  if (tenants === "all") return t.allTenants;
  const [first] = tenants;
  return tenants.length === 1 && first === v.viewer.tenant?.id ? t.thisTenant : t.tenantCount(tenants.length);
}

function AccountActions({ v, account: { id, name, revokedAt } }: { v: Visit; account: Account }) {
  const t = integrationTexts[v.locale];
  if (revokedAt) return null;
  const here = `service-accounts/${id}`;
  return (
    <>
      {buttonLink(`${here}/rotate`, t.newSecret)}
      {actionButton(v, `${here}/revoke`, t.revoke, { tone: "danger", confirm: t.revokeAccountConfirm(name) })}
    </>
  );
}

/** Creates a service account and shows its secret. It is not shown again. */
const newAccountPage = formPage({
  path: "service-accounts/new",
  async show(v, sent) {
    const t = integrationTexts[v.locale];
    const groups = await givablePermissions(v);
    const f = new Fields(v, sent, "createServiceAccount", { reach: "own", days: 0 });
    const reaches = [{ value: "own", label: t.thisTenant }];
    if (may(v.viewer, "admin:system")) reaches.push({ value: "all", label: t.allTenants });
    return {
      title: t.newAccount,
      crumbs: [{ href: "service-accounts", label: t.accounts }],
      body: groups.length === 0 ? <Empty icon="keys" title={t.noPermissions} /> : (
        <Form
          fields={f}
          action="service-accounts/new"
          submit={t.createAccount}
          back="service-accounts"
          stacked
        >
          <Card>
            <div class="pair">
              {f.text("name", t.name, { hint: t.accountNameHint })}
              {f.select("reach", t.actsIn, reaches, { errors: f.errorsOf("tenants") })}
              {validityField(v, f)}
            </div>
          </Card>
          <PermissionCard v={v} fields={f} groups={groups} hint={t.accountPermissionsHint} />
        </Form>
      ),
    };
  },
  async send(v, form) {
    const t = integrationTexts[v.locale];
    const { secret } = await v.api.call("createServiceAccount", {
      body: {
        name: field(form, "name"),
        permissions: form.getAll("permissions").map(String),
        expiresAt: expiryOf(v, form),
        tenants: field(form, "reach") === "all" ? "all" : [v.viewer.tenant?.id ?? ""],
      },
    });
    return showSecret(v, t.accountCreated, secret);
  },
});

async function rotate(v: Visit, body: { overlapSeconds: number }): Promise<Outcome> {
  const { secret } = await v.api.call("rotateServiceAccount", { params: v.params, body });
  return showSecret(v, integrationTexts[v.locale].secretCreated, secret);
}

function showSecret(v: Visit, title: string, secret: string): View {
  const t = integrationTexts[v.locale];
  const crumb = { href: "service-accounts", label: t.accounts };
  return shownOnce(v, {
    title,
    crumb,
    secret,
    label: t.accountSecret,
    back: { ...crumb, label: t.backToAccounts },
    more: (
      <>
        <p class="muted">{t.keyUse}</p>
        <CodeBlock label={t.keyUse}>{REQUEST_HEADERS}</CodeBlock>
      </>
    ),
  });
}

export const accountPages: ConsolePage[] = [
  { path: "service-accounts", get: listAccounts },
  newAccountPage,
  rotatePage("service-accounts", {
    operation: "rotateServiceAccount",
    list: "accounts",
    read: (v) => v.api.call("readServiceAccount", { params: v.params }),
    rotate,
  }),
  ...actionsOf("service-accounts/{id}", integrationTexts, {
    revoke: ["revokeServiceAccount", "accountRevoked", "service-accounts"],
  }),
];
