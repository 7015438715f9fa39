import {
  readSignInSettings,
  SignInSettings,
  SignInSettingsChange,
  updateSignInSettings,
} from "../../domain/access/sign_in/settings.ts";
import { inTenant } from "../../domain/rights/checks.ts";
import { contentTag } from "../../domain/shared/version.ts";
import { ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";

const endpoint = endpointsIn("Sign-in providers");
const path = "/api/v1/sign-in-settings";
const access = inTenant("manage:sign-in");
const answers = { 200: { etag: true, description: "The settings", schema: SignInSettings } } as const;

const settingsAnswer = (settings: SignInSettings) => ok(settings, { etag: contentTag(settings) });

/** How users sign in to the tenant: by password too, or only by its own providers. */
export const signInSettingsRoutes = [
  endpoint(`GET ${path}`, {
    id: "readSignInSettings",
    access,
    summary: "Read how users sign in to the tenant",
    answers,
    run: async ({ db, caller }) => settingsAnswer(await readSignInSettings(db, caller.tenantId)),
  }),
  endpoint(`PUT ${path}`, {
    id: "updateSignInSettings",
    access,
    summary: "Switch sign-in by password on or off, and choose the break-glass users",
    details:
      "It counts for the next request of every session: a session that was not opened by one of the tenant's providers " +
      "gives no access to the tenant while `passwordSignIn` is false. Switching it off needs an enabled provider that has " +
      "signed a user in, and a break-glass user with a password who holds `manage:sign-in`.",
    body: SignInSettingsChange,
    answers,
    problems: ["PASSWORD_SIGN_IN_NEEDED_CONFLICT", "PRECONDITION_FAILED", "STEP_UP_REQUIRED_FORBIDDEN"],
    run: async ({ platform, caller, body, call }) =>
      settingsAnswer(await updateSignInSettings(platform, caller, body, call.ifMatch)),
  }),
] as const;
