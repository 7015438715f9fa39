import { Problem, problem } from "../../../domain/problems/problem.ts";
import { requireStorableText } from "../../../domain/shared/storable.ts";
import { type BodyLimits, Call } from "../../shared/call.ts";

/** Size limit of a signed-in viewer's form. The largest form contains a permission import file. */
export const PAGE_FORM_BYTES = 12 * 1024 * 1024;
/** Size limit of the sign-in form. */
export const SIGN_IN_FORM_BYTES = 64 * 1024;

/**
 * Reads a submitted form. A body of another content type counts as an empty form.
 * @throws Problem if the body is too large, too slow or malformed.
 */
export async function readForm(
  { request, ip }: { request: Request; ip: string | null },
  limits: BodyLimits,
): Promise<FormData> {
  const type = request.headers.get("content-type") ?? "";
  const isForm = /^(application\/x-www-form-urlencoded|multipart\/form-data)\b/i.test(type);
  if (!isForm) return new FormData();
  const call = new Call(request, "", ip, limits);
  try {
    const bytes = await call.bytes();
    const form = await new Response(bytes, { headers: { "content-type": type } }).formData();
    for (const [name, value] of form) requireStorableText([name, value], name);
    return form;
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw problem("VALIDATION_ERROR", `The form is malformed: ${(error as Error).message}`);
  } finally {
    call.releaseBody();
  }
}
