import { Card, Notice } from "../components/notice.tsx";
import { duration, Figure, number } from "../components/values.tsx";
import { Refusal } from "../shared/api.ts";
import { commonTexts } from "../shared/common_texts.ts";
import type { View, Visit } from "../shared/page.ts";
import type { ScannerStatus } from "./model.tsx";
import { fileTexts } from "./texts.ts";

const ID = "scanner";
/** The card is a part of two pages, each of which keeps its title. */
const SWAP = "outerHTML ignoreTitle:true";

/** Where the scanner's card comes once the page is there: an engine that answers slowly keeps no list waiting. */
export const ScannerSoon = ({ v }: { v: Visit }) => (
  <div
    id={ID}
    hx-get="files/scanner"
    hx-select={`#${ID}`}
    hx-swap={SWAP}
    hx-trigger="load"
  >
    <div class="figures">
      <Figure
        label={fileTexts[v.locale].scanner}
        value={<a href="files/scanner">{commonTexts[v.locale].details}</a>}
        hint={`${commonTexts[v.locale].loading}…`}
      />
    </div>
  </div>
);

/** Which engine examines files, how fresh what it knows is, and how many files wait for it. */
export async function scannerPage(v: Visit): Promise<View> {
  const t = fileTexts[v.locale];
  return {
    title: t.scanner,
    crumbs: [{ href: "files", label: t.files }],
    body: (
      <div id={ID} hx-get="files/scanner" hx-select={`#${ID}`} hx-swap={SWAP} hx-trigger="every 30s">
        {await scannerFigures(v)}
      </div>
    ),
  };
}

async function scannerFigures(v: Visit) {
  const t = fileTexts[v.locale];
  const scanner = await v.api.get<ScannerStatus>("files/scanner-status").catch((error) => {
    if (error instanceof Refusal && error.code === "FILE_SCAN_UNAVAILABLE") return null;
    throw error;
  });
  if (!scanner) {
    return (
      <Card>
        <Notice tone="bad" title={t.scanner}>{t.scannerDown}</Notice>
      </Card>
    );
  }
  const { engine, databaseVersion, databaseAgeHours: age, databaseStale, queueDepth } = scanner;
  const oldest = scanner.queueOldestItemAgeSeconds;
  return (
    <div class="figures">
      <Figure label={t.scanner} value={engine} {...databaseVersion ? { hint: databaseVersion } : {}} />
      <Figure
        label={t.databaseAge}
        value={age === null ? t.unknown : t.hours(number(v, age))}
        tone={databaseStale ? "warn" : "ok"}
        hint={databaseStale ? t.stale : t.fresh}
      />
      <Figure
        label={t.queue}
        value={number(v, queueDepth)}
        href="files?status=Scanning"
        hint={oldest === null ? t.noQueue : t.oldest(duration(v, oldest * 1000))}
      />
    </div>
  );
}
