import { MAX_LIFE_DAYS } from "../../../domain/access/keys/api_keys.ts";
import { actionButton, buttonLink, type Choice } from "../components/forms.tsx";
import { Fields, Form } from "../components/fields.tsx";
import { actionsColumn, listView } from "../components/list.tsx";
import { Card, Empty } from "../components/notice.tsx";
import { Badge, CodeBlock, Time } from "../components/values.tsx";
import { action, formPage, showing } from "../shared/actions.ts";
import { commonTexts } from "../shared/common_texts.ts";
import type { Row } from "../shared/operations.ts";
import { type ConsolePage, field, type View, type Visit } from "../shared/page.ts";
import { givablePermissions, keyColumns, keyFilters, keyOrder, PermissionCard } from "./key_cells.tsx";
import { shownOnce } from "./shown_once.tsx";
import { integrationTexts } from "./texts.ts";

const DAY_MS = 86_400_000;
const VALID_DAYS = [30, 90, 365];

/** The tenant's API keys with their permissions, expiry and last use. */
async function listKeys(v: Visit): Promise<View> {
  const t = integrationTexts[v.locale];
  const { never } = commonTexts[v.locale];
  const { name, permissions, created, lastUse } = keyColumns(v);
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
      { head: t.status, cell: (key) => <KeyStatus v={v} row={key} /> },
      created,
      { head: t.expires, cell: ({ expiresAt }) => expiresAt ? <Time v={v} at={expiresAt} /> : never },
      lastUse,
      actionsColumn(v, ({ id, name, revokedAt }) => {
        const [action, confirm] = [`api-keys/${id}/revoke`, t.revokeConfirm(name)];
        return !revokedAt && actionButton(v, action, t.revoke, { tone: "danger", confirm });
      }),
    ],
  });
}

function KeyStatus({ v, row }: { v: Visit; row: Row<"listApiKeys"> }) {
  const t = integrationTexts[v.locale];
  if (row.revokedAt) return <Badge tone="bad">{t.revoked}</Badge>;
  if (row.expiresAt && new Date(row.expiresAt) <= v.now) return <Badge tone="idle">{t.expired}</Badge>;
  return <Badge tone="ok">{t.active}</Badge>;
}

/** Creates a key and shows it. It is not shown again. */
const newKeyPage = formPage({
  path: "api-keys/new",
  async show(v, sent) {
    const t = integrationTexts[v.locale];
    const groups = await givablePermissions(v);
    const f = new Fields(v, sent, "createApiKey", { days: 90 });
    const days: Choice[] = VALID_DAYS.map((days) => ({ value: String(days), label: t.days(days) }));
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
                {f.select("days", t.validity, [...days, { value: "0", label: t.untilRevoked }], {
                  errors: f.errorsOf("expiresAt"),
                })}
              </div>
            </Card>
            <PermissionCard v={v} fields={f} groups={groups} hint={t.permissionsHint} />
          </Form>
        ),
    };
  },
  async send(v, form) {
    const t = integrationTexts[v.locale];
    const days = Math.min(Number(field(form, "days")), MAX_LIFE_DAYS + 1);
    const { key } = await v.api.call("createApiKey", {
      body: {
        name: field(form, "name"),
        permissions: form.getAll("permissions").map(String),
        expiresAt: days > 0 ? new Date(v.now.getTime() + days * DAY_MS).toISOString() : null,
      },
    });
    return shownOnce(v, {
      title: t.keyCreated,
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
  },
});

export const keyPages: ConsolePage[] = [
  { path: "api-keys", get: listKeys },
  newKeyPage,
  action("api-keys/{id}/revoke", "revokeApiKey", showing("api-keys", integrationTexts, "isRevoked")),
];
