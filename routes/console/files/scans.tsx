import { Card, Empty } from "../components/notice.tsx";
import { duration, Time } from "../components/values.tsx";
import type { Row } from "../shared/operations.ts";
import type { Visit } from "../shared/page.ts";
import { fileTexts } from "./texts.ts";
import { defineStates } from "../components/states.tsx";

type ScanAttempt = Row<"listScanAttempts">;

const verdicts = defineStates<ScanAttempt["verdict"]>({
  Clean: ["ok", "Clean", "Limpo"],
  Infected: ["bad", "Infected", "Infectado"],
  TypeRejected: ["bad", "Type rejected", "Tipo rejeitado"],
  Error: ["warn", "Error", "Erro"],
});

/** All scan attempts, newest first, as a timeline. */
export function Scans({ v, attempts }: { v: Visit; attempts: ScanAttempt[] }) {
  const t = fileTexts[v.locale];
  return (
    <Card title={t.scans}>
      {attempts.length === 0 ? <Empty icon="search" title={t.noScans} /> : (
        <ol class="timeline">
          {attempts.map((attempt) => (
            <li class={`tone-${verdicts.tone(attempt.verdict)}`}>
              <Attempt v={v} attempt={attempt} />
            </li>
          ))}
        </ol>
      )}
    </Card>
  );
}

function Attempt({ v, attempt }: { v: Visit; attempt: ScanAttempt }) {
  const t = fileTexts[v.locale];
  const { attemptNumber, verdict, completedAt, durationMs, engine, databaseVersion } = attempt;
  const { detectedContentType, signatureName, errorMessage } = attempt;
  return (
    <>
      <div class="row">
        <strong>{t.scan(attemptNumber)}</strong>
        {verdicts.badge(v, verdict)}
        <span class="muted">
          <Time v={v} at={completedAt} /> · {duration(v, durationMs)}
        </span>
      </div>
      {signatureName && (
        <p>
          {t.signature}: <code>{signatureName}</code>
        </p>
      )}
      {errorMessage && <p class="break">{errorMessage}</p>}
      <p class="muted break">
        {[engine, databaseVersion && `${t.database} ${databaseVersion}`, detectedContentType].filter(Boolean)
          .join(" · ")}
      </p>
    </>
  );
}
