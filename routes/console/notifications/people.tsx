import { fragment } from "../components/fragment.ts";
import { SEARCH_LENGTH } from "../components/forms.tsx";
import type { Page } from "../shared/api.ts";
import type { Outcome, Visit } from "../shared/page.ts";
import { chosenPeople, type Person, personValue } from "./send_fields.ts";
import { notificationTexts } from "./texts.ts";

interface User {
  id: string;
  email: string;
  firstName: string;
  lastName: string;
}

const SHOWN = 8;

/** A search for users of the tenant, and those chosen so far. */
export function PeopleField({ v, chosen }: { v: Visit; chosen: Person[] }) {
  const t = notificationTexts[v.locale];
  return (
    <div class="field">
      <label for="f-person">{t.people}</label>
      {/* of no form, so that Enter sends nothing */}
      <input
        id="f-person"
        type="search"
        name="person"
        maxlength={SEARCH_LENGTH}
        form="no-form"
        autocomplete="off"
        placeholder={t.findPeople}
        aria-describedby="f-person-hint"
        hx-get="notifications/people"
        hx-trigger="input changed delay:300ms"
        hx-include="#people"
        hx-target="#people"
      />
      <div class="hint" id="f-person-hint">{t.peopleHint}</div>
      <div id="people" role="group" aria-label={t.people} aria-live="polite">
        <Ticks people={chosen} ticked />
      </div>
    </div>
  );
}

/** Those chosen, then those the search finds. */
export async function peoplePage(v: Visit): Promise<Outcome> {
  const t = notificationTexts[v.locale];
  const chosen = chosenPeople(v.query.getAll("userIds"));
  const search = v.query.get("person")?.trim() ?? "";
  const { items } = search === ""
    ? { items: [] }
    : await v.api.get<Page<User>>("users", { search, pageSize: SHOWN, isActive: true });
  const found = items.filter(({ id }) => !chosen.some((person) => person.id === id))
    .map(({ id, email, firstName, lastName }) => ({
      id,
      label: `${`${firstName} ${lastName}`.trim()} <${email}>`.trim(),
    }));
  return await fragment(
    <>
      <Ticks people={chosen} ticked />
      <Ticks people={found} />
      {search !== "" && items.length === 0 && <p class="muted">{t.nobodyFound}</p>}
    </>,
  );
}

const Ticks = ({ people, ticked = false }: { people: Person[]; ticked?: boolean }) => (
  <>
    {people.map((person) => (
      <label class="row">
        <input type="checkbox" name="userIds" value={personValue(person)} checked={ticked} />
        <span class="break">{person.label}</span>
      </label>
    ))}
  </>
);
