import type { ConsolePage, Visit } from "../../shared/page.ts";
import { reachesUsers } from "../reading.ts";
import { attempt } from "../refusals.tsx";
import { userPage } from "./detail.tsx";
import { createUser, editUserPage, newUserPage, saveUser } from "./form.tsx";
import { addLink, linksPage, newLinkPage, saveLinks } from "./links.tsx";
import { changeTicked, setActive, usersPage } from "./list.tsx";
import { type AnyUser, usersPath } from "./model.tsx";
import { bringIn, bringInPage, ownRolesPage, saveOwnRoles } from "./roles.tsx";
import { userTexts } from "./texts.ts";

const EVERYWHERE = "manage:all-users";
const CHANGE = ["update:users", EVERYWHERE];
const page = (v: Visit) => `users/${v.params.id}`;

const activation = (verb: "activate" | "deactivate"): ConsolePage => ({
  path: `users/{id}/${verb}`,
  permissions: CHANGE,
  async post(v) {
    const done = userTexts[v.locale][verb === "activate" ? "activated" : "deactivated"];
    return await attempt(
      v,
      { back: page(v), done },
      () => setActive(v, v.params.id ?? "", verb === "activate"),
    );
  },
});

/** Users, their links and roles, and how they are signed in. */
export const usersPages: ConsolePage[] = [
  { path: "users", permissions: ["read:users", EVERYWHERE], get: usersPage },
  {
    path: "users/new",
    permissions: ["create:users", EVERYWHERE],
    get: (v) => newUserPage(v),
    post: createUser,
  },
  { path: "users/bring-in", permissions: ["create:users"], get: (v) => bringInPage(v), post: bringIn },
  { path: "users/bulk", permissions: CHANGE, post: changeTicked },
  { path: "users/{id}", permissions: ["read:users", EVERYWHERE], get: userPage },
  { path: "users/{id}/edit", permissions: CHANGE, get: (v) => editUserPage(v), post: saveUser },
  {
    path: "users/{id}/roles",
    permissions: ["update:users"],
    get: (v) => ownRolesPage(v),
    post: saveOwnRoles,
  },
  { path: "users/{id}/links", permissions: [EVERYWHERE], get: (v) => linksPage(v), post: saveLinks },
  { path: "users/{id}/links/new", permissions: [EVERYWHERE], get: (v) => newLinkPage(v), post: addLink },
  activation("activate"),
  activation("deactivate"),
  {
    path: "users/{id}/unlock",
    permissions: [EVERYWHERE],
    post: async (v) =>
      await attempt(
        v,
        { back: page(v), done: userTexts[v.locale].unlocked },
        () => v.api.send("POST", `admin/users/${v.params.id}/unlock`),
      ),
  },
  {
    path: "users/{id}/sessions/end-all",
    permissions: [EVERYWHERE],
    async post(v) {
      const { ended } = await v.api.send<{ ended: number }>("DELETE", `admin/users/${v.params.id}/sessions`);
      return { goTo: page(v), flash: { tone: "ok", text: userTexts[v.locale].allEnded(ended) } };
    },
  },
  {
    path: "users/{id}/sessions/{sessionId}/end",
    permissions: [EVERYWHERE],
    post: async (v) =>
      await attempt(
        v,
        { back: page(v), done: userTexts[v.locale].sessionEnded },
        () => v.api.send("DELETE", `admin/users/${v.params.id}/sessions/${v.params.sessionId}`),
      ),
  },
  {
    path: "users/{id}/delete",
    permissions: ["delete:users", EVERYWHERE],
    async post(v) {
      const t = userTexts[v.locale];
      const at = `${usersPath(v)}/${v.params.id}`;
      const { email } = await v.api.get<AnyUser>(at);
      const done = reachesUsers(v) ? t.deleted(email) : t.removed(email);
      return await attempt(v, { back: page(v), done, goTo: "users" }, () => v.api.send("DELETE", at));
    },
  },
];
