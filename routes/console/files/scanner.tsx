import { Card, Notice } from "../components/notice.tsx";
import { Statistic, StatisticRow } from "../components/statistics.tsx";
import { duration, number } from "../components/values.tsx";
import { Refusal } from "../shared/api.ts";
import { commonTexts } from "../shared/common_texts.ts";
import type { View, Visit } from "../shared/page.ts";
import { fileTexts } from "./texts.ts";

const ID = "scanner";
/** Two pages show the card. The swap keeps the title of the page. */
const SWAP = "outerHTML ignoreTitle:true";

/** Placeholder that loads the scanner statistics after the page, so that a slow engine does not delay the list. */
export const ScannerPlaceholder = ({ v }: { v: Visit }) => (
  <div
    id={ID}
    hx-get="files/scanner"
    hx-select={`#${ID}`}
    hx-swap={SWAP}
    hx-trigger="load"
  >
    <StatisticRow>
      <Statistic
        label={fileTexts[v.locale].scanner}
        value={<a href="files/scanner">{commonTexts[v.locale].details}</a>}
        hint={`${commonTexts[v.locale].loading}…`}
      />
    </StatisticRow>
  </div>
);

/** The scan engine, the age of its signatures, and the number of files waiting for a scan. */
export async function scannerPage(v: Visit): Promise<View> {
  const t = fileTexts[v.locale];
  return {
    title: t.scanner,
    crumbs: [{ href: "files", label: t.files }],
    body: (
      <div id={ID} hx-get="files/scanner" hx-select={`#${ID}`} hx-swap={SWAP} hx-trigger="every 30s">
        {await scannerStatistics(v)}
      </div>
    ),
  };
}

async function scannerStatistics(v: Visit) {
  const t = fileTexts[v.locale];
  const scanner = await v.api.call("readScannerStatus").catch((error) => {
    if (error instanceof Refusal && error.code === "FILE_SCAN_UNAVAILABLE") return null;
    throw error;
  });
  if (!scanner) {
    return (
      <Card>
        <Notice tone="bad" title={t.scanner}>{t.scannerUnavailable}</Notice>
      </Card>
    );
  }
  const { engine, databaseVersion, databaseAgeHours: age, databaseStale, queueDepth } = scanner;
  const oldest = scanner.queueOldestItemAgeSeconds;
  return (
    <StatisticRow>
      <Statistic label={t.scanner} value={engine} {...databaseVersion ? { hint: databaseVersion } : {}} />
      <Statistic
        label={t.databaseAge}
        value={age === null ? t.unknown : t.hours(number(v, age))}
        tone={databaseStale ? "warn" : "ok"}
        hint={databaseStale ? t.stale : t.fresh}
      />
      <Statistic
        label={t.filesWaiting}
        value={number(v, queueDepth)}
        href="files?status=Scanning"
        hint={oldest === null ? t.noFilesWaiting : t.oldest(duration(v, oldest * 1000))}
      />
    </StatisticRow>
  );
}
