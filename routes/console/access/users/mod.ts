import { action, actionsOf, done, sendTo, showing } from "../../shared/actions.ts";
import type { ConsolePage } from "../../shared/page.ts";
import { byScope, managesAllUsers } from "../../shared/access_queries.ts";
import { userPage } from "./detail.tsx";
import { importPages } from "./imports.tsx";
import { invitationPages } from "./invitations.tsx";
import { editUserPage, newUserPage } from "./form.tsx";
import { addExistingUserPage, linksPage, newLinkPage, ownRolesPage } from "./links.tsx";
import { userActions, usersPage } from "./list.tsx";
import { readUser } from "./model.tsx";
import { userTexts } from "./texts.ts";

const ALL_USERS = "manage:all-users";
const READ = ["read:users", ALL_USERS];
const CHANGE = ["update:users", ALL_USERS];

const activation = (verb: "activate" | "deactivate"): ConsolePage => ({
  path: `users/{id}/${verb}`,
  permissions: CHANGE,
  post: sendTo(
    byScope("updateUserAnywhere", "updateUser"),
    () => ({ isActive: verb === "activate" }),
    showing("users/{id}", userTexts, `${verb}d`),
  ),
});

export const usersPages: ConsolePage[] = [
  { path: "users", permissions: READ, get: usersPage, bulk: userActions },
  newUserPage,
  ...invitationPages,
  ...importPages,
  addExistingUserPage,
  { path: "users/{id}", permissions: READ, get: userPage },
  editUserPage,
  ownRolesPage,
  linksPage,
  newLinkPage,
  activation("activate"),
  activation("deactivate"),
  ...actionsOf("users/{id}", userTexts, {
    "send-reset": [byScope("sendPasswordResetAnywhere", "sendPasswordReset"), "resetSent"],
    unlock: [byScope("unlockUser", "unlockTenantUser"), "unlocked"],
    "remove-factors": [byScope("removeUserFactors", "removeTenantUserFactors"), "factorsRemoved"],
    "sessions/{sessionId}/end": [byScope("endUserSession", "endTenantUserSession"), "sessionEnded"],
  }, CHANGE),
  action(
    "users/{id}/sessions/end-all",
    byScope("endUserSessions", "endTenantUserSessions"),
    (v, { ended }) => done(`users/${v.params.id}`, userTexts[v.locale].allEnded(ended)),
    CHANGE,
  ),
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
