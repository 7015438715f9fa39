import { timeIn } from "../components/date_inputs.ts";
import { Fields, formView } from "../components/fields.tsx";
import { Notice } from "../components/notice.tsx";
import { isCountTyped, TypedCount } from "../components/forms.tsx";
import { reachOf } from "../shared/scope.ts";
import { done, formPage, type Sent } from "../shared/actions.ts";
import { Refusal } from "../shared/api.ts";
import { field, optionalField, type View, type Visit } from "../shared/page.ts";
import { deadLetterTexts, jobTexts } from "./texts.ts";

type Kind = "retry" | "purge";

/** The dead letters that a form selects. */
type Selection = ReturnType<typeof selectionOf>;

/** The result of a count; `of` is the selection that was counted. */
interface Counted {
  matched: number;
  of: string;
  hasChanged: boolean;
}

/**
 * A form that counts the dead letters that match its fields, and then retries or purges exactly these. The query may
 * select a group.
 */
const bulkPage = (kind: Kind) =>
  formPage({
    path: `dead-letters/${kind}`,
    actsInScope: true,
    show: async (v, sent) => bulkView(v, kind, sent, sent ? null : await countGroup(v, kind)),
    async send(v, form) {
      const selection = selectionOf(v, form);
      const of = JSON.stringify(selection);
      const isConfirmed = field(form, "do") === "run";
      const isSame = form.get("counted") === of;
      const isTyped = isCountTyped(form, Number(field(form, "matched")));
      if (isConfirmed && isSame && isTyped) {
        return done("dead-letters", await run(v, kind, selection, Number(field(form, "matched"))));
      }
      const matched = await count(v, kind, selection);
      return bulkView(v, kind, { form, refusal: null }, { matched, of, hasChanged: isConfirmed && !isSame });
    },
  });

/** Retries several dead letters. */
export const retryManyPage = bulkPage("retry");
/** Deletes several dead letters, permanently. */
export const purgePage = bulkPage("purge");

/** @throws Refusal if nothing is selected: an empty form must not mean everything */
function selectionOf(v: Visit, form: FormData) {
  const selection = {
    jobTypeName: optionalField(form, "jobTypeName"),
    // Not trimmed: the group's pattern may begin or end with a space.
    errorPattern: String(form.get("errorPattern") ?? "") || undefined,
    errorContains: optionalField(form, "errorContains"),
    failedFrom: timeIn(v, form, "failedFrom"),
    failedTo: timeIn(v, form, "failedTo"),
  };
  const all = form.get("all") === "true";
  if (!all && Object.values(selection).every((value) => value === undefined)) {
    throw new Refusal({ status: 400, detail: deadLetterTexts[v.locale].chooseSome });
  }
  return { ...selection, tenantId: optionalField(form, "tenantId"), all };
}

/** The count of the group that the query selects, so that a group is retried at once; null without a group. */
async function countGroup(v: Visit, kind: Kind): Promise<Counted | null> {
  if (!v.query.has("errorPattern")) return null;
  const form = new FormData();
  for (const [name, value] of v.query) form.set(name, value);
  form.set("tenantId", v.scope?.id ?? "");
  const selection = selectionOf(v, form);
  return { matched: await count(v, kind, selection), of: JSON.stringify(selection), hasChanged: false };
}

async function count(v: Visit, kind: Kind, { tenantId, ...selection }: Selection): Promise<number> {
  const input = { query: { tenantId }, body: { ...selection, dryRun: true } };
  const { matched = 0 } = kind === "retry"
    ? await v.api.call("retryDeadLetters", input)
    : await v.api.call("purgeDeadLetters", input);
  return matched;
}

/** @returns what happened, as a sentence */
async function run(
  v: Visit,
  kind: Kind,
  { tenantId, ...selection }: Selection,
  matched: number,
): Promise<string> {
  const t = deadLetterTexts[v.locale];
  const query = { tenantId };
  if (kind === "retry") {
    return t.retriedMany((await v.api.call("retryDeadLetters", { query, body: selection })).retried);
  }
  const body = { ...selection, expectedCount: matched };
  return t.purged((await v.api.call("purgeDeadLetters", { query, body })).purged);
}

function bulkView(v: Visit, kind: Kind, sent: Sent | null, counted: Counted | null): View {
  const t = deadLetterTexts[v.locale];
  const operation = kind === "retry" ? "retryDeadLetters" : "purgeDeadLetters";
  const f = new Fields(v, sent, operation, Object.fromEntries(v.query));
  const group = f.value("errorPattern");
  const matched = counted?.matched ?? 0;
  const isRetry = kind === "retry";
  return formView(f, {
    title: isRetry ? t.retryTitle : t.purgeTitle,
    intro: counted ? null : isRetry ? t.retryIntro : t.purgeIntro,
    buttons: [
      matched > 0 && (
        <button
          type="submit"
          name="do"
          value="run"
          class={`button ${isRetry ? "primary" : "danger"}`}
        >
          {isRetry ? t.retryThese(matched) : t.purgeThese(matched)}
        </button>
      ),
      <button type="submit" name="do" value="count" class={`button ${matched > 0 ? "" : "primary"}`}>
        {t.countFirst}
      </button>,
    ],
    inputs: [
      f.text("jobTypeName", jobTexts[v.locale].jobType),
      group && (
        <div class="field">
          <span>{t.group}</span>
          <pre class="code-block" tabindex={0}>{group}</pre>
          <input type="hidden" name="errorPattern" value={group} />
        </div>
      ),
      <input type="hidden" name="tenantId" value={v.scope?.id ?? ""} />,
      f.text("errorContains", t.errorContains),
      <div class="pair">
        {f.text("failedFrom", t.from, { type: "datetime-local" })}
        {f.text("failedTo", t.to, { type: "datetime-local" })}
      </div>,
      !group && f.check("all", t.allOfThem, t.allHint),
      counted && [
        <input type="hidden" name="counted" value={counted.of} />,
        <input type="hidden" name="matched" value={String(counted.matched)} />,
        <Notice tone={counted.matched > 0 ? "warn" : "info"}>
          {counted.hasChanged && `${t.countAgain} `}
          {matched === 0 ? t.noMatch : (isRetry ? t.retryEffect : t.purgeEffect)(matched, reachOf(v))}
        </Notice>,
        <TypedCount v={v} count={matched} />,
      ],
    ],
  });
}
