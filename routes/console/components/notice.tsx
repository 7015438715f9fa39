import type { Child } from "hono/jsx";
import { Icon } from "./icons.tsx";

export type Tone = "ok" | "warn" | "bad" | "info" | "idle";

const ICONS: Record<Tone, string> = { ok: "check", warn: "alert", bad: "alert", info: "info", idle: "info" };

/** A message box: the result of an action, or something that needs attention. */
export function Notice({ tone, title, children }: { tone: Tone; title?: string; children?: Child }) {
  return (
    <div class={`notice tone-${tone}`} role={tone === "bad" ? "alert" : "status"}>
      <Icon name={ICONS[tone]} />
      <div>
        {title && <strong class="notice-title">{title}</strong>}
        <div>{children}</div>
      </div>
    </div>
  );
}

/** Placeholder of an empty list or card. */
export function Empty(
  { icon = "empty", title, children }: { icon?: string | undefined; title: string; children?: Child },
) {
  return (
    <div class="empty">
      <Icon name={icon} />
      <p class="empty-title">{title}</p>
      {children && <div class="muted">{children}</div>}
    </div>
  );
}

/**
 * A framed part of a page.
 * @param state a badge beside the title
 */
export function Card({ title, state, actions, id, children }: {
  title?: Child;
  state?: Child;
  actions?: Child;
  id?: string;
  children?: Child;
}) {
  return (
    <section class="card" id={id}>
      {(title || state || actions) && (
        <div class="card-head">
          <div class="row">
            {title && <h2>{title}</h2>}
            {state}
          </div>
          {actions && <div class="row">{actions}</div>}
        </div>
      )}
      {children}
    </section>
  );
}
