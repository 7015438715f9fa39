import { Problem } from "../../../domain/problems/problem.ts";
import { Call } from "../../shared/call.ts";
import { Refusal, refusalOf } from "./api.ts";

/** A form of a page: the largest one brings a file of permissions to import. */
export const PAGE_FORM_BYTES = 12 * 1024 * 1024;
/** A form of someone who has not signed in yet. */
export const STRANGER_FORM_BYTES = 64 * 1024;

/**
 * Reads a form a browser has sent; a body of another type counts as an empty form.
 * @throws Refusal for one that is too large, too slow, or broken.
 */
export async function readForm(
  request: Request,
  limits: { bytes: number; milliseconds: number },
): Promise<FormData> {
  const type = request.headers.get("content-type") ?? "";
  const isForm = /^(application\/x-www-form-urlencoded|multipart\/form-data)\b/i.test(type);
  if (!isForm) return new FormData();
  try {
    const bytes = await new Call(request, "", null, limits).bytes();
    return await new Response(bytes, { headers: { "content-type": type } }).formData();
  } catch (error) {
    if (error instanceof Problem) throw refusalOf(error);
    throw new Refusal(
      400,
      "VALIDATION_ERROR",
      `The form is malformed: ${(error as Error).message}`,
      null,
      null,
    );
  }
}
