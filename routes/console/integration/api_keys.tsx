import { actionButton, buttonLink } from "../components/forms.tsx";
import { Fields, Form } from "../components/fields.tsx";
import { actionsColumn, listView } from "../components/list.tsx";
import { Card, Empty } from "../components/notice.tsx";
import { CodeBlock } from "../components/values.tsx";
import { action, formPage, showing } from "../shared/actions.ts";
import { type ConsolePage, field, type Outcome, type View, type Visit } from "../shared/page.ts";
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

/** The tenant's API keys with their permissions, expiry and last use. */
async function listKeys(v: Visit): Promise<View> {
  const t = integrationTexts[v.locale];
  const { name, permissions, status, created, expires, lastUse } = keyColumns(v);
  return await listView(v, "listApiKeys", {
    path: "api-keys",
    icon: "keys",
    title: t.keys,
    actions: buttonLink("api-keys/new", t.newKey, { icon: "plus", tone: "primary" }),
    query: keyOrder(v),
    caption: t.keysCaption,
    empty: [t.noKeys, t.noKeysText],
    filters: keyFilters(v),
    columns: [
      name,
      permissions,
      status,
      created,
      expires,
      lastUse,
      actionsColumn(v, ({ id, name, createdBy, revokedAt }) => {
        const [action, confirm] = [`api-keys/${id}/revoke`, t.revokeConfirm(name)];
        return !revokedAt && (
          <>
            {createdBy === v.viewer.userId && buttonLink(`api-keys/${id}/rotate`, t.newSecret)}
            {actionButton(v, action, t.revoke, { tone: "danger", confirm })}
          </>
        );
      }),
    ],
  });
}

/** Creates a key and shows it. It is not shown again. */
const newKeyPage = formPage({
  path: "api-keys/new",
  async show(v, sent) {
    const t = integrationTexts[v.locale];
    const groups = await givablePermissions(v);
    const f = new Fields(v, sent, "createApiKey", { days: 90 });
    return {
      title: t.newKey,
      crumbs: [{ href: "api-keys", label: t.keys }],
      body: groups.length === 0
        ? <Empty icon="keys" title={t.noPermissions} />
        : (
          <Form fields={f} action="api-keys/new" submit={t.createKey} back="api-keys" stacked>
            <Card>
              <div class="pair">
                {f.text("name", t.name, { hint: t.nameHint })}
                {validityField(v, f)}
              </div>
            </Card>
            <PermissionCard v={v} fields={f} groups={groups} hint={t.permissionsHint} />
          </Form>
        ),
    };
  },
  async send(v, form) {
    const { key } = await v.api.call("createApiKey", {
      body: {
        name: field(form, "name"),
        permissions: form.getAll("permissions").map(String),
        expiresAt: expiryOf(v, form),
      },
    });
    return showKey(v, integrationTexts[v.locale].keyCreated, key);
  },
});

async function rotate(v: Visit, body: { overlapSeconds: number }): Promise<Outcome> {
  const { key } = await v.api.call("rotateApiKey", { params: v.params, body });
  return showKey(v, integrationTexts[v.locale].secretCreated, key);
}

function showKey(v: Visit, title: string, key: string): View {
  const t = integrationTexts[v.locale];
  return shownOnce(v, {
    title,
    crumb: { href: "api-keys", label: t.keys },
    secret: key,
    label: t.key,
    back: { href: "api-keys", label: t.backToKeys },
    more: (
      <>
        <p class="muted">{t.keyUse}</p>
        <CodeBlock label={t.keyUse}>Authorization: Bearer …</CodeBlock>
      </>
    ),
  });
}

export const keyPages: ConsolePage[] = [
  { path: "api-keys", get: listKeys },
  newKeyPage,
  rotatePage("api-keys", {
    operation: "rotateApiKey",
    list: "keys",
    read: (v) => v.api.call("readApiKey", { params: v.params }),
    rotate,
  }),
  action("api-keys/{id}/revoke", "revokeApiKey", showing("api-keys", integrationTexts, "isRevoked")),
];
