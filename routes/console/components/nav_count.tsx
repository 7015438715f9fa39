import type { Visit } from "../shared/page.ts";
import { number } from "./values.tsx";

/** The number of what waits on the page of an entry, with the list that it counts; its place if there is nothing. */
export function navCount(v: Visit, path: string, waiting?: { count: number; href: string; text: string }) {
  const id = `waiting-${path}`;
  if (!waiting) return <span id={id} hx-swap-oob="true" hidden></span>;
  const { count, href, text } = waiting;
  return (
    <a id={id} hx-swap-oob="true" class="waiting" href={href} title={text} aria-label={text}>
      {number(v, count)}
    </a>
  );
}
