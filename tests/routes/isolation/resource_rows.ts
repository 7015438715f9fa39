import { resourceRows as resource } from "../../support/isolation.ts";
import type { Rows } from "./rows.ts";

/** Resources of the generic contract. */
export const resourceRows: Rows = {
  ...resource(
    "application",
    { one: "application", many: "applications", notFound: "APPLICATION_NOT_FOUND" },
    {
      code: "o",
      name: "O",
    },
  ),
  ...resource("setting", { one: "setting", many: "settings", notFound: "SETTING_NOT_FOUND" }, {
    key: "o",
    value: "O",
  }),
  listApplicationUsage: { own: () => ({}) },
};
