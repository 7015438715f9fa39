import { defineTexts, type Locale } from "../shared/languages.ts";
import type { Choice } from "./forms.tsx";
import { labelled } from "./list.tsx";
import type { Tone } from "./notice.tsx";
import { Badge } from "./values.tsx";

/** The states of a kind of thing: each with its tone, and its name in English and Portuguese. */
export function defineStates<State extends string>(
  states: Record<State, [tone: Tone, en: string, pt: string]>,
) {
  const names = Object.keys(states) as State[];
  const labels = defineTexts(
    Object.fromEntries(names.map((state) => [state, [states[state][1], states[state][2]] as const])),
  ) as Record<Locale, Record<State, string>>;
  return {
    labels,
    tone: (state: State): Tone => states[state][0],
    /** The state as a coloured label. */
    badge: ({ locale }: { locale: Locale }, state: State) => (
      <Badge tone={states[state][0]}>{labels[locale][state]}</Badge>
    ),
    /** The choices of a filter, in the order of `of`. */
    choices: ({ locale }: { locale: Locale }, of: readonly State[] = names): Choice[] =>
      labelled(of, labels[locale]),
  };
}

/** The states of an address or domain that its owner proves. */
export const proofStates = defineStates({
  Pending: ["info", "Waiting", "Aguardando"],
  Verified: ["ok", "Verified", "Verificado"],
  Failed: ["bad", "Failed", "Falhou"],
});
