import { ButtonLink, CsrfField, FormRefusal, TextField } from "../components/forms.tsx";
import { instantOf } from "../components/date_inputs.ts";
import { Card, Notice } from "../components/notice.tsx";
import { Refusal } from "../shared/api.ts";
import { commonTexts } from "../shared/common_texts.ts";
import { field, optionalField, type Outcome, type View, type Visit } from "../shared/page.ts";
import { deadLetterTexts } from "./dead_letter_texts.ts";
import { jobTexts } from "./texts.ts";

const FIELDS = ["jobTypeName", "errorPattern", "errorContains", "failedFrom", "failedTo"] as const;
type Values = Partial<Record<typeof FIELDS[number], string | null>>;

const crumbs = (v: Visit) => [{ href: "dead-letters", label: deadLetterTexts[v.locale].title }];

/** The form that selects dead letters to retry. The query may preselect a group. */
export const retryManyPage = (v: Visit): View =>
  retryView(v, Object.fromEntries(FIELDS.map((name) => [name, v.query.get(name)])), {});

/** Counts the matching dead letters (dry run). With `do=retry`, retries them. */
export async function retryMany(v: Visit, form: FormData): Promise<Outcome> {
  const values = Object.fromEntries(FIELDS.map((name) => [name, field(form, name)]));
  const dryRun = field(form, "do") !== "retry";
  try {
    const { matched, retried } = await v.api.send<{ matched: number; retried: number }>(
      "POST",
      "dead-letter-jobs/retry",
      {
        jobTypeName: optionalField(form, "jobTypeName"),
        // Not trimmed: the group's pattern may begin or end with a space.
        errorPattern: String(form.get("errorPattern") ?? "") || undefined,
        errorContains: optionalField(form, "errorContains"),
        failedFrom: instantOf(v, values.failedFrom ?? ""),
        failedTo: instantOf(v, values.failedTo ?? ""),
        dryRun,
      },
    );
    if (dryRun) {
      return retryView(v, { ...values, errorPattern: String(form.get("errorPattern") ?? "") }, { matched });
    }
    return {
      goTo: "dead-letters",
      flash: { tone: "ok", text: deadLetterTexts[v.locale].retriedMany(retried) },
    };
  } catch (refusal) {
    if (!(refusal instanceof Refusal)) throw refusal;
    return { ...retryView(v, values, { refusal }), status: refusal.status };
  }
}

function retryView(v: Visit, values: Values, { matched, refusal = null }: {
  matched?: number;
  refusal?: Refusal | null;
}): View {
  const t = deadLetterTexts[v.locale];
  return {
    title: t.retryTitle,
    crumbs: crumbs(v),
    body: (
      <Card>
        <form method="post" action="dead-letters/retry" class="form">
          <CsrfField v={v} />
          <p class="muted">{t.retryIntro}</p>
          <FormRefusal refusal={refusal} known={[...FIELDS]} />
          <TextField
            label={jobTexts[v.locale].type}
            name="jobTypeName"
            value={values.jobTypeName}
            maxlength={200}
            errors={refusal?.fields.jobTypeName}
          />
          {values.errorPattern && (
            <div class="field">
              <span>{t.group}</span>
              <pre class="code-block" tabindex={0}>{values.errorPattern}</pre>
              <input type="hidden" name="errorPattern" value={values.errorPattern} />
            </div>
          )}
          <TextField
            label={t.contains}
            name="errorContains"
            value={values.errorContains}
            maxlength={500}
            errors={refusal?.fields.errorContains}
          />
          <div class="pair">
            <TextField label={t.from} name="failedFrom" type="datetime-local" value={values.failedFrom} />
            <TextField label={t.to} name="failedTo" type="datetime-local" value={values.failedTo} />
          </div>
          {matched !== undefined && <Notice tone={matched > 0 ? "warn" : "info"}>{t.matched(matched)}
          </Notice>}
          <div class="row">
            {matched
              ? (
                <button type="submit" name="do" value="retry" class="button primary">
                  {t.retryThese(matched)}
                </button>
              )
              : null}
            <button type="submit" name="do" value="count" class={`button ${matched ? "" : "primary"}`}>
              {t.countFirst}
            </button>
            <ButtonLink href="dead-letters" label={commonTexts[v.locale].cancel} />
          </div>
        </form>
      </Card>
    ),
  };
}

/** The form that purges dead letters by age. */
export const purgePage = (v: Visit): View => purgeView(v, "", null);

/** Purges dead letters permanently. */
export async function purge(v: Visit, form: FormData): Promise<Outcome> {
  const days = field(form, "retentionDays");
  try {
    const { purged } = await v.api.send<{ purged: number }>("POST", "dead-letter-jobs/purge", {
      retentionDays: days === "" ? null : Number(days),
    });
    return { goTo: "dead-letters", flash: { tone: "ok", text: deadLetterTexts[v.locale].purged(purged) } };
  } catch (refusal) {
    if (!(refusal instanceof Refusal)) throw refusal;
    return { ...purgeView(v, days, refusal), status: refusal.status };
  }
}

function purgeView(v: Visit, days: string, refusal: Refusal | null): View {
  const t = deadLetterTexts[v.locale];
  return {
    title: t.purgeTitle,
    crumbs: crumbs(v),
    body: (
      <Card>
        <form method="post" action="dead-letters/purge" class="form" data-confirm={t.purgeConfirm}>
          <CsrfField v={v} />
          <p class="muted">{t.purgeIntro}</p>
          <FormRefusal refusal={refusal} known={["retentionDays"]} />
          <TextField
            label={t.days}
            name="retentionDays"
            type="number"
            min={0}
            max={36_500}
            value={days}
            hint={t.daysHint}
            errors={refusal?.fields.retentionDays}
          />
          <div class="row">
            <button type="submit" class="button danger">{t.purge}</button>
            <ButtonLink href="dead-letters" label={commonTexts[v.locale].cancel} />
          </div>
        </form>
      </Card>
    ),
  };
}
