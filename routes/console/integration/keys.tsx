import { DAY_MS } from "../../../infra/clock.ts";
import type { Child } from "hono/jsx";
import { MAX_LIFE_DAYS, MAX_OVERLAP_SECONDS } from "../../../domain/access/keys/key_record.ts";
import { Fields, formView } from "../components/fields.tsx";
import { actionButton, buttonLink } from "../components/forms.tsx";
import { actionsColumn, choice, listView, search, text, timeColumn } from "../components/list.tsx";
import { Card, Empty } from "../components/notice.tsx";
import type { Column } from "../components/table.tsx";
import { Person, userNames } from "../components/user_names.tsx";
import { Badge, bulletList, CodeBlock, Time } from "../components/values.tsx";
import { actionsOf, formPage, sendTo } from "../shared/actions.ts";
import { tenantNames } from "../shared/access_queries.ts";
import { translateBuiltin } from "../shared/translations.ts";
import type { Row } from "../shared/operations.ts";
import { type ConsolePage, field, may, mayInFiles, type View, type Visit } from "../shared/page.ts";
import { shownOnce } from "./shown_once.tsx";
import { accountTexts, integrationTexts, keyTexts } from "./texts.ts";

type Account = Row<"listServiceAccounts">;
/** The row of an API key or of a service account. */
type Key = Row<"listApiKeys"> | Account;

/** API keys and service accounts have the same pages, which differ in this. */
interface KeyKind {
  path: "api-keys" | "service-accounts";
  texts: typeof keyTexts;
  /** One of them in the ids of its operations, such as `createApiKey`. */
  one: "ApiKey" | "ServiceAccount";
  /** The headers of a request with the secret. */
  headers: string;
  /** The values of the form of a new one. */
  values: Record<string, unknown>;
  /** The input for the tenants, and the member of the body that it gives. */
  tenants?: { input(f: Fields): Child; in(v: Visit, form: FormData): { tenants: "all" | string[] } };
  columns?(v: Visit, keys: Key[]): Promise<Column<Key>[]>;
  mayRotate(v: Visit, key: Key): boolean;
}

const apiKeys: KeyKind = {
  path: "api-keys",
  texts: keyTexts,
  one: "ApiKey",
  headers: "Authorization: Bearer …",
  values: { days: 90 },
  mayRotate: (v, { createdBy }) => createdBy === v.viewer.userId,
};

const serviceAccounts: KeyKind = {
  path: "service-accounts",
  texts: accountTexts,
  one: "ServiceAccount",
  headers: "Authorization: Bearer …\nX-Tenant-ID: …",
  values: { reach: "own", days: 0 },
  tenants: {
    input(f) {
      const t = integrationTexts[f.v.locale];
      const reaches = [{ value: "own", label: t.thisTenant }];
      if (may(f.v.viewer, "admin:system")) reaches.push({ value: "all", label: t.allTenants });
      return f.select("reach", t.actsIn, reaches, { errors: f.errorsOf("tenants") });
    },
    in: (v, form) => ({ tenants: field(form, "reach") === "all" ? "all" : [v.viewer.tenant?.id ?? ""] }),
  },
  async columns(v, keys) {
    const some = (keys as Account[]).flatMap(({ tenants }) => tenants === "all" ? [] : tenants.slice(0, 1));
    const names = await tenantNames(v, some);
    const { tenants } = integrationTexts[v.locale];
    return [{ head: tenants, cell: (row) => tenantsOf(v, row as Account, names) }];
  },
  mayRotate: () => true,
};

const DAYS = { type: "number", min: 1, max: 3650 } as const;

/** The API keys of the tenant, or the service accounts that the viewer manages. */
async function listKeys(v: Visit, kind: KeyKind): Promise<View> {
  const t = integrationTexts[v.locale];
  const k = kind.texts[v.locale];
  const { path } = kind;
  return await listView(v, `list${kind.one}s` as const, {
    title: k.title,
    actions: buttonLink(`${path}/new`, k.add, { icon: "plus", tone: "primary" }),
    query: keyOrder(v),
    caption: k.caption,
    empty: [k.none, k.noneText],
    filters: [
      search(t.search),
      text("unusedForDays", t.unusedForDays, DAYS),
      text("expiresWithinDays", t.expiresWithinDays, DAYS),
      choice("includeDeleted", t.show, { true: t.withRevoked }, t.withoutRevoked),
    ],
    columns: async (keys) => {
      const people = await userNames(v, keys.map(({ createdBy }) => createdBy));
      return [
        {
          head: t.name,
          sort: "name",
          cell: ({ name }) => name,
          below: [[t.beginsWith, ({ start }) => <code>{start}…</code>]],
        },
        {
          head: t.permissions,
          cell: ({ permissions }) => (
            <details>
              <summary>{t.permissionCount(permissions.length)}</summary>
              {bulletList(permissions, (code) => <code>{code}</code>)}
            </details>
          ),
          csv: ({ permissions }) => permissions.join(" "),
        },
        ...await kind.columns?.(v, keys) ?? [],
        {
          head: t.status,
          cell: (key) => <KeyStatus v={v} row={key} />,
          below: [[t.formerUntil, ({ formerSecretUntil, ...key }) =>
            formerSecretUntil && !hasEnded(v, key) &&
            [!v.collect && `${t.formerUntil} `, <Time v={v} at={formerSecretUntil} />]]],
        },
        timeColumn(v, t.created, "createdAt", {
          sort: "createdAt",
          below: [[
            t.createdBy,
            ({ createdBy }) => createdBy && <Person v={v} names={people} id={createdBy} />,
          ]],
          wideOnly: true,
        }),
        { head: t.expires, cell: ({ expiresAt }) => expiresAt ? <Time v={v} at={expiresAt} /> : t.never },
        {
          head: t.lastUsed,
          sort: "lastUsedAt",
          cell: ({ lastUsedAt }) => lastUsedAt ? <Time v={v} at={lastUsedAt} /> : t.never,
          below: [[t.address, ({ lastUsedIp }) => lastUsedIp]],
        },
        actionsColumn<Key>(v, (key) =>
          !key.revokedAt && [
            kind.mayRotate(v, key) && buttonLink(`${path}/${key.id}/rotate`, t.newSecret),
            actionButton(v, `${path}/${key.id}/revoke`, t.revoke, {
              tone: "danger",
              confirm: k.revokeConfirm(key.name),
            }),
          ]),
      ];
    },
  });
}

/** The order of a list of keys; newest first if the address names none. */
export const keyOrder = ({ query }: Visit) => ({
  sortBy: query.get("sortBy") ?? "createdAt",
  sortDirection: query.get("sortDirection") ?? "Descending",
});

const hasEnded = ({ now }: Visit, { revokedAt, expiresAt }: Pick<Key, "revokedAt" | "expiresAt">): boolean =>
  revokedAt !== null || (expiresAt !== null && new Date(expiresAt) <= now);

function KeyStatus({ v, row }: { v: Visit; row: Key }) {
  const t = integrationTexts[v.locale];
  if (!hasEnded(v, row)) return <Badge tone="ok">{t.active}</Badge>;
  return row.revokedAt ? <Badge tone="bad">{t.revoked}</Badge> : <Badge tone="idle">{t.expired}</Badge>;
}

function tenantsOf(v: Visit, { tenants }: Account, names: Map<string, string>): string {
  const t = integrationTexts[v.locale];
  if (tenants === "all") return t.allTenants;
  const [first = ""] = tenants;
  if (tenants.length === 1 && first === v.viewer.tenant?.id) return t.thisTenant;
  return tenants.length === 1 && names.get(first) || t.tenantCount(tenants.length);
}

/** Creates a key and shows its secret. It is not shown again. */
const newKeyPage = (kind: KeyKind) =>
  formPage({
    path: `${kind.path}/new`,
    async show(v, sent) {
      const t = integrationTexts[v.locale];
      const k = kind.texts[v.locale];
      const groups = await givablePermissions(v);
      const f = new Fields(v, sent, `create${kind.one}`, kind.values);
      const days = VALID_DAYS.map((days) => ({ value: String(days), label: t.days(days) }));
      if (groups.length === 0) {
        return { title: k.add, body: <Empty icon="keys" title={t.noPermissions} /> };
      }
      return formView(f, {
        title: k.add,
        submit: k.create,
        stacked: true,
        inputs: [
          <Card>
            <div class="pair">
              {f.text("name", t.name, { hint: k.nameHint })}
              {kind.tenants?.input(f)}
              {f.select("days", t.validity, [...days, { value: "0", label: t.untilRevoked }], {
                errors: f.errorsOf("expiresAt"),
              })}
            </div>
          </Card>,
          <PermissionCard f={f} groups={groups} hint={k.permissionsHint} />,
        ],
      });
    },
    send: sendTo(
      `create${kind.one}` as const,
      (form, v) => ({
        name: field(form, "name"),
        permissions: form.getAll("permissions").map(String),
        expiresAt: expiryOf(v, form),
        ...kind.tenants?.in(v, form),
      }),
      (v, made) => showSecret(v, kind, kind.texts[v.locale].wasCreated, secretIn(made)),
    ),
  });

const VALID_DAYS = [30, 90, 365];

function expiryOf({ now }: Visit, form: FormData): string | null {
  const days = Math.min(Number(field(form, "days")), MAX_LIFE_DAYS + 1);
  return days > 0 ? new Date(now.getTime() + days * DAY_MS).toISOString() : null;
}

type PermissionGroups = [category: string, permissions: { code: string; hint: string | null }[]][];

/** The permissions that the viewer may give to a key: those they hold, directly or through admin:system. */
async function givablePermissions(v: Visit): Promise<PermissionGroups> {
  const { viewer, locale } = v;
  const known = may(viewer, "read:permissions")
    ? (await v.api.call("listPermissions", { query: { pageSize: 100 } })).items
    : [];
  const knownCodes = new Set(known.map(({ code }) => code));
  const others = [...viewer.permissions].filter((code) => !knownCodes.has(code))
    .map((code) => ({ code, category: integrationTexts[locale].otherPermissions, description: null }));
  const givable = [...known, ...others]
    .filter(({ code }) => code.endsWith(":files") ? mayInFiles(viewer, code) : may(viewer, code))
    .map(({ code, category, description }) => ({
      code,
      category: translateBuiltin(locale, category),
      hint: translateBuiltin(locale, description),
    }));
  return [...Map.groupBy(givable, ({ category }) => category)];
}

/** The permissions of a new key, as check boxes by category. */
function PermissionCard({ f, groups, hint }: { f: Fields; groups: PermissionGroups; hint: string }) {
  const errors = f.errorsOf("permissions");
  return (
    <Card title={integrationTexts[f.v.locale].permissions}>
      <p class="muted">{hint}</p>
      {errors && <p class="error">{errors.join(" ")}</p>}
      <div class="grid-3">
        {groups.map(([category, group]) => (
          <fieldset>
            <legend>{category}</legend>
            {f.choices("permissions", group.map(({ code, hint }) => ({ value: code, hint })))}
          </fieldset>
        ))}
      </div>
    </Card>
  );
}

const HOUR_SECONDS = 3_600;

/** The page that gives a key a new secret, and asks how long the former one stays good. */
const rotatePage = (kind: KeyKind) =>
  formPage({
    path: `${kind.path}/{id}/rotate`,
    async show(v, sent) {
      const t = integrationTexts[v.locale];
      const { name } = await v.api.act(`read${kind.one}` as const, v);
      const f = new Fields(v, sent, `rotate${kind.one}`, { overlapSeconds: 0 });
      const overlaps = [
        { value: "0", label: t.endsAtOnce },
        { value: String(HOUR_SECONDS), label: t.hours(1) },
        { value: String(24 * HOUR_SECONDS), label: t.hours(24) },
        { value: String(MAX_OVERLAP_SECONDS), label: t.days(7) },
      ];
      return formView(f, {
        title: t.newSecretOf(name),
        submit: t.createSecret,
        stacked: true,
        inputs: <Card>{f.select("overlapSeconds", t.overlap, overlaps, { hint: t.overlapHint })}</Card>,
      });
    },
    send: sendTo(
      `rotate${kind.one}` as const,
      (form) => ({ overlapSeconds: Number(field(form, "overlapSeconds")) }),
      (v, made) => showSecret(v, kind, integrationTexts[v.locale].secretCreated, secretIn(made)),
    ),
  });

function showSecret(v: Visit, { path, texts, headers }: KeyKind, title: string, secret: string): View {
  const { keyUse } = integrationTexts[v.locale];
  const k = texts[v.locale];
  const more = [<p class="muted">{keyUse}</p>, <CodeBlock label={keyUse}>{headers}</CodeBlock>];
  return shownOnce(v, { title, secret, label: k.secret, back: { href: path, label: k.back }, more });
}

const secretIn = (made: { key: string } | { secret: string }) => "key" in made ? made.key : made.secret;

const pagesOf = (kind: KeyKind): ConsolePage[] => [
  { path: kind.path, get: (v) => listKeys(v, kind) },
  newKeyPage(kind),
  rotatePage(kind),
  ...actionsOf(`${kind.path}/{id}`, kind.texts, { revoke: [`revoke${kind.one}`, "wasRevoked", kind.path] }),
];

export const keyPages = pagesOf(apiKeys);
export const accountPages = pagesOf(serviceAccounts);
