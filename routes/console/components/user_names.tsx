import { Card } from "./notice.tsx";
import { bulletList, CopyValue, shortId } from "./values.tsx";
import { type FoundUser, managesAllUsers, userName } from "../shared/access_queries.ts";
import { defineTexts } from "../shared/languages.ts";
import { orNull } from "../shared/api.ts";
import { may, type Visit } from "../shared/page.ts";

/** The most users that one page looks up. */
const MOST = 50;

/** Names of users by id: the viewer, and those that the viewer may read. */
export async function userNames(v: Visit, ids: (string | null)[]): Promise<Map<string, string>> {
  const own: [string, string] = [v.viewer.userId, v.viewer.name || v.viewer.email];
  const reading = managesAllUsers(v) ? "readUserAnywhere" : "readUser";
  const wanted = managesAllUsers(v) || may(v.viewer, "read:users") && v.viewer.tenant !== null
    ? [...new Set(ids)].filter((id) => id !== null && id !== v.viewer.userId).slice(0, MOST) as string[]
    : [];
  const users = await Promise.all(wanted.map((id) => orNull(v.api.call(reading, { params: { id } }))));
  const found = users.flatMap((user): [string, string][] => user ? [[user.id, userName(user)]] : []);
  return new Map([own, ...found]);
}

/** A user by name, with a link if the viewer may read users; by the end of the id if the name is not known. */
export function Person({ v, names, id }: { v: Visit; names: Map<string, string>; id: string }) {
  const name = names.get(id);
  if (name === undefined) return <CopyValue v={v} value={id} shown={shortId(id)} />;
  return may(v.viewer, "read:users") && v.viewer.tenant !== null
    ? <a href={`users/${id}`}>{name}</a>
    : <>{name}</>;
}

const texts = defineTexts({ whichUser: ["Which of these people?", "Qual destas pessoas?"] });

/** A card that asks which of the users that match a text is meant. `addressOf` one leads on. */
export function WhichUser({ v, users, addressOf }: {
  v: Visit;
  users: FoundUser[];
  addressOf: (user: FoundUser) => string;
}) {
  const { whichUser } = texts[v.locale];
  return (
    <Card title={whichUser}>
      {bulletList(users, (user) => (
        <>
          <a href={addressOf(user)}>{userName(user)}</a> <span class="muted">{user.email}</span>
        </>
      ), { look: "bare-list", label: whichUser })}
    </Card>
  );
}
