import type { Fields } from "../components/fields.tsx";
import { Icon } from "../components/icons.tsx";
import { refusedInput } from "../shared/api.ts";
import type { Visit } from "../shared/page.ts";
import { templateTexts } from "./template_texts.ts";

/** Texts of the function `t`, by language and key. */
export type Texts = Record<string, Record<string, string>>;
interface TextRow {
  language: string;
  key: string;
  text: string;
}

/** Names of the inputs of a row. Each row has all of them, so that their values have the same order. */
const NAMES = { language: "textLanguage", key: "textKey", text: "textValue" } as const;
const EMPTY_ROWS = 2;
const EMPTY: TextRow = { language: "", key: "", text: "" };

function typedRows(form: FormData): TextRow[] {
  const [languages, keys, texts] = [NAMES.language, NAMES.key, NAMES.text].map((name) =>
    form.getAll(name).map(String)
  );
  return (texts ?? []).map((text, at) => ({
    language: languages?.[at]?.trim() ?? "",
    key: keys?.[at]?.trim() ?? "",
    text: text.replaceAll("\r\n", "\n"),
  })).filter(({ language, key, text }) => language || key || text);
}

/** The texts by key and language. */
const storedRows = (texts: Texts | null): TextRow[] =>
  Object.entries(texts ?? {}).flatMap(([language, byKey]) =>
    Object.entries(byKey).map(([key, text]) => ({ language, key, text }))
  ).toSorted((a, b) => a.key.localeCompare(b.key) || a.language.localeCompare(b.language));

/** The texts in the rows of the form; null without rows. @throws Refusal that says which row is wrong */
export function textsIn(v: Visit, form: FormData): Texts | null {
  const t = templateTexts[v.locale];
  const rows = typedRows(form);
  const texts = new Map<string, Map<string, string>>();
  for (const { language, key, text } of rows) {
    if (!language || !key) throw refusedInput("texts", t.textIncomplete(language || key || text));
    const byKey = texts.get(language) ?? new Map<string, string>();
    if (byKey.has(key)) throw refusedInput("texts", t.textTwice(language, key));
    texts.set(language, byKey.set(key, text));
  }
  if (rows.length === 0) return null;
  return Object.fromEntries([...texts].map(([language, byKey]) => [language, Object.fromEntries(byKey)]));
}

/** A row of inputs for each text, and empty ones. A script adds more; without it, saving does. */
export function textRows(f: Fields, texts: Texts | null | undefined, hint: string) {
  const { v, sent } = f;
  const t = templateTexts[v.locale];
  const rows = sent?.form ? typedRows(sent.form) : storedRows(texts ?? null);
  const errors = f.errorsOf("texts");
  return (
    <details open={rows.length > 0 || errors !== undefined} id="f-texts">
      <summary>{t.texts}</summary>
      <div class="stack">
        <p class="hint">{hint}</p>
        {errors && <p class="error" role="alert">{errors.join(" ")}</p>}
        <div class="stack" data-rows>
          {[...rows, ...Array.from({ length: EMPTY_ROWS }, () => EMPTY)].map(({ language, key, text }) => (
            <div class="text-row" data-row role="group" aria-label={t.aText}>
              <input
                name={NAMES.key}
                value={key}
                maxlength={100}
                placeholder={t.key}
                aria-label={t.key}
                autocomplete="off"
              />
              <input
                name={NAMES.language}
                value={language}
                maxlength={35}
                placeholder={t.locale}
                aria-label={t.locale}
                autocomplete="off"
              />
              <textarea name={NAMES.text} rows={1} placeholder={t.aText} aria-label={t.aText}>
                {text}
              </textarea>
            </div>
          ))}
        </div>
        <div>
          <button type="button" class="button small needs-script" data-add-row="#f-texts [data-rows]">
            <Icon name="plus" />
            {t.moreTexts}
          </button>
        </div>
      </div>
    </details>
  );
}
