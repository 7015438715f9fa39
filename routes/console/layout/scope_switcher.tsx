import { Finder } from "../components/finder.tsx";
import { Icon } from "../components/icons.tsx";
import { searchOf } from "../shared/api.ts";
import type { Visit } from "../shared/page.ts";
import { currentScope, maySwitch } from "../scope/choices.ts";
import { switcherTexts } from "../scope/texts.ts";

/** Shows whose data the console shows, and switches to other tenants. Without JavaScript it leads to a page. */
export function ScopeSwitcher({ v }: { v: Visit }) {
  const t = switcherTexts[v.locale];
  const name = currentScope(v);
  if (!maySwitch(v)) return <span class="tenant-name" title={name}>{name}</span>;
  const back = searchOf({ back: v.address });
  return (
    <>
      <a
        class="scope-switch"
        href={`scope${back}`}
        data-finder="scope-finder"
        aria-haspopup="dialog"
        title={name}
      >
        <Icon name="tenants" />
        <span class="sr-only">{`${t.scope}:`}</span>
        <span class="scope-name">{name}</span>
        <Icon name="down" />
      </a>
      <Finder
        v={v}
        id="scope-finder"
        title={t.title}
        label={t.search}
        source={`scope${searchOf({ part: "dialog", back: v.address })}`}
      />
    </>
  );
}
