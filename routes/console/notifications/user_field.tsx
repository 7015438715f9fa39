import { fragment } from "../components/fragment.ts";
import { SEARCH_LENGTH } from "../components/forms.tsx";
import type { Outcome, Visit } from "../shared/page.ts";
import { type ChosenUser, chosenUsers, userValue } from "./send_fields.ts";
import { notificationTexts } from "./texts.ts";

const SHOWN = 8;

/** A search field for users of the tenant, with the selected users. */
export function UserField({ v, chosen }: { v: Visit; chosen: ChosenUser[] }) {
  const t = notificationTexts[v.locale];
  return (
    <div class="field">
      <label for="f-person">{t.users}</label>
      {/* belongs to no form, so that Enter submits nothing */}
      <input
        id="f-person"
        type="search"
        name="person"
        maxlength={SEARCH_LENGTH}
        form="no-form"
        autocomplete="off"
        placeholder={t.findUsers}
        aria-describedby="f-person-hint"
        hx-get="notifications/people"
        hx-trigger="input changed delay:300ms"
        hx-include="#people"
        hx-target="#people"
      />
      <div class="hint" id="f-person-hint">{t.usersHint}</div>
      <div id="people" role="group" aria-label={t.users} aria-live="polite">
        <UserChecks users={chosen} ticked />
      </div>
    </div>
  );
}

/** Search results for `UserField`: the selected users, then those found. */
export async function userSearchPage(v: Visit): Promise<Outcome> {
  const t = notificationTexts[v.locale];
  const chosen = chosenUsers(v.query.getAll("userIds"));
  const search = v.query.get("person")?.trim() ?? "";
  const { items } = search === ""
    ? { items: [] }
    : await v.api.call("listUsers", { query: { search, pageSize: SHOWN, isActive: true } });
  const found = items.filter(({ id }) => !chosen.some((user) => user.id === id))
    .map(({ id, email, firstName, lastName }) => ({
      id,
      label: `${`${firstName} ${lastName}`.trim()} <${email}>`.trim(),
    }));
  return await fragment(
    <>
      <UserChecks users={chosen} ticked />
      <UserChecks users={found} />
      {search !== "" && items.length === 0 && <p class="muted">{t.noUsersFound}</p>}
    </>,
  );
}

const UserChecks = ({ users, ticked = false }: { users: ChosenUser[]; ticked?: boolean }) => (
  <>
    {users.map((user) => (
      <label class="row">
        <input type="checkbox" name="userIds" value={userValue(user)} checked={ticked} />
        <span class="break">{user.label}</span>
      </label>
    ))}
  </>
);
