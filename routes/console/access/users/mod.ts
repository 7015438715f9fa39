import type { ConsolePage, Visit } from "../../shared/page.ts";
import { managesAllUsers } from "../access_queries.ts";
import { runAction } from "../actions.ts";
import { userPage } from "./detail.tsx";
import { createUser, editUserPage, newUserPage, saveUser } from "./form.tsx";
import { addLink, linksPage, newLinkPage, saveLinks } from "./links.tsx";
import { changeSelected, setActive, usersPage } from "./list.tsx";
import { type AnyUser, usersPath } from "./model.tsx";
import { addExistingUser, addExistingUserPage, ownRolesPage, saveOwnRoles } from "./roles.tsx";
import { userTexts } from "./texts.ts";

const ALL_USERS = "manage:all-users";
const CHANGE = ["update:users", ALL_USERS];
const page = (v: Visit) => `users/${v.params.id}`;

const activation = (verb: "activate" | "deactivate"): ConsolePage => ({
  path: `users/{id}/${verb}`,
  permissions: CHANGE,
  async post(v) {
    const done = userTexts[v.locale][verb === "activate" ? "activated" : "deactivated"];
    return await runAction(
      { back: page(v), done },
      () => setActive(v, v.params.id ?? "", verb === "activate"),
    );
  },
});

/** Pages of users, their tenants, roles and sessions. */
export const usersPages: ConsolePage[] = [
  { path: "users", permissions: ["read:users", ALL_USERS], get: usersPage },
  {
    path: "users/new",
    permissions: ["create:users", ALL_USERS],
    get: (v) => newUserPage(v),
    post: createUser,
  },
  {
    path: "users/bring-in",
    permissions: ["create:users"],
    get: (v) => addExistingUserPage(v),
    post: addExistingUser,
  },
  { path: "users/bulk", permissions: CHANGE, post: changeSelected },
  { path: "users/{id}", permissions: ["read:users", ALL_USERS], get: userPage },
  { path: "users/{id}/edit", permissions: CHANGE, get: (v) => editUserPage(v), post: saveUser },
  {
    path: "users/{id}/roles",
    permissions: ["update:users"],
    get: (v) => ownRolesPage(v),
    post: saveOwnRoles,
  },
  { path: "users/{id}/links", permissions: [ALL_USERS], get: (v) => linksPage(v), post: saveLinks },
  { path: "users/{id}/links/new", permissions: [ALL_USERS], get: (v) => newLinkPage(v), post: addLink },
  activation("activate"),
  activation("deactivate"),
  {
    path: "users/{id}/unlock",
    permissions: [ALL_USERS],
    post: async (v) =>
      await runAction(
        { back: page(v), done: userTexts[v.locale].unlocked },
        () => v.api.send("POST", `admin/users/${v.params.id}/unlock`),
      ),
  },
  {
    path: "users/{id}/sessions/end-all",
    permissions: [ALL_USERS],
    async post(v) {
      const { ended } = await v.api.send<{ ended: number }>("DELETE", `admin/users/${v.params.id}/sessions`);
      return { goTo: page(v), flash: { tone: "ok", text: userTexts[v.locale].allEnded(ended) } };
    },
  },
  {
    path: "users/{id}/sessions/{sessionId}/end",
    permissions: [ALL_USERS],
    post: async (v) =>
      await runAction(
        { back: page(v), done: userTexts[v.locale].sessionEnded },
        () => v.api.send("DELETE", `admin/users/${v.params.id}/sessions/${v.params.sessionId}`),
      ),
  },
  {
    path: "users/{id}/delete",
    permissions: ["delete:users", ALL_USERS],
    async post(v) {
      const t = userTexts[v.locale];
      const at = `${usersPath(v)}/${v.params.id}`;
      const { email } = await v.api.get<AnyUser>(at);
      const done = managesAllUsers(v) ? t.wasDeleted(email) : t.wasRemoved(email);
      return await runAction({ back: page(v), done, goTo: "users" }, () => v.api.send("DELETE", at));
    },
  },
];
