import type { HostedLooks } from "../../looks/hosted_page.ts";
import type { View, Visit } from "../shared/page.ts";
import { Brand } from "./brand.tsx";
import { BarePage, type ConsoleUrls } from "./document.tsx";
import { ConfirmDialog, FlashNotice, PageHead } from "./layout.tsx";
import { commonTexts } from "../shared/common_texts.ts";

/** The form that the script sends with the token of a set-up link, which it takes out of the address. */
export const SetUpHandover = () => (
  <form method="post" action="set-up/open" data-handover hidden>
    <input type="hidden" name="token" />
  </form>
);

/** A page for who has a set-up link, in the looks of the tenant. */
export function SetUpLayout({ urls, v, looks, view }: {
  urls: ConsoleUrls;
  v: Visit;
  looks: HostedLooks;
  view: View;
}) {
  return (
    <BarePage urls={urls} v={v} title={view.title} looks={looks} scripts={view.scripts ?? []} isWide>
      <div class="stack">
        <Brand looks={looks} />
        <PageHead v={v} view={view} breadcrumb={commonTexts[v.locale].breadcrumb} />
        <FlashNotice v={v} />
        {view.body}
        <SetUpHandover />
      </div>
      <ConfirmDialog v={v} />
    </BarePage>
  );
}
