import { Time } from "../components/values.tsx";
import { commonTexts } from "../shared/common_texts.ts";
import type { Visit } from "../shared/page.ts";

/** Cells that the lists of API keys and of service accounts share. */

/** The name of a key with the characters that its secret starts with. */
export function KeyName({ name, start }: { name: string; start: string }) {
  return (
    <>
      {name}
      <span class="sub">
        <code>{start}…</code>
      </span>
    </>
  );
}

/** When a key was used last, and from which address. */
export function LastUse({ v, at, ip }: { v: Visit; at: string | null; ip: string | null }) {
  if (!at) return <>{commonTexts[v.locale].never}</>;
  return (
    <>
      <Time v={v} at={at} />
      {ip && <span class="sub">{ip}</span>}
    </>
  );
}
