import { done } from "../../shared/actions.ts";
import type { ConsolePage, Visit } from "../../shared/page.ts";
import { managesAllUsers } from "../access_queries.ts";
import { userPage } from "./detail.tsx";
import { importPages } from "./imports.tsx";
import { invitationPages } from "./invitations.tsx";
import { editUserPage, newUserPage } from "./form.tsx";
import { linksPage, newLinkPage } from "./links.tsx";
import { usersPage } from "./list.tsx";
import { readUser, setActive } from "./model.tsx";
import { userActions } from "./row_actions.tsx";
import { addExistingUserPage, ownRolesPage } from "./roles.tsx";
import { userTexts } from "./texts.ts";

const ALL_USERS = "manage:all-users";
const READ = ["read:users", ALL_USERS];
const CHANGE = ["update:users", ALL_USERS];
const page = (v: Visit) => `users/${v.params.id}`;

const activation = (verb: "activate" | "deactivate"): ConsolePage => ({
  path: `users/{id}/${verb}`,
  permissions: CHANGE,
  async post(v) {
    const undo = await setActive(v, v.params.id ?? "", verb === "activate");
    const text = userTexts[v.locale][verb === "activate" ? "activated" : "deactivated"];
    return done(page(v), text, { undo });
  },
});

/** Pages of users, their tenants, roles and sessions. */
export const usersPages: ConsolePage[] = [
  { path: "users", permissions: READ, get: usersPage, bulk: userActions },
  newUserPage,
  ...invitationPages,
  ...importPages,
  {
    path: "users/{id}/send-reset",
    permissions: CHANGE,
    async post(v) {
      await v.api.act(managesAllUsers(v) ? "sendPasswordResetAnywhere" : "sendPasswordReset", v);
      return done(page(v), userTexts[v.locale].resetSent);
    },
  },
  addExistingUserPage,
  { path: "users/{id}", permissions: READ, get: userPage },
  editUserPage,
  ownRolesPage,
  linksPage,
  newLinkPage,
  activation("activate"),
  activation("deactivate"),
  {
    path: "users/{id}/unlock",
    permissions: CHANGE,
    async post(v) {
      await v.api.act(managesAllUsers(v) ? "unlockUser" : "unlockTenantUser", v);
      return done(page(v), userTexts[v.locale].unlocked);
    },
  },
  {
    path: "users/{id}/remove-factors",
    permissions: CHANGE,
    async post(v) {
      await v.api.act(managesAllUsers(v) ? "removeUserFactors" : "removeTenantUserFactors", v);
      return done(page(v), userTexts[v.locale].factorsRemoved);
    },
  },
  {
    path: "users/{id}/sessions/end-all",
    permissions: CHANGE,
    async post(v) {
      const { ended } = await v.api.act(
        managesAllUsers(v) ? "endUserSessions" : "endTenantUserSessions",
        v,
      );
      return done(page(v), userTexts[v.locale].allEnded(ended));
    },
  },
  {
    path: "users/{id}/sessions/{sessionId}/end",
    permissions: CHANGE,
    async post(v) {
      await v.api.act(managesAllUsers(v) ? "endUserSession" : "endTenantUserSession", v);
      return done(page(v), userTexts[v.locale].sessionEnded);
    },
  },
  {
    path: "users/{id}/delete",
    permissions: ["delete:users", ALL_USERS],
    async post(v) {
      const t = userTexts[v.locale];
      const everywhere = managesAllUsers(v);
      const { value: { email } } = await readUser(v);
      await v.api.act(everywhere ? "deleteUserAnywhere" : "deleteUser", v);
      return done("users", everywhere ? t.wasDeleted(email) : t.wasRemoved(email));
    },
  },
];
