import { MAX_LIFE_DAYS, MAX_OVERLAP_SECONDS } from "../../../domain/access/keys/key_record.ts";
import { Fields, Form } from "../components/fields.tsx";
import { choice, search, text, timeColumn } from "../components/list.tsx";
import { Card } from "../components/notice.tsx";
import type { Column } from "../components/table.tsx";
import { Badge, Time } from "../components/values.tsx";
import { formPage } from "../shared/actions.ts";
import { translateBuiltin } from "../shared/builtin_translations.ts";
import { commonTexts } from "../shared/common_texts.ts";
import type { Row } from "../shared/operations.ts";
import { field, may, mayInFiles, type Outcome, type Visit } from "../shared/page.ts";
import { integrationTexts } from "./texts.ts";

/** The row of an API key or of a service account. */
type Key = Row<"listApiKeys"> | Row<"listServiceAccounts">;

const DAY_MS = 86_400_000;
const VALID_DAYS = [30, 90, 365];

/** The order of a list of keys; newest first if the address names none. */
export const keyOrder = ({ query }: Visit) => ({
  sortBy: query.get("sortBy") ?? "createdAt",
  sortDirection: query.get("sortDirection") ?? "Descending",
});

export function keyFilters({ locale }: Visit) {
  const t = integrationTexts[locale];
  const days = { type: "number", min: 1, max: 3650 } as const;
  return [
    search(t.search),
    text("unusedForDays", t.unusedForDays, days),
    text("expiresWithinDays", t.expiresWithinDays, days),
    choice("includeDeleted", t.show, { true: t.withRevoked }, t.withoutRevoked),
  ];
}

/** The columns that lists of API keys and of service accounts share. */
export function keyColumns(v: Visit) {
  const t = integrationTexts[v.locale];
  const name: Column<Key> = {
    head: t.name,
    sort: "name",
    cell: ({ name }) => name,
    below: [[t.beginsWith, ({ start }) => <code>{start}…</code>]],
  };
  const permissions: Column<Key> = {
    head: t.permissions,
    cell: ({ permissions }) => <PermissionList v={v} codes={permissions} />,
    csv: ({ permissions }) => permissions.join(" "),
  };
  const lastUse: Column<Key> = {
    head: t.lastUsed,
    sort: "lastUsedAt",
    cell: ({ lastUsedAt }) => lastUsedAt ? <Time v={v} at={lastUsedAt} /> : commonTexts[v.locale].never,
    below: [[t.address, ({ lastUsedIp }) => lastUsedIp]],
  };
  const created = timeColumn<Key>(v, t.created, "createdAt", { sort: "createdAt", wideOnly: true });
  const status: Column<Key> = {
    head: t.status,
    cell: (key) => <KeyStatus v={v} row={key} />,
    below: [[t.formerUntil, ({ formerSecretUntil, ...key }) =>
      formerSecretUntil && !hasEnded(v, key) &&
      (
        <>
          {!v.collect && t.formerUntil} <Time v={v} at={formerSecretUntil} />
        </>
      )]],
  };
  const expires: Column<Key> = {
    head: t.expires,
    cell: ({ expiresAt }) => expiresAt ? <Time v={v} at={expiresAt} /> : commonTexts[v.locale].never,
  };
  return { name, permissions, status, created, expires, lastUse };
}

const hasEnded = ({ now }: Visit, { revokedAt, expiresAt }: Pick<Key, "revokedAt" | "expiresAt">): boolean =>
  revokedAt !== null || (expiresAt !== null && new Date(expiresAt) <= now);

function KeyStatus({ v, row }: { v: Visit; row: Key }) {
  const t = integrationTexts[v.locale];
  if (!hasEnded(v, row)) return <Badge tone="ok">{t.active}</Badge>;
  return row.revokedAt ? <Badge tone="bad">{t.revoked}</Badge> : <Badge tone="idle">{t.expired}</Badge>;
}

/** The input of the lifetime of a new key. `expiryOf` reads it. */
export function validityField(v: Visit, f: Fields) {
  const t = integrationTexts[v.locale];
  const days = VALID_DAYS.map((days) => ({ value: String(days), label: t.days(days) }));
  return f.select("days", t.validity, [...days, { value: "0", label: t.untilRevoked }], {
    errors: f.errorsOf("expiresAt"),
  });
}

export function expiryOf({ now }: Visit, form: FormData): string | null {
  const days = Math.min(Number(field(form, "days")), MAX_LIFE_DAYS + 1);
  return days > 0 ? new Date(now.getTime() + days * DAY_MS).toISOString() : null;
}

interface GivablePermission {
  code: string;
  category: string;
  hint: string | null;
}

/** Permissions by category. */
type PermissionGroups = [category: string, permissions: GivablePermission[]][];

/** The permissions that the viewer may give to a key: those they hold, directly or through admin:system. */
export async function givablePermissions(v: Visit): Promise<PermissionGroups> {
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
export function PermissionCard({ v, fields: f, groups, hint }: {
  v: Visit;
  fields: Fields;
  groups: PermissionGroups;
  hint: string;
}) {
  const t = integrationTexts[v.locale];
  const errors = f.errorsOf("permissions");
  return (
    <Card title={t.permissions}>
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

/** The permissions of a key, folded to their number. */
const PermissionList = ({ v, codes }: { v: Visit; codes: string[] }) => (
  <details>
    <summary>{integrationTexts[v.locale].permissionCount(codes.length)}</summary>
    <ul>
      {codes.map((code) => (
        <li>
          <code>{code}</code>
        </li>
      ))}
    </ul>
  </details>
);

const HOUR_SECONDS = 3_600;

/** The page that gives an API key or service account a new secret, and asks how long the former one stays good. */
export const rotatePage = (path: "api-keys" | "service-accounts", o: {
  operation: "rotateApiKey" | "rotateServiceAccount";
  list: "keys" | "accounts";
  read(v: Visit): Promise<{ name: string }>;
  rotate(v: Visit, body: { overlapSeconds: number }): Promise<Outcome>;
}) =>
  formPage({
    path: `${path}/{id}/rotate`,
    async show(v, sent) {
      const t = integrationTexts[v.locale];
      const { name } = await o.read(v);
      const f = new Fields(v, sent, o.operation, { overlapSeconds: 0 });
      const overlaps = [
        { value: "0", label: t.endsAtOnce },
        { value: String(HOUR_SECONDS), label: t.hours(1) },
        { value: String(24 * HOUR_SECONDS), label: t.hours(24) },
        { value: String(MAX_OVERLAP_SECONDS), label: t.days(7) },
      ];
      return {
        title: t.newSecretOf(name),
        crumbs: [{ href: path, label: t[o.list] }],
        body: (
          <Form fields={f} submit={t.createSecret} back={path} stacked>
            <Card>
              {f.select("overlapSeconds", t.overlap, overlaps, { hint: t.overlapHint })}
            </Card>
          </Form>
        ),
      };
    },
    send: (v, form) => o.rotate(v, { overlapSeconds: Number(field(form, "overlapSeconds")) }),
  });
