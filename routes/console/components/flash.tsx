import { listTexts } from "../shared/list_texts.ts";
import type { Visit } from "../shared/page.ts";
import { UNDO } from "../shared/undo.ts";
import { CsrfField } from "./forms.tsx";
import { Icon } from "./icons.tsx";
import { Notice } from "./notice.tsx";

/** The result of the last action, with a button that undoes it if that is possible. */
export function FlashNotice({ v }: { v: Visit }) {
  if (!v.flash) return null;
  const { tone, text, detail, undo } = v.flash;
  return (
    <div tabindex={-1} data-flash class={undo ? "with-undo" : undefined}>
      <Notice tone={tone} title={detail && text}>
        {detail ? <span lang="en">{detail}</span> : text}
      </Notice>
      {undo && (
        <form method="post" action={UNDO}>
          <CsrfField v={v} />
          <input type="hidden" name="undo" value={undo} />
          <button type="submit" class="button small">
            <Icon name="undo" />
            {listTexts[v.locale].undo}
          </button>
        </form>
      )}
    </div>
  );
}
