import { Card, Empty, type Tone } from "../components/notice.tsx";
import { Badge, duration, Time } from "../components/values.tsx";
import type { Visit } from "../shared/page.ts";
import type { ScanAttempt } from "./model.tsx";
import { verdictWords } from "./state_words.ts";
import { words } from "./words.ts";

const TONES: Record<ScanAttempt["verdict"], Tone> = {
  Clean: "ok",
  Infected: "bad",
  TypeRejected: "bad",
  Error: "warn",
};

/** Every look the engine took at the content, newest first, as a line through time. */
export function Examinations({ v, attempts }: { v: Visit; attempts: ScanAttempt[] }) {
  const w = words[v.locale];
  return (
    <Card title={w.examinations}>
      {attempts.length === 0 ? <Empty icon="search" title={w.noExaminations} /> : (
        <ol class="timeline">
          {attempts.map((attempt) => (
            <li class={`tone-${TONES[attempt.verdict]}`}>
              <Attempt v={v} attempt={attempt} />
            </li>
          ))}
        </ol>
      )}
    </Card>
  );
}

function Attempt({ v, attempt }: { v: Visit; attempt: ScanAttempt }) {
  const w = words[v.locale];
  const { attemptNumber, verdict, completedAt, durationMs, engine, databaseVersion } = attempt;
  const { detectedContentType, signatureName, errorMessage } = attempt;
  return (
    <>
      <div class="row">
        <strong>{w.attempt(attemptNumber)}</strong>
        <Badge tone={TONES[verdict]}>{verdictWords[v.locale][verdict]}</Badge>
        <span class="muted">
          <Time v={v} at={completedAt} /> · {duration(v, durationMs)}
        </span>
      </div>
      {signatureName && (
        <p>
          {w.signature}: <code>{signatureName}</code>
        </p>
      )}
      {errorMessage && <p class="break">{errorMessage}</p>}
      <p class="muted break">
        {[engine, databaseVersion && `${w.database} ${databaseVersion}`, detectedContentType].filter(Boolean)
          .join(" · ")}
      </p>
    </>
  );
}
