import { CATALOGUE, isProblemCode } from "../../../../domain/problems/problem.ts";
import { Card, type Tone } from "../../components/notice.tsx";
import { type Column, dataTable } from "../../components/table.tsx";
import { Badge, number } from "../../components/values.tsx";
import type { Answer } from "../../shared/operations.ts";
import type { Visit } from "../../shared/page.ts";
import { translateValidation } from "../../shared/validation_translations.ts";
import { userTexts } from "./texts.ts";

type Preview = Answer<"previewUserImport">;
type Row = Preview["rows"][number];

const TONES: Record<string, Tone> = { Created: "ok", Updated: "info", Unchanged: "idle", Failed: "bad" };

/** The first rows of an import by column, and the rows with errors. */
export function ImportRows({ v, found, preview }: {
  v: Visit;
  found: Answer<"readUserImport">;
  preview: Preview;
}) {
  const t = userTexts[v.locale];
  const { columns, rows, failures, isComplete } = preview;
  const outcome: Column<Row> = {
    head: t.result,
    cell: (row) => row.outcome && <Outcome v={v} outcome={row.outcome} dryRun={found.dryRun} />,
  };
  const shown: Column<Row>[] = [
    { head: t.rowNumber, cell: ({ row }) => number(v, row) },
    ...columns.map((name): Column<Row> => ({ head: name, cell: ({ values }) => values[name] || "–" })),
    ...isComplete ? [outcome] : [],
  ];
  return (
    <>
      {found.failed > 0 && !isComplete && <p class="muted">{t.waitingForResult}</p>}
      {isComplete && (
        <Card title={t.failedRows}>
          {dataTable(t.failedRows, failures, <p class="muted">{t.noFailedRows}</p>, [
            { head: t.rowNumber, cell: ({ row }) => number(v, row) },
            { head: t.email, cell: ({ email }) => email ?? "–" },
            { head: t.error, cell: ({ error }) => errorText(v, error) },
          ])}
          {found.failed > failures.length && (
            <p class="hint">{t.moreFailures(number(v, failures.length), number(v, found.failed))}</p>
          )}
        </Card>
      )}
      {rows.length > 0 && (
        <Card title={t.firstRows}>
          {dataTable(t.firstRows, rows, null, shown)}
        </Card>
      )}
    </>
  );
}

function Outcome({ v, outcome, dryRun }: { v: Visit; outcome: string; dryRun: boolean }) {
  const t = userTexts[v.locale];
  const labels: Record<string, string> = dryRun
    ? { Created: t.wouldCreate, Updated: t.wouldUpdate, Unchanged: t.wouldStay, Failed: t.rowFailed }
    : {
      Created: t.wasCreatedRow,
      Updated: t.wasUpdatedRow,
      Unchanged: t.wasUnchangedRow,
      Failed: t.rowFailed,
    };
  return <Badge tone={TONES[outcome] ?? "idle"}>{labels[outcome] ?? outcome}</Badge>;
}

/** The errors of a row in the viewer's language: "email: expected an email address; roles: …". */
const errorText = (v: Visit, error: string): string =>
  error.split("; ").map((each) => {
    const [, name, message] = /^(\w+): (.*)$/s.exec(each) ?? [];
    if (name && message && isProblemCode(name)) return `${CATALOGUE[name].user[v.locale]} (${message})`;
    return name && message ? `${name}: ${translateValidation(v.locale, message)}` : each;
  }).join("; ");
