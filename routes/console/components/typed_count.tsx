import { listTexts } from "../shared/common_texts.ts";
import { field, type Visit } from "../shared/page.ts";
import { TextField } from "./forms.tsx";

/** Above this, the number of rows that an action changes must be typed. */
const UNTYPED = 100;

/** The input for the number of rows that an action changes; nothing for a small number. */
export const TypedCount = ({ v, count }: { v: Visit; count: number }) =>
  count > UNTYPED
    ? (
      <TextField
        label={listTexts[v.locale].typeCount(count)}
        name="typed"
        pattern={String(count)}
        required
      />
    )
    : null;

/** True if the form has the number, or the number is small. */
export const isCountTyped = (form: FormData, count: number): boolean =>
  count <= UNTYPED || field(form, "typed") === String(count);
