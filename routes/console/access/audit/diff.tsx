import type { Visit } from "../../shared/page.ts";
import { auditTexts } from "./texts.ts";

/** A changed field with its old and new value. Undefined means that the field did not exist. */
export interface FieldChange {
  name: string;
  before: unknown;
  after: unknown;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The fields that differ between two states. If there is only one state, all its fields. */
export function fieldChanges(before: unknown, after: unknown): FieldChange[] {
  if (!isRecord(before) && !isRecord(after)) {
    return (before ?? null) === null && (after ?? null) === null ? [] : [{ name: "", before, after }];
  }
  const [was, is] = [isRecord(before) ? before : {}, isRecord(after) ? after : {}];
  const names = [...new Set([...Object.keys(was), ...Object.keys(is)])];
  return names
    .filter((name) => JSON.stringify(was[name]) !== JSON.stringify(is[name]))
    .map((name) => ({ name, before: was[name], after: is[name] }));
}

/**
 * A table of the changed fields, before and after. In lists, added and removed items are marked.
 * @param names names of the users, roles, permissions and tenants whose ids occur
 */
export function Diff({ v, action, changes, names }: {
  v: Visit;
  action: string;
  changes: FieldChange[];
  names: Record<string, string>;
}) {
  const t = auditTexts[v.locale];
  const hadState = changes.some(({ before }) => before !== undefined);
  const hasState = changes.some(({ after }) => after !== undefined);
  return (
    <div class="table-scroll" tabindex={0} role="region" aria-label={t.diffOf(action)}>
      <table class="data diff">
        <thead>
          <tr>
            <th scope="col">{t.field}</th>
            {hadState && <th scope="col">{t.before}</th>}
            {hasState && <th scope="col">{t.after}</th>}
          </tr>
        </thead>
        <tbody>
          {changes.map(({ name, before, after }) => {
            const lists = isList(before) && isList(after);
            return (
              <tr>
                <td data-label={t.field}>
                  <code>{name}</code>
                </td>
                {hadState && (
                  <td data-label={t.before}>
                    <Value
                      v={v}
                      value={named(before, names)}
                      comparedTo={lists ? named(after, names) as string[] : null}
                    />
                  </td>
                )}
                {hasState && (
                  <td data-label={t.after}>
                    <Value
                      v={v}
                      value={named(after, names)}
                      comparedTo={lists ? named(before, names) as string[] : null}
                      isNew
                    />
                  </td>
                )}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** The value with names for the ids that occur in it. */
function named(value: unknown, names: Record<string, string>): unknown {
  if (typeof value === "string") return names[value] ?? value;
  if (Array.isArray(value)) return value.map((each) => named(each, names));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, named(each, names)]));
}

const isList = (value: unknown): value is (string | number)[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string" || typeof item === "number");

/** @param comparedTo the other version of a list: items that it does not contain are marked. */
function Value({ v, value, comparedTo, isNew = false }: {
  v: Visit;
  value: unknown;
  comparedTo: (string | number)[] | null;
  isNew?: boolean;
}) {
  const t = auditTexts[v.locale];
  if (value === undefined || value === null || value === "") return <span class="muted">–</span>;
  if (typeof value === "boolean") return <>{value ? t.yes : t.no}</>;
  if (!isList(value)) {
    return typeof value === "object"
      ? <pre class="inline-json">{JSON.stringify(value, null, 2)}</pre>
      : <>{String(value)}</>;
  }
  if (value.length === 0) return <span class="muted">–</span>;
  return (
    <ul class="bare-list">
      {value.map((item) => {
        const differs = comparedTo !== null && !comparedTo.includes(item);
        if (!differs) return <li>{String(item)}</li>;
        return (
          <li>
            {isNew ? <ins>{String(item)}</ins> : <del>{String(item)}</del>}
            <span class="sr-only">{` ${isNew ? t.added : t.removed}`}</span>
          </li>
        );
      })}
    </ul>
  );
}
