import { MAX_OVERLAP_SECONDS } from "../../../domain/access/keys/key_record.ts";
import { Fields, Form } from "../components/fields.tsx";
import { Card } from "../components/notice.tsx";
import { formPage } from "../shared/actions.ts";
import { field, type Outcome, type Visit } from "../shared/page.ts";
import { integrationTexts } from "./texts.ts";

const HOUR_SECONDS = 3_600;

/** The page that gives an API key or service account a new secret, and asks how long the former one stays good. */
export const rotatePage = (path: "api-keys" | "service-accounts", o: {
  operation: "rotateApiKey" | "rotateServiceAccount";
  list: "keys" | "accounts";
  read(v: Visit): Promise<{ name: string }>;
  rotate(v: Visit, body: { overlapSeconds: number }): Promise<Outcome>;
}) =>
  formPage({
    path: `${path}/{id}/rotate`,
    async show(v, sent) {
      const t = integrationTexts[v.locale];
      const { name } = await o.read(v);
      const f = new Fields(v, sent, o.operation, { overlapSeconds: 0 });
      const overlaps = [
        { value: "0", label: t.endsAtOnce },
        { value: String(HOUR_SECONDS), label: t.hours(1) },
        { value: String(24 * HOUR_SECONDS), label: t.hours(24) },
        { value: String(MAX_OVERLAP_SECONDS), label: t.days(7) },
      ];
      return {
        title: t.newSecretOf(name),
        crumbs: [{ href: path, label: t[o.list] }],
        body: (
          <Form fields={f} submit={t.createSecret} back={path} stacked>
            <Card>
              {f.select("overlapSeconds", t.overlap, overlaps, { hint: t.overlapHint })}
            </Card>
          </Form>
        ),
      };
    },
    send: (v, form) => o.rotate(v, { overlapSeconds: Number(field(form, "overlapSeconds")) }),
  });
