import type { Visit } from "../shared/page.ts";
import { commonTexts } from "../shared/common_texts.ts";
import { SEARCH_LENGTH } from "./forms.tsx";
import { Icon } from "./icons.tsx";

/**
 * A dialog with a search field and a list of what was found. `finder.js` creates it when it is opened, and fills it. The field is a combobox: the
 * arrow keys move through the list, Enter opens the marked entry.
 * @param source address of the entries as HTML; the search text is added as `q`
 */
export function Finder({ v, id, title, label, source }: {
  v: Visit;
  id: string;
  title: string;
  label: string;
  source: string;
}) {
  return (
    <template data-finder-template={id}>
      <dialog id={id} class="finder" aria-label={title} data-finder-source={source}>
        <div class="finder-head">
          <Icon name="search" />
          <input
            type="search"
            role="combobox"
            aria-label={label}
            aria-autocomplete="list"
            aria-expanded="false"
            aria-controls={`${id}-results`}
            placeholder={label}
            maxlength={SEARCH_LENGTH}
            autocomplete="off"
            spellcheck={false}
          />
          <button type="button" class="icon-button" data-finder-close>
            <Icon name="close" />
            <span class="sr-only">{commonTexts[v.locale].cancel}</span>
          </button>
        </div>
        <div id={`${id}-results`} class="finder-results" data-finder-results></div>
        <p class="sr-only" role="status" data-finder-status data-text={commonTexts[v.locale].found}></p>
      </dialog>
    </template>
  );
}

/** A search field as a form of its own. */
export function SearchForm({ v, action, label, value, fields = {} }: {
  v: Visit;
  action: string;
  label: string;
  value: string;
  fields?: Record<string, string>;
}) {
  return (
    <form class="filters" method="get" action={action} role="search">
      {Object.entries(fields).map(([name, text]) => <input type="hidden" name={name} value={text} />)}
      <div class="field finder-field">
        <label for="f-q">{label}</label>
        <input id="f-q" type="search" name="q" value={value} maxlength={SEARCH_LENGTH} autocomplete="off" />
      </div>
      <button type="submit" class="button primary">{commonTexts[v.locale].search}</button>
    </form>
  );
}
