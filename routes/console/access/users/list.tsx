import { ButtonLink, CsrfField, FilterBar, SelectField, TextField } from "../../components/forms.tsx";
import { type Column, DataTable, EmptyList, LivePart, Pager, RowCheck } from "../../components/table.tsx";
import { Badge, Time } from "../../components/values.tsx";
import { orNull, type Page, Refusal } from "../../shared/api.ts";
import { commonTexts } from "../../shared/common_texts.ts";
import { field, may, type Outcome, type View, type Visit } from "../../shared/page.ts";
import { managesAllUsers, roleChoices, tenantChoices, tenantNames } from "../access_queries.ts";
import { type AnyUser, nameOf, usersPath, UserStatus } from "./model.tsx";
import { userTexts } from "./texts.ts";

const FILTERS = [
  "search",
  "isActive",
  "isLockedOut",
  "roleName",
  "tenantId",
  "sortBy",
  "sortDirection",
] as const;
const BULK = "users-bulk";

/** Users of the viewer's tenant, or of all tenants if the viewer manages all users. */
export async function usersPage(v: Visit): Promise<View> {
  const t = userTexts[v.locale];
  const s = commonTexts[v.locale];
  const everywhere = managesAllUsers(v);
  const filters = Object.fromEntries(FILTERS.map((name) => [name, v.query.get(name)]));
  const { tenantId, ...scoped } = filters;
  const page = await v.api.get<Page<AnyUser>>(usersPath(v), {
    ...everywhere ? filters : scoped,
    page: v.query.get("page"),
  });
  const [tenants, names, roles] = await Promise.all([
    everywhere ? tenantChoices(v) : [],
    everywhere
      ? tenantNames(v, [
        ...page.items.flatMap(({ tenants }) => tenants ?? []).map((l) => l.tenantId),
        tenantId ?? null,
      ])
      : new Map<string, string>(),
    roleNames(v, tenantId || null),
  ]);
  const listed = tenants.map(({ id, name }) => ({ value: id, label: name }));
  const chosen = tenantId && !listed.some(({ value }) => value === tenantId)
    ? [{ value: tenantId, label: names.get(tenantId) ?? tenantId }]
    : [];
  const mayChange = everywhere || may(v.viewer, "update:users");
  return {
    title: t.users,
    actions: (everywhere || may(v.viewer, "create:users")) && (
      <>
        {!everywhere && <ButtonLink href="users/bring-in" label={t.addExisting} />}
        <ButtonLink href="users/new" label={t.newUser} icon="plus" tone="primary" />
      </>
    ),
    body: (
      <>
        <FilterBar v={v} action="users" target="users-list">
          <TextField label={t.search} name="search" type="search" value={filters.search} />
          <SelectField
            label={t.status}
            name="isActive"
            any={s.all}
            value={filters.isActive}
            choices={[{ value: "true", label: t.active }, { value: "false", label: t.inactive }]}
          />
          <SelectField
            label={t.lockStatus}
            name="isLockedOut"
            any={s.all}
            value={filters.isLockedOut}
            choices={[{ value: "true", label: t.locked }, { value: "false", label: t.notLocked }]}
          />
          <TextField
            label={t.role}
            name="roleName"
            value={filters.roleName}
            list="role-names"
            maxlength={200}
          />
          <datalist id="role-names">{roles.map((name) => <option value={name} />)}</datalist>
          {everywhere && listed.length + chosen.length > 0 && (
            <SelectField
              label={t.tenant}
              name="tenantId"
              any={t.allTenants}
              value={tenantId}
              choices={[...chosen, ...listed]}
            />
          )}
        </FilterBar>
        <LivePart v={v} id="users-list">
          {mayChange && page.items.length > 0 && <BulkBar v={v} />}
          <DataTable
            caption={t.users}
            columns={columns(v, names, mayChange)}
            rows={page.items}
            sorting={{ v, path: "users" }}
            empty={<EmptyList v={v} icon="users" text={t.empty}>{t.emptyText}</EmptyList>}
          />
          <Pager v={v} path="users" page={page} />
        </LivePart>
      </>
    ),
  };
}

/** Suggestions for the role filter: the role names of one tenant. */
async function roleNames(v: Visit, tenantId: string | null): Promise<string[]> {
  const where = tenantId ?? v.viewer.tenant?.id;
  if (!where) return [];
  const roles = await orNull(roleChoices(v, where));
  return (roles ?? []).map(({ name }) => name);
}

function columns(v: Visit, names: Map<string, string>, ticks: boolean): Column<AnyUser>[] {
  const t = userTexts[v.locale];
  return [
    {
      head: t.user,
      sort: "email",
      cell: (user) =>
        ticks
          ? (
            <div class="row-choice">
              <RowCheck form={BULK} value={user.id} label={t.select(user.email)} />
              <UserName v={v} user={user} />
            </div>
          )
          : <UserName v={v} user={user} />,
    },
    { head: t.status, cell: (user) => <UserStatus v={v} user={user} /> },
    managesAllUsers(v)
      ? { head: t.tenants, cell: ({ tenants = [] }) => <Tenants v={v} links={tenants} names={names} /> }
      : {
        head: t.roles,
        cell: ({ roles = [] }) =>
          roles.length > 0 ? roles.join(", ") : <span class="muted">{t.noRoles}</span>,
      },
    ...managesAllUsers(v) ? [] : [{
      head: t.lastSignIn,
      sort: "lastLoginAt",
      cell: ({ lastLoginAt }: AnyUser) =>
        lastLoginAt
          ? <Time v={v} at={lastLoginAt} />
          : <span class="muted">{commonTexts[v.locale].never}</span>,
      wideOnly: true,
    }],
    {
      head: t.created,
      sort: "createdAt",
      cell: ({ createdAt }) => <Time v={v} at={createdAt} />,
      wideOnly: true,
    },
  ];
}

const UserName = ({ v, user }: { v: Visit; user: AnyUser }) => (
  <div>
    <a href={`users/${user.id}`}>{nameOf(user)}</a>{" "}
    {user.id === v.viewer.userId && <Badge tone="info">{userTexts[v.locale].isYou}</Badge>}
    {nameOf(user) !== user.email && <span class="sub">{user.email}</span>}
  </div>
);

function Tenants(
  { v, links, names }: { v: Visit; links: NonNullable<AnyUser["tenants"]>; names: Map<string, string> },
) {
  const t = userTexts[v.locale];
  if (links.length === 0) return <span class="muted">{t.noTenants}</span>;
  const named = links.flatMap(({ tenantId }) => names.get(tenantId) ?? []).slice(0, 3);
  const unnamed = links.length - named.length;
  if (named.length === 0) return <>{links.length}</>;
  return <>{named.join(", ")}{unnamed > 0 && <span class="muted">{` +${unnamed}`}</span>}</>;
}

function BulkBar({ v }: { v: Visit }) {
  const t = userTexts[v.locale];
  return (
    <form id={BULK} method="post" action="users/bulk" class="row">
      <CsrfField v={v} />
      <input type="checkbox" data-check-all aria-label={t.selectAll} id="check-all-users" />
      <span class="muted">{t.selected}</span>
      <button type="submit" class="button small" name="do" value="activate">{t.activate}</button>
      <button
        type="submit"
        class="button small danger"
        name="do"
        value="deactivate"
        data-confirm={t.bulkDeactivateConfirm}
      >
        {t.deactivate}
      </button>
    </form>
  );
}

/** Activates or deactivates the selected users one by one. An error for one user does not affect the others. */
export async function changeSelected(v: Visit, form: FormData): Promise<Outcome> {
  const t = userTexts[v.locale];
  const ids = form.getAll("id").map(String);
  const isActive = field(form, "do") === "activate";
  if (ids.length === 0) return { goTo: "users", flash: { tone: "bad", text: t.bulkNone } };
  const refusals: string[] = [];
  for (const id of ids) {
    try {
      await setActive(v, id, isActive);
    } catch (refusal) {
      if (!(refusal instanceof Refusal) || refusal.status === 401) throw refusal;
      refusals.push(refusal.text);
    }
  }
  const done = ids.length - refusals.length;
  return {
    goTo: "users",
    flash: refusals[0] === undefined
      ? { tone: "ok", text: t.bulkDone(done) }
      : { tone: "bad", text: t.bulkRefused(done, refusals.length, refusals[0]) },
  };
}

/** Activates or deactivates a user, through the API route that the viewer may use. */
export async function setActive(v: Visit, id: string, isActive: boolean): Promise<void> {
  if (managesAllUsers(v)) await v.api.send("PUT", `admin/users/${id}`, { isActive });
  else await v.api.send("POST", `users/${id}/${isActive ? "activate" : "deactivate"}`);
}
