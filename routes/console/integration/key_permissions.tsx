import type { Fields } from "../components/fields.tsx";
import { Card } from "../components/notice.tsx";
import { translateBuiltin } from "../shared/builtin_translations.ts";
import { may, mayInFiles, type Visit } from "../shared/page.ts";
import { integrationTexts } from "./texts.ts";

interface GivablePermission {
  code: string;
  category: string;
  hint: string | null;
}

/** Permissions by category. */
export type PermissionGroups = [category: string, permissions: GivablePermission[]][];

/** The permissions that the viewer may give to a key: those they hold, directly or through admin:system. */
export async function givablePermissions(v: Visit): Promise<PermissionGroups> {
  const { viewer, locale } = v;
  const known = may(viewer, "read:permissions")
    ? (await v.api.call("listPermissions", { query: { pageSize: 100 } })).items
    : [];
  const knownCodes = new Set(known.map(({ code }) => code));
  const others = [...viewer.permissions].filter((code) => !knownCodes.has(code))
    .map((code) => ({ code, category: integrationTexts[locale].otherPermissions, description: null }));
  const givable = [...known, ...others]
    .filter(({ code }) => code.endsWith(":files") ? mayInFiles(viewer, code) : may(viewer, code))
    .map(({ code, category, description }) => ({
      code,
      category: translateBuiltin(locale, category),
      hint: translateBuiltin(locale, description),
    }));
  return [...Map.groupBy(givable, ({ category }) => category)];
}

/** The permissions of a new key, as check boxes by category. */
export function PermissionCard({ v, fields: f, groups, hint }: {
  v: Visit;
  fields: Fields;
  groups: PermissionGroups;
  hint: string;
}) {
  const t = integrationTexts[v.locale];
  const errors = f.errorsOf("permissions");
  return (
    <Card title={t.permissions}>
      <p class="muted">{hint}</p>
      {errors && <p class="error">{errors.join(" ")}</p>}
      <div class="grid-3">
        {groups.map(([category, group]) => (
          <fieldset>
            <legend>{category}</legend>
            {f.choices("permissions", group.map(({ code, hint }) => ({ value: code, hint })))}
          </fieldset>
        ))}
      </div>
    </Card>
  );
}

/** The permissions of a key, folded to their number. */
export const PermissionList = ({ v, codes }: { v: Visit; codes: string[] }) => (
  <details>
    <summary>{integrationTexts[v.locale].permissionCount(codes.length)}</summary>
    <ul>
      {codes.map((code) => (
        <li>
          <code>{code}</code>
        </li>
      ))}
    </ul>
  </details>
);
