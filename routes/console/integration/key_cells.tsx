import { choice, search, timeColumn } from "../components/list.tsx";
import type { Column } from "../components/table.tsx";
import { Time } from "../components/values.tsx";
import { commonTexts } from "../shared/common_texts.ts";
import type { Row } from "../shared/operations.ts";
import type { Visit } from "../shared/page.ts";
import { PermissionList } from "./key_permissions.tsx";
import { integrationTexts } from "./texts.ts";

/** The row of an API key or of a service account. */
type Key = Pick<
  Row<"listApiKeys">,
  "name" | "start" | "permissions" | "createdAt" | "lastUsedAt" | "lastUsedIp"
>;

/** The order of a list of keys; newest first if the address names none. */
export const keyOrder = ({ query }: Visit) => ({
  sortBy: query.get("sortBy") ?? "createdAt",
  sortDirection: query.get("sortDirection") ?? "Descending",
});

export function keyFilters({ locale }: Visit) {
  const t = integrationTexts[locale];
  return [search(t.search), choice("includeDeleted", t.show, { true: t.withRevoked }, t.withoutRevoked)];
}

/** The columns that lists of API keys and of service accounts share. */
export function keyColumns(v: Visit) {
  const t = integrationTexts[v.locale];
  const name: Column<Key> = {
    head: t.name,
    sort: "name",
    cell: ({ name, start }) => <KeyName name={name} start={start} />,
  };
  const permissions: Column<Key> = {
    head: t.permissions,
    cell: ({ permissions }) => <PermissionList v={v} codes={permissions} />,
  };
  const lastUse: Column<Key> = {
    head: t.lastUsed,
    sort: "lastUsedAt",
    cell: ({ lastUsedAt, lastUsedIp }) => <LastUse v={v} at={lastUsedAt} ip={lastUsedIp} />,
  };
  const created = timeColumn<Key>(v, t.created, "createdAt", { sort: "createdAt", wideOnly: true });
  return { name, permissions, created, lastUse };
}

/** The name of a key with the characters that its secret starts with. */
function KeyName({ name, start }: { name: string; start: string }) {
  return (
    <>
      {name}
      <span class="sub">
        <code>{start}…</code>
      </span>
    </>
  );
}

/** The time and the address of the last use of a key. */
function LastUse({ v, at, ip }: { v: Visit; at: string | null; ip: string | null }) {
  if (!at) return <>{commonTexts[v.locale].never}</>;
  return (
    <>
      <Time v={v} at={at} />
      {ip && <span class="sub">{ip}</span>}
    </>
  );
}
