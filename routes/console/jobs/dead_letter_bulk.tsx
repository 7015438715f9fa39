import { instantOf } from "../components/date_inputs.ts";
import { Fields, Form } from "../components/fields.tsx";
import { Card, Notice } from "../components/notice.tsx";
import { done, formPage, type Sent } from "../shared/actions.ts";
import { field, optionalField, type View, type Visit } from "../shared/page.ts";
import { deadLetterTexts } from "./dead_letter_texts.ts";
import { jobTexts } from "./texts.ts";

const crumbs = (v: Visit) => [{ href: "dead-letters", label: deadLetterTexts[v.locale].title }];

/** Counts the dead letters that match, with a dry run. With `do=retry`, retries them. The query may select a group. */
export const retryManyPage = formPage({
  path: "dead-letters/retry",
  show: (v, sent) => retryView(v, sent),
  async send(v, form) {
    const dryRun = field(form, "do") !== "retry";
    const { matched, retried } = await v.api.call("retryDeadLetters", {
      body: {
        jobTypeName: optionalField(form, "jobTypeName"),
        // Not trimmed: the group's pattern may begin or end with a space.
        errorPattern: String(form.get("errorPattern") ?? "") || undefined,
        errorContains: optionalField(form, "errorContains"),
        failedFrom: instantOf(v, field(form, "failedFrom")),
        failedTo: instantOf(v, field(form, "failedTo")),
        all: true, // without a filter, the page shows the count of all first
        dryRun,
      },
    });
    if (dryRun) return retryView(v, { form, refusal: null }, matched);
    return done("dead-letters", deadLetterTexts[v.locale].retriedMany(retried));
  },
});

function retryView(v: Visit, sent: Sent | null, matched?: number): View {
  const t = deadLetterTexts[v.locale];
  const f = new Fields(v, sent, "retryDeadLetters", Object.fromEntries(v.query));
  const group = f.value("errorPattern");
  const count = (
    <button type="submit" name="do" value="count" class={`button ${matched ? "" : "primary"}`}>
      {t.countFirst}
    </button>
  );
  return {
    title: t.retryTitle,
    crumbs: crumbs(v),
    body: (
      <Card>
        <Form
          fields={f}
          action="dead-letters/retry"
          intro={t.retryIntro}
          back="dead-letters"
          buttons={
            <>
              {matched
                ? (
                  <button type="submit" name="do" value="retry" class="button primary">
                    {t.retryThese(matched)}
                  </button>
                )
                : null}
              {count}
            </>
          }
        >
          {f.text("jobTypeName", jobTexts[v.locale].type)}
          {group && (
            <div class="field">
              <span>{t.group}</span>
              <pre class="code-block" tabindex={0}>{group}</pre>
              <input type="hidden" name="errorPattern" value={group} />
            </div>
          )}
          {f.text("errorContains", t.contains)}
          <div class="pair">
            {f.text("failedFrom", t.from, { type: "datetime-local" })}
            {f.text("failedTo", t.to, { type: "datetime-local" })}
          </div>
          {matched !== undefined && <Notice tone={matched > 0 ? "warn" : "info"}>{t.matched(matched)}
          </Notice>}
        </Form>
      </Card>
    ),
  };
}

/** Purges dead letters by age, permanently. */
export const purgePage = formPage({
  path: "dead-letters/purge",
  show(v, sent) {
    const t = deadLetterTexts[v.locale];
    const f = new Fields(v, sent, null);
    return {
      title: t.purgeTitle,
      crumbs: crumbs(v),
      body: (
        <Card>
          <Form
            fields={f}
            action="dead-letters/purge"
            confirm={t.purgeConfirm}
            intro={t.purgeIntro}
            back="dead-letters"
            buttons={<button type="submit" class="button danger">{t.purge}</button>}
          >
            {f.text("retentionDays", t.days, { type: "number", min: 0, max: 36_500, hint: t.daysHint })}
          </Form>
        </Card>
      ),
    };
  },
  async send(v, form) {
    const days = field(form, "retentionDays");
    const { purged } = await v.api.call("purgeDeadLetters", {
      body: { retentionDays: days === "" ? null : Number(days) },
    });
    return done("dead-letters", deadLetterTexts[v.locale].purged(purged));
  },
});
